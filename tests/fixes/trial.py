# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings a node into a state, does what the finding prints, and looks whether the check passes then."""

import copy
import subprocess
import time

import namespaces
import printed
from live_node import NotDone
from node_steps import STEPS, TriedNode

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.healthy import SECTIONS
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

CHECKS = catalogue.chosen_checks()
# Sections that are looked at, where a row names none.
LOOKS = {"rules": ["iptables_chains"],
         "kube-proxy": ["iptables_backend", "iptables_chains", "ipvs", "kube_proxy", "kubelet", "xtables_lock"]}
# The steps between `before` and `does` of a row.
BEFORE = {"rules": [{"rules": "1.34.9"}], "kube-proxy": [{"start": "api"}, {"start": "kube-proxy"}, {"sync": "all"}],
          "files": []}
PAUSE_SECONDS, LONGEST_SECONDS = 3, 1800


def tried(row, place, binary):
    """What came of a row in a place: {not_tried: reason}, or what was `ran` and done `by_hand`, whether the check
    `passes` afterwards, which high checks are `left`, and more to print."""
    try:
        return namespaces.run_apart(lambda: _tried(row, place, binary), LONGEST_SECONDS)
    except AssertionError as error:
        return {"not_tried": str(error).strip().rpartition("\n")[2]}


def _tried(row, place, binary):
    node = TriedNode(binary, place, row)
    try:
        return Trial(row, node).outcome()
    except (NotDone, OSError, subprocess.SubprocessError, printed.NotPrinted) as error:
        return {"not_tried": str(error).strip()[-600:]}
    finally:
        node.end()


class Trial:
    """One row on one node."""

    def __init__(self, row, node):
        self._row, self._node = row, node

    def outcome(self):
        row = self._row
        for step in row.get("before", []) + BEFORE[row["node"]] + row["does"]:
            self._do(step)
        own, others = self._look_until(lambda own, _others: _failing(own), row.get("seen_within", 0))
        if not _failing(own):
            raise NotDone("the check does not fail: %s; failing: %s" % (_words(own), ", ".join(others)))
        done, outputs = printed.parts(row["fix"], [each["remediation"] for each in _failing(own)]), []
        for _kind, text, steps in done:
            outputs += ["%s gives %d: %s" % ((text,) + answer) for answer in map(self._do, steps) if answer]
        began = time.monotonic()
        wanted = {row.get("becomes", "pass")}
        own, left = self._look_until(
            lambda own, others: _statuses(own) == wanted and not set(others) - set(row.get("also", ())),
            row.get("within", 0))
        return {"ran": [text for kind, text, _steps in done if kind == "printed"],
                "by_hand": [text for kind, text, _steps in done if kind == "by hand"],
                "passes": _statuses(own) == wanted,
                "seconds": round(time.monotonic() - began), "left": left, "outputs": outputs, "now": _words(own)}

    def _do(self, step):
        (what, value), = step.items()
        return STEPS[what](self._node, value)

    def _look(self):
        """(findings of the check, ids of the high checks that fail). Sections that are not looked at are healthy."""
        row = self._row
        policy = policies.policy_of(row.get("policy", {}))
        sections, problems = validate.checked_sections(self._node.sections(
            row.get("sections", LOOKS.get(row["node"])), row.get("window"), modules=policy.module_names,
            hook_directories=policy.values["hook_directories"]))
        if problems:
            raise NotDone(str(problems))
        checks = [check for check in CHECKS if check.id == row["check"]
                  or any(need.partition(".")[0] in sections for need in check.needs)]
        found, _requirements = assess.judged(dict(copy.deepcopy(SECTIONS), **sections), policy, checks)
        return ([each for each in found if each["check"] == row["check"]],
                sorted({each["check"] for each in found if each["status"] == "fail" and each["severity"] == "high"}))

    def _look_until(self, holds, seconds):
        """The first look for which this holds, or the last one in that time."""
        deadline = time.monotonic() + seconds
        while True:
            own, others = self._look()
            if holds(own, others) or time.monotonic() >= deadline:
                return own, others
            time.sleep(PAUSE_SECONDS)


def _failing(own):
    return [each for each in own if each["status"] == "fail"]


def _statuses(own):
    return {each["status"] for each in own}


def _words(own):
    return "; ".join("%s %s %s" % (each["status"], each["subject"], each["observed"] or each["reason"])
                     for each in own[:3])
