# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows that log messages are compared with: how agents wrap an error (roles/node_policy/files/log_agents), and the
errors of tools, the kernel and the system inside (files/log_errors). PRIVATE to the collection."""

import dataclasses
import functools
import re

from ._role_data import ROLES, load_yaml

SEVERITIES = ("low", "medium", "high")
CONFIDENCES = ("low", "middle", "high")
# A group of the pattern in the texts of a row.
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
# A character of a pattern that is no literal, and what makes the character before it optional.
_SPECIAL, _OPTIONAL = set("()[]{}|.^$*+?\\"), set("?*{")


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
    the message, too.

    After a message of a row in `silent_after` this one is only an effect. A message that matches `over_after` ends it.
    `opened_by` matches what the agent writes before the attempt that failed; the first group of both patterns names
    the object. While the fault lasts the message is repeated within `repeats` seconds, and the start of a pod may wait
    for its end for `delays_pods` seconds. `since` and `until` are versions of the writer."""

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
    also: tuple = ()
    silent_after: tuple = ()
    over_after: str = None
    opened_by: str = None
    repeats: int = None
    delays_pods: int = None

    @property
    def of_agent(self):
        return self.effect is not None

    def found_in(self, text):
        """The match of the pattern in a text, or None."""
        literal = literal_of(self.pattern)
        return compiled(self.pattern).search(text) if literal in text else None


@functools.lru_cache(maxsize=None)
def compiled(pattern: str) -> re.Pattern:
    """A pattern of a row, compiled when it is first needed: few of the rows are found in the logs of a node."""
    return re.compile(pattern)


@functools.lru_cache(maxsize=None)
def literal_of(pattern: str) -> str:
    """The longest text that each match of the pattern contains, as far as it is easily seen; it spares most rows the
    search with their pattern."""
    if "(?i" in pattern:
        return ""
    runs, run, depth, at = [], "", 0, 0
    while at < len(pattern):
        char, step = pattern[at], 1
        literal = None
        if char == "\\":
            step = 2
            literal = pattern[at + 1] if not pattern[at + 1].isalnum() else None
        elif char == "[":
            step = _end_of_class(pattern, at) - at
        elif char == "{":
            step = pattern.index("}", at) - at + 1
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "|" and not depth:
            return ""
        elif char not in _SPECIAL:
            literal = char
        at += step
        if literal is None or depth or pattern[at:at + 1] in _OPTIONAL:
            runs.append(run)
            run = ""
        else:
            run += literal
    return max([*runs, run], key=len)


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
