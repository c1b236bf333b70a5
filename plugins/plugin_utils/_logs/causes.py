# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows that log messages are compared with: how agents wrap an error (roles/node_policy/files/log_agents), and the
errors of tools, the kernel and the system inside (files/log_errors). PRIVATE to the collection."""

import dataclasses
import functools
import re

from .._role_data import ROLES, load_yaml

SEVERITIES = ("low", "medium", "high")
CONFIDENCES = ("low", "middle", "high")
# A group of the pattern in the texts of a row.
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
# A character of a pattern that is no literal, and what makes the character before it optional.
_SPECIAL, _OPTIONAL = frozenset("()[]{}|.^$*+?\\"), ("?", "*", "{")
_GROUP = re.compile(r"\((?:\?(?:P<\w+>|<?[=!]|:))?")


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One row. `who` is the agent or tool that writes the message.

    A row of an agent has `effect`, what users feel. With `nests` its pattern ends where the error of a tool begins;
    without, the message is the whole error and has a `meaning` and a `fix`, as each row of a tool has; or it is a
    `symptom`, and another message of the agent has the cause. A row of a tool that is not `specific` (the text of an
    errno) counts only within the message of an agent, unless it has a severity of its own. A row of a library, which
    any agent may use, has no severity. A `deep` error is the cause
    of the others in its message, wherever it stands, such as what modprobe writes before iptables does. `fix_where` are
    other fixes, `[{near, fix}]`, for messages near which a pattern is found. `normal` means that healthy nodes write
    the message, too; `normal_after` that they do where the entry before matches this pattern.

    After a message of a row in `silent_after` this one is only an effect. A message that matches `over_after` ends it.
    `opened_by` matches what the agent writes before the attempt that failed; the first group of both patterns names
    the object. While the fault lasts the message is repeated within `repeats` seconds, and the start of a pod may wait
    for its end for `delays_pods` seconds; with `lasts` it is written once, at the start of its writer. `since` and
    `until` are versions of the writer. A row with `otherwise` counts only where no other row fits, one with
    `not_beside` only where no message of the same log matches that pattern, which shows another program."""

    id: str
    who: str
    pattern: str
    example: str
    source: str
    severity: str = None
    effect: str = None
    nests: bool = False
    symptom: bool = False
    specific: bool = True
    deep: bool = False
    meaning: str = None
    fix: str = None
    fix_where: tuple = ()
    check: str = None
    role: str = None
    since: str = None
    until: str = None
    normal: bool = False
    normal_after: str = None
    also: tuple = ()
    silent_after: tuple = ()
    over_after: str = None
    opened_by: str = None
    repeats: int = None
    lasts: bool = False
    delays_pods: int = None
    otherwise: bool = False
    not_beside: str = None

    @property
    def of_agent(self):
        return self.effect is not None


@functools.lru_cache(maxsize=None)
def compiled(pattern: str) -> re.Pattern:
    """A pattern of a row, compiled when it is first needed: few of the rows are found in the logs of a node."""
    return re.compile(pattern)


def found_in(text):
    """[(row, match)] of all rows whose pattern is found in a text."""
    near = dict.fromkeys([row for literal, row in _by_literal() if literal in text])
    matches = [(row, compiled(row.pattern).search(text)) for row in near]
    return [(row, match) for row, match in matches if match]


@functools.lru_cache(maxsize=1)
def _by_literal():
    """[(text, row)]: each match of a row contains one of its texts, so most rows need no search with their pattern."""
    return [(literal, row) for row in rows() for literal in literals_of(row.pattern) or ("",)]


def literals_of(pattern):
    """Texts of which each match of a pattern contains one, as far as they are easily seen; () where none is."""
    return () if "(?i" in pattern else _branches(pattern, 0)[0]


def _branches(pattern, at):
    """(literals of alternatives from `at` to the end of their group, the index of that end)."""
    found, runs = [], [""]
    while at < len(pattern) and pattern[at] != ")":
        char, literal, step = pattern[at], None, 1
        if char == "|":
            found.append(_longest(runs))
            runs = [""]
        elif char == "(":
            inside, end = _branches(pattern, pattern.index(":", at) + 1 if pattern.startswith("(?s:", at) else
                                    _GROUP.match(pattern, at).end())
            step = end + 1 - at
            known = pattern[at + step:at + step + 1] not in _OPTIONAL and not pattern.startswith(("(?!", "(?<!"), at)
            runs += [inside if known else (), ""]
        elif char == "\\":
            step = 2
            literal = pattern[at + 1] if not pattern[at + 1].isalnum() else None
        elif char == "[":
            step = _end_of_class(pattern, at) - at
        elif char == "{":
            step = pattern.index("}", at) - at + 1
        elif char not in _SPECIAL:
            literal = char
        at += step
        if literal is not None and (at == len(pattern) or pattern[at] not in _OPTIONAL):
            runs[-1] += literal
        elif char not in "|(":
            runs.append("")
    found.append(_longest(runs))
    return (tuple(sum(found, ())) if all(found) else ()), at


def _longest(runs):
    """Of literals and the alternatives of groups the ones that exclude most texts, as a tuple."""
    sets = [(run,) if isinstance(run, str) else run for run in runs]
    best = max((each for each in sets if each and all(each)), default=(), key=lambda each: min(map(len, each)))
    return best if best and min(map(len, best)) > 2 else ()


def _end_of_class(pattern, at):
    """The index after the class of characters that begins at `at`."""
    at += 2 if pattern[at + 1] == "^" else 1
    at += pattern[at] == "]"
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


@functools.lru_cache(maxsize=1)
def rows() -> tuple:
    """All rows, those of agents first; read once in a process."""
    files = ROLES / "node_policy" / "files"
    return tuple(_row(entry, key) for folder, key in (("log_agents", "agent"), ("log_errors", "tool"))
                 for path in sorted((files / folder).glob("*.yml")) for entry in load_yaml(path))


def _row(entry, key):
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items() if name != key}
    return Row(who=entry[key], **values)
