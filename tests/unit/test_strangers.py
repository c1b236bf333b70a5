# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence as strangers have it, tests/strangers/<case>/evidence, and what must be reported of it, expected.yml:

    kind      the kind of fault, in a few words
    form      bundle (as of the playbook bundle), logs (log_facts and diagnose of all files) or image (a tree); bundle
              where none is named
    links     {path below evidence: target}, because the repository holds no links
    policy    variables of node_policy, without their prefix
    fails     {check: an expression that is found in the texts of one of its findings}
    also      checks that may fail besides; no other check of severity medium or high may
    passes, unknown, silent   checks that must pass, be unknown, or have any status but pass
    names     expressions that are found in the texts of what fails or is unknown, or of the causes of logs
    never     expressions that are found in none of these texts
"""

import pathlib
import re
import shutil

import bundles
import pytest
import yaml

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.logs.lines import collect_lines
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _diagnose

CASES = sorted((pathlib.Path(__file__).resolve().parents[1] / "strangers").iterdir())
# In the finding on what a bundle lacks, which names files that it may hold.
LACKS = "not known: "
TEXTS = ("subject", "problem", "observed", "expected", "reason", "remediation")


def _texts(row):
    return " ".join(row[key] or "" for key in TEXTS)


def _of_checks(expected, found):
    """[a sentence on each fault], the texts of findings that fail or are unknown."""
    wrong = []
    statuses = {check: {row["status"] for row in rows} for check, rows in found.items()}
    for check, pattern in expected.get("fails", {}).items():
        texts = [_texts(row) for row in found.get(check, []) if row["status"] == "fail"]
        if not any(re.search(pattern, text) for text in texts):
            wrong.append("%s does not fail with %r: %s" % (check, pattern, texts or statuses.get(check)))
    known = set(expected.get("fails", {})) | set(expected.get("also", ()))
    wrong += ["%s (%s) fails: %s" % (check, row["severity"], _texts(row)) for check, rows in sorted(found.items())
              for row in rows
              if row["status"] == "fail" and row["severity"] in ("medium", "high") and check not in known]
    for key, right in (("passes", lambda seen: seen == {"pass"}), ("unknown", lambda seen: "unknown" in seen),
                       ("silent", lambda seen: "pass" not in seen)):
        wrong += ["%s is %s, expected: %s" % (check, statuses.get(check), key) for check in expected.get(key, ())
                  if not right(statuses.get(check, set()))]
    return wrong, [_texts(row) for rows in found.values() for row in rows if row["status"] in ("fail", "unknown")]


def _of_logs(folder):
    lines = collect_lines(Host(str(folder)), ["/" + str(path.relative_to(folder)) for path in sorted(folder.rglob("*"))
                                              if path.is_file()])["lines"]
    return ["%(cause)s %(meaning)s %(fix)s %(evidence)s" % row for row in _diagnose.diagnose(lines)]


def _with_links(evidence, links, folder):
    if not links:
        return evidence
    shutil.copytree(evidence, folder / "evidence")
    for path, target in links.items():
        link = folder / "evidence" / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    return folder / "evidence"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_evidence_of_strangers(case, tmp_path):
    expected = yaml.safe_load((case / "expected.yml").read_text("utf-8"))
    evidence, wrong = _with_links(case / "evidence", expected.get("links"), tmp_path), []
    if expected.get("form") == "logs":
        texts = _of_logs(evidence)
    elif expected.get("form") == "image":
        wrong, texts = _of_checks(expected, bundles.judged_tree(evidence, "image", **expected.get("policy", {}))[0])
    else:
        wrong, texts = _of_checks(expected, bundles.judged(evidence, **expected.get("policy", {}))[0])
    wrong += ["nothing names %r" % pattern for pattern in expected.get("names", ())
              if not any(re.search(pattern, text) for text in texts)]
    wrong += ["%r is in: %s" % (pattern, text) for pattern in expected.get("never", ()) for text in texts
              if re.search(pattern, text) and LACKS not in text]
    assert not wrong, "\n".join(wrong)
