# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of a check as a file lists them, each of them validated. PRIVATE to the collection."""

from ...module_utils._errors import BadInput
from .. import _finding
from .._answer import schema
from .._checks.user_yaml import yaml_of
from .._options import checked, close_to, unknown_name
from .healthy import STATES

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
        shapes = schema.sections()
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
