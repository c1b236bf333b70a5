# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/causes.md, made from the entries of the causes: an entry is a cause and its documentation."""

import pathlib
import re

import yaml
from checks_page import cell

TOP = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = TOP / "roles" / "node_policy" / "files" / "causes"
PAGE = TOP / "docs" / "causes.md"
FIELD = re.compile(r"\{(\w+)\}")
FAMILIES = {"cni": "Network plugin"}
FELT = {"all_services": "all Services", "some_services": "some Services", "pods": "some pods", "later": "later",
        "none": "nothing"}

INTRODUCTION = """\
# The causes

Written by `make docs` from `roles/node_policy/files/causes/`; change the entries there.

A check that fails is a symptom. A cause explains the failing checks that its evidence joins, and has one fix. The screen
shows the causes of a host, the one that users feel most first. A finding that no cause explains is its own cause. Every
finding is in the JSON of the host, and on the screen with `-e node_report_details=all`.

`...` is filled in from the evidence, `HOST` is the name of the host, and `NODE` its name in the cluster, which is the
same unless `repair_node_name` is set. *Felt* is what does not work for users: all Services, some Services, some pods,
later (after a boot, a load or a start), or nothing. The class of a fix is its risk, as for [the checks](checks.md). Of
two causes that explain one finding the more specific one gets it. [Adding a check](adding-a-check.md#a-cause) describes how to add one.
"""
NAMES = {"host": "HOST", "node": "NODE"}
HEAD = ("cause", "sentence", "felt", "effect", "fix", "how to see that it worked", "explains")


def families():
    """[(family, its causes)], in the order of their file names."""
    return [(path.stem, yaml.safe_load(path.read_text(encoding="utf-8"))) for path in sorted(CATALOGUE.glob("*.yml"))]


def text_of(text):
    return cell(FIELD.sub(lambda found: NAMES.get(found[1], "..."), text or ""))


def fix_of(cause):
    text = text_of(cause["fix"]["command"])
    return "%s: %s" % (cause["fix"]["class"], "`%s`" % text if text.startswith("ansible-playbook") else text)


def row(cause):
    checks = ", ".join("[%s](checks.md#%s)" % (check, check.lower()) for check in sorted(cause["explains"]))
    return (cause["id"], text_of(cause["sentence"]), FELT[cause["felt"]], text_of(cause["effect"]), fix_of(cause),
            text_of(cause["then"]), checks)


def render_page():
    lines = [INTRODUCTION]
    for family, causes in families():
        lines += ["## %s" % FAMILIES.get(family, family.replace("_proxy", "-proxy").replace("_", " ").capitalize()), "",
                  "| %s |" % " | ".join(HEAD), "|%s" % (" --- |" * len(HEAD))]
        lines += ["| %s |" % " | ".join(row(cause)) for cause in causes]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"
