# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One check: prints the report of each case in its table, and tests whether each case has the result of the table. ID
is a check or a pattern of checks."""

import os
import shutil
import sys

import unit_some
from results import BUILD, TOP

sys.path[:0] = [str(BUILD), str(TOP / "tests" / "checks")]

import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.run import case_of, silence
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import rollup
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.terminal import render_node

TEST = "tests/unit/plugins/plugin_utils/test_checks.py"
# The report only counts these findings; this tool also prints their reason.
SILENT = (_finding.PASS, _finding.SKIP)


def shown(check, row, width, color, every):
    """The report of a case, as a user reads it; adds its findings to `every`."""
    evidence, policy = case_of(row)
    report = rollup.node_report("%s (expect: %s)" % (row["name"], row["expect"]),
                                assess.exported(evidence, policy, [check], None))
    every += report["findings"]
    report["summary"].update(os=None, kernel=None, needs=None, place=None)  # Each case is the same healthy node.
    silent = ["  %s  %s  %s" % (each["status"], each["check"], each["reason"] or each["title"])
              for each in report["findings"] if each["status"] in SILENT]
    return "\n".join([render_node(report, width, color, every=True), *silent])


def main():
    asked = os.environ.get("ID", "")
    try:
        catalogue.refuse_unknown_checks("ID", [asked] if asked else [])
        chosen = catalogue.chosen_checks(checks=[asked])
    except BadInput as error:
        return str(error)
    if not chosen:
        return "ID is missing: make check ID=CTRACK015, or a pattern such as ID='CTRACK*'; known: %s" % (
            ", ".join(section + "*" for section in catalogue.known_sections()))
    without = [check.id for check in chosen if not (cases.TABLES / (check.id + ".yml")).exists()]
    if without:
        return "%s has no cases: write tests/checks/%s.yml (docs/adding-a-check.md)" % (without[0], without[0])
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((120, 0)).columns
    for check in chosen:
        where, findings = "", []
        try:
            for row in cases.table(check.id):
                where = "tests/checks/%s.yml: %s: " % (check.id, row["name"])
                print(shown(check, row, width, color, findings) + "\n", flush=True)
        except BadInput as error:
            return where + str(error)
        print("".join("hint: %s: %s\n" % (check.id, text) for text in silence(check, findings)), end="", flush=True)
    return unit_some.run([TEST], "-k", " or ".join(check.id for check in chosen))


if __name__ == "__main__":
    sys.exit(main())
