# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a case of a check: evidence in, findings out, and the differences from the case. PRIVATE to the collection."""

from ...module_utils._errors import BadInput
from .. import _assess, _evidence, _finding, _policy
from .healthy import healthy

# Word of a case -> what it sets in the row of a module.
_OF_MODULES = (("state", "state"), ("boot", "at_boot"), ("persisted", "persisted"))
_FIELDS = ("subject", "observed", "expected", "reason", "remediation")


def case_of(row):
    """(evidence, policy) of a case. Raises BadInput for a policy or a module that cannot be."""
    policy = _policy.policy_of(row.get("policy") or {})
    evidence = healthy(policy.module_names, row.get("modules"), row.get("evidence"))
    for word, field in _OF_MODULES:
        for name, value in (row.get(word) or {}).items():
            found = [module for module in evidence["node_kernel_modules"]["modules"] if module["name"] == name]
            if not found:
                raise BadInput("%s.%s: the policy asks for no module of this name" % (word, name))
            found[0][field] = value
    return evidence, policy


def findings_of(check, row):
    """The findings of a case. Raises BadInput for evidence that no node can give."""
    evidence, policy = case_of(row)
    problems = _evidence.checked_sections(evidence)[1]
    if problems:
        raise BadInput("evidence: no node gives this: %s" % "; ".join(problems[name] for name in sorted(problems)))
    return _assess.judged(evidence, policy, [check])[0]


def differences(check, row, findings):
    """One text for each point in which the findings differ from what the case expects."""
    failing = [finding for finding in findings if finding["status"] == _finding.FAIL]
    statuses = {finding["status"] for finding in findings}
    expected = {row["expect"], row.get("also", row["expect"])}
    found = []
    if statuses != expected:
        found.append("it is %s%s, and the case expects %s" % (_list(statuses), _reason(findings), _list(expected)))
    subjects = [finding["subject"] for finding in failing]
    if "subjects" in row and subjects != row["subjects"]:
        found.append("the subjects that fail are %s, and the case expects %s" % (
            ", ".join(subjects) or "none", ", ".join(map(str, row["subjects"])) or "none"))
    if "count" in row and len(failing) != row["count"]:
        found.append("%d findings fail, and the case expects %d" % (len(failing), row["count"]))
    if "remediation" in row and not failing:
        found.append("no finding fails, so none has the remediation %r" % row["remediation"])
    for finding in failing:
        found += ["%s of %s is empty" % (field, finding["subject"] or check.id) for field in _FIELDS
                  if not finding[field]]
        if row.get("remediation", "") not in finding["remediation"]:
            found.append("the remediation of %s lacks %r" % (finding["subject"], row["remediation"]))
    return found


def silence(check, findings):
    """One text where no finding of all cases fails, in a list: a hint why none is as expected."""
    return [] if any(finding["status"] == _finding.FAIL for finding in findings) else [
        "select returns nothing that kind %s reports, in any case: compare its keys with the evidence" % check.kind]


def _reason(findings):
    reasons = [finding["reason"] for finding in findings
               if finding["status"] in (_finding.UNKNOWN, _finding.SKIP) and finding["reason"]]
    return " (%s)" % reasons[0] if reasons else ""


def _list(statuses):
    return " and ".join(sorted(statuses))
