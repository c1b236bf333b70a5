# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges the cases beside the files of the user's checks. PRIVATE to the collection.

The cases of a check as a file lists them, each of them validated.
"""

import pathlib

from ...module_utils._errors import BadInput
from .. import _finding
from .._answer import validate
from .._checks import assess
from .._checks.user_checks import BYTES_LIMIT, CASES, SUFFIXES, read, user_checks, yaml_of
from .._options import checked, close_to, unknown_name
from .._policy import policies
from .healthy import STATES, healthy

_DICT = {"type": "dict"}
_STATUS = {"type": "str", "choices": [status for status in _finding.STATUSES if status != _finding.WAIVED]}
WORDS = {
    "name": {"type": "str", "required": True}, "expect": dict(_STATUS, required=True), "also": _STATUS,
    "subjects": {"type": "list", "elements": "str"}, "count": {"type": "int"}, "remediation": {"type": "str"},
    "policy": _DICT, "evidence": _DICT, "modules": _DICT, "state": _DICT, "boot": _DICT, "persisted": _DICT,
}
# Changes rows of node_conntrack.sysctls by the names of their keys.
_OF_KEYS = ("node_conntrack", "of_keys")
_SYSCTL_KEY = "sysctls"


def cases_in(name, content):
    """The cases in the bytes of a file, as dictionaries. Raises BadInput for the first mistake."""
    rows = yaml_of(name, content)
    if not isinstance(rows, list) or not rows:
        raise BadInput("%s must be a list of cases" % name)
    return [_case_of("%s: case %d" % (name, number), row) for number, row in enumerate(rows, 1)]


def lacking(rows):
    """One text for each result that the cases of a check lack: a pass, a fail, an unknown, and, besides the plain pass,
    a second case in which the check reports nothing."""
    expected = [row["expect"] for row in rows]
    missing = ["no case expects %s" % status for status in (_finding.PASS, _finding.FAIL, _finding.UNKNOWN)
               if status not in expected]
    silent = [status for status in expected if status in (_finding.PASS, _finding.SKIP)]
    return missing or ([] if len(silent) > 1 else ["no look-alike: a second case expects pass or skip"])


def _case_of(where, row):
    if not isinstance(row, dict):
        raise BadInput("%s must be a dictionary" % where)
    named = "%s (%s)" % (where, row["name"]) if isinstance(row.get("name"), str) else where
    row = checked(named, {key: value for key, value in row.items() if value is not None},
                  {"type": "dict", "options": WORDS, "required": True})
    for name, words in row.get("modules", {}).items():
        for word in str(words).split():
            if word not in STATES:
                raise unknown_name("%s: modules.%s: the state" % (named, name), word, STATES)
    for section, changes in row.get("evidence", {}).items():
        shapes = validate.documented_sections()
        if section not in shapes:
            raise unknown_name("%s: evidence: the section" % named, section, shapes)
        _refuse_unknown_keys("%s: evidence.%s" % (named, section), (section,), changes, shapes[section])
    return row


def _refuse_unknown_keys(where, path, changes, shape):
    """Raises BadInput for a key that the evidence cannot have: the case would change nothing."""
    if isinstance(changes, list) and shape.element:
        for change in changes:
            _refuse_unknown_keys(where, path, change, shape.element)
    # RETURN samples all sources of `collected`; the keys of other free dictionaries are names of the node.
    known = shape.sampled if path[1:] == ("collected",) else shape.contains
    if not isinstance(changes, dict) or known is None:
        return
    for key, change in changes.items():
        name = str(key).lstrip("=")
        if path + (name,) == _OF_KEYS:
            if not isinstance(change, dict) or not all(isinstance(row, dict) for row in change.values()):
                raise BadInput("%s.of_keys must be a dictionary of dictionaries" % where)
            for row in change.values():
                _refuse_unknown_keys("%s.of_keys" % where, path, row, shape.contains[_SYSCTL_KEY].element)
        elif name not in known:
            near = close_to(name, known)
            raise BadInput("%s: the key %s is not in the evidence%s" % (
                where, name, "; did you mean %s?" % near if near else "; known: %s" % ", ".join(sorted(known))))
        elif shape.contains:
            _refuse_unknown_keys("%s.%s" % (where, name), path + (name,), change, shape.contains[name])


_SAYING = {_finding.UNKNOWN: "reason", _finding.SKIP: "reason"}
# Word of a case -> what it sets in the row of a module.
_OF_MODULES = (("state", "state"), ("boot", "at_boot"), ("persisted", "persisted"))
_FIELDS = ("subject", "observed", "expected", "reason", "remediation")


def run_of(files):
    """`(rows, strays)` of `[(name, path)]`: a row for each check, and one text for each file of cases without a check.
    Raises BadInput for a mistake in a file."""
    checks = user_checks(files)
    folders = {name: path.parent / CASES for name, path in files}
    rows = [_row_of(check, folders[check.file]) for check in checks.values()]
    return rows, _strays(files, checks)


def _row_of(check, folder):
    """`{check, title, severity, file, cases, problems}`; a case has its name, its statuses, the texts that a user
    reads, and its problems."""
    path = _file_of(folder, check.id)
    shown = str(pathlib.PurePath(check.file).parent / CASES / (path.name if path else check.id + ".yml"))
    row = {"check": check.id, "title": check.title, "severity": check.severity, "file": check.file, "cases": [],
           "problems": []}
    if not path:
        return dict(row, problems=["%s has no cases: write %s" % (check.id, shown)])
    cases = cases_in(shown, read(shown, path, BYTES_LIMIT))
    findings = []
    row["cases"] = [_judged("%s: case %d (%s)" % (shown, number, case["name"]), check, case, findings)
                    for number, case in enumerate(cases, 1)]
    row["problems"] = ["%s: %s" % (shown, text) for text in lacking(cases) + silence(check, findings)]
    row["problems"] += ["%s: case %d (%s): %s" % (shown, number, case["name"], text)
                        for number, case in enumerate(row["cases"], 1) for text in case["problems"]]
    return row


def _judged(where, check, case, every):
    """The row of a case; adds its findings to `every`."""
    try:
        findings = findings_of(check, case)
    except BadInput as error:
        raise BadInput("%s: %s" % (where, error)) from None
    every += findings
    texts = [_finding.problem_of(row) if row["status"] == _finding.FAIL else row[_SAYING[row["status"]]]
             for row in findings if row["status"] != _finding.PASS]
    return {"name": case["name"], "statuses": sorted({row["status"] for row in findings}), "texts": texts,
            "problems": differences(check, case, findings)}


def _file_of(folder, check_id):
    return next((folder / (check_id + suffix) for suffix in SUFFIXES if (folder / (check_id + suffix)).is_file()), None)


def _strays(files, checks):
    """Files of cases without a check, in folders whose files with checks were all loaded."""
    loaded = {path.resolve() for _name, path in files}
    strays = {}
    for name, path in files:
        folder = path.parent
        others = {other.resolve() for other in folder.iterdir() if other.suffix in SUFFIXES and other.is_file()
                  and not other.name.startswith(".")}
        if not others <= loaded or not (folder / CASES).is_dir():
            continue
        for file in sorted((folder / CASES).iterdir()):
            if file.suffix in SUFFIXES and file.stem not in checks:
                near = close_to(file.stem, checks)
                strays[file] = "%s: no check has this id%s" % (
                    pathlib.PurePath(name).parent / CASES / file.name, "; did you mean %s?" % near if near else "")
    return list(strays.values())


# Judges a case of a check: evidence in, findings out, and the differences from the case.

def case_of(row):
    """(evidence, policy) of a case. Raises BadInput for a policy or a module that cannot be."""
    policy = policies.policy_of(row.get("policy") or {})
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
    problems = validate.checked_sections(evidence)[1]
    if problems:
        raise BadInput("evidence: no node gives this: %s" % "; ".join(problems[name] for name in sorted(problems)))
    return assess.judged(evidence, policy, [check])[0]


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
