# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A message of a log as a nest: the innermost known error is the cause and has the fix, the layers around it have the
effect. PRIVATE to the collection."""

import re
from typing import NamedTuple

from ...module_utils._parse.secrets import masked_line
from .._render.text import escaped
from .causes import CONFIDENCES, PLACEHOLDER, SEVERITIES, Row, compiled, found_in

_MOST_NAME, _MOST_ERROR, _MOST_EVIDENCE = 80, 200, 400
# JSON and Go escape quotes and ends of lines, once for each message around.
_ESCAPED, _PLAIN = re.compile(r"\\{1,15}([\"'`nt])"), {"n": "\n", "t": "\t"}
# A name that a shell takes as it is.
_PLAIN_NAME = re.compile(r"(?!-)[\w./:@%+=,\[\]-]+\Z")
# Parts of an error that name no cause: a status, when the agent tries again, and the keys after it.
_NO_CAUSE = re.compile(r"exit status \d{1,3}|(?:will retry|retrying) in [\w.]{1,20}"
                       r"|\b\w{1,30}=(?:\"[^\"]{0,200}\"|\S{0,200})")
_CLEANED_UP = re.compile(r"failed to (?:clean up|teardown|tear down) sandbox container")
_UNKNOWN, _DOUBTFUL, _SURE = CONFIDENCES
_UNKNOWN_FIX = "Search the words of the nested error; docs/log-causes.md has the known errors"
# systemctl status shortens lines (systemd, output-mode).
_SHORTENED, _WHOLE_FIX = re.compile(r"\w\.\.\.\w"), "The line is shortened: journalctl --no-pager --full has the whole"
# enum xtables_exittype of include/xtables.h: RESOURCE_PROBLEM.
_BARE_STATUS = {"exit status 4": "iptables ends with 4 mostly where another process holds the xtables lock"}


class Nest(NamedTuple):
    """`core` is the row of the innermost known error, or that of the agent where the error is not known; `outer` is
    the row of the agent around it, or None. `at` and `outer_at` are their matches; the nested error follows `end`.
    `between` is (row, match) of the error that a deep core has caused, or empty."""

    text: str
    confidence: str
    core: Row
    at: re.Match
    outer: "Row | None" = None
    outer_at: "re.Match | None" = None
    end: int = 0
    between: tuple = ()

    @property
    def rows(self):
        """The rows of the nest."""
        return tuple(filter(None, (self.core, self.outer)))

    @property
    def agent(self):
        """The agent that writes the message, where a row names it."""
        return next((row.who for row in self.rows if row.of_agent), None)

    @property
    def is_normal(self):
        return any(row.normal for row in self.rows)

    def is_normal_after(self, text):
        """Whether healthy nodes write the message after an entry of that text."""
        return any(row.normal_after and compiled(row.normal_after).search(text) for row in self.rows)

    @property
    def is_unknown(self):
        return self.confidence == _UNKNOWN

    @property
    def is_effect(self):
        """Whether the message has no cause in it: a status alone names no cause."""
        return self.is_unknown and (
            self.core.symptom or not any(map(str.isalpha, _NO_CAUSE.sub("", self._nested()))))

    @property
    def severity(self):
        """That of the effect, so an unknown error does not lower it; an error alone has its own."""
        agents = [row.severity for row in self.rows if row.of_agent and row.severity]
        return max(agents or [self.core.severity or SEVERITIES[0]], key=SEVERITIES.index)

    @property
    def check(self):
        return self.core.check or self.outer and self.outer.check

    @property
    def repeats(self):
        """Seconds until the message comes again: those of the agent, which tries again."""
        return self.outer and self.outer.repeats or self.core.repeats

    @property
    def lasts(self):
        """Whether the message comes only once."""
        return any(row.lasts for row in self.rows)

    @property
    def meaning(self):
        """Effect and cause as sentences."""
        is_own = self.core.of_agent and not (self.is_unknown and self.outer)
        effect = _named(self.core.effect, self.at) if is_own else (
            self.outer and _named(self.outer.effect, self.outer_at))
        between = self.between and _named(self.between[0].meaning, self.between[1])
        cause = _named(self.core.meaning, self.at) if self.core.meaning else "The error is not known: " + self._error()
        text = " ".join(map(_ended, filter(None, [effect, between, cause])))
        # Who logs it is what a reader asks first; a library has no severity.
        who = next((row.who for row in self.rows if row.of_agent and row.severity), "")
        return text if not who or who.lower() in text.lower() else "%s: %s" % (who, text)

    def _nested(self):
        """The first line of what the agent wraps."""
        return self.text[self.end:].strip(" \t\n\r\"<\\:=").split("\n", 1)[0].strip()

    def _error(self):
        """The nested error, or the message where it has none."""
        rest = self._nested() or self.text[self.at.start():].split("\n", 1)[0].strip()
        return "; ".join(filter(None, (escaped(masked_line(rest, _MOST_ERROR)), _BARE_STATUS.get(rest))))

    @property
    def evidence(self):
        """The line with the error, without secrets and control characters; of a long line the part with the error."""
        start = self.text.rfind("\n", 0, self.at.start()) + 1
        line = self.text[start:].split("\n", 1)[0]
        if self.at.end() - start > _MOST_EVIDENCE:
            return "..." + escaped(masked_line(line, self.at.end() - start + _MOST_NAME)[-_MOST_EVIDENCE:].strip())
        return escaped(masked_line(line.strip(), _MOST_EVIDENCE))

    @property
    def fix(self):
        """What to do."""
        unknown = _WHOLE_FIX if _SHORTENED.search(self._nested()) else _UNKNOWN_FIX
        return _named(self.core.fix or unknown, self.at, in_commands=True)

    def fix_beside(self, near):
        """What to do where something stands in this message or in those beside it, `near`; or None."""
        near = _unescaped(near)
        for other in self.core.fix_where:
            beside = compiled(other["near"]).search(near)
            if beside:
                return _named(other["fix"], self.at, beside, in_commands=True)
        return None


def _ended(sentence):
    return sentence if sentence.endswith((".", "!", "?")) else sentence + "."


def _named(text, *matches, in_commands=False):
    """The text with the names from the matches in place of its placeholders. They come from a node, so they are
    escaped; a name that the message lacks becomes the word for it, and so does one that a shell reads as more than a
    name, in a text with commands that a person copies."""
    given = {name: value for match in matches for name, value in match.groupdict().items()}

    def name(found):
        key = found.group(1)
        shown = escaped(masked_line(given[key], _MOST_NAME)) if given.get(key) else ""
        return shown if shown and (not in_commands or _PLAIN_NAME.match(shown)) else key.upper()

    return PLACEHOLDER.sub(name, " ".join(text.split()))


def _unescaped(text):
    return _ESCAPED.sub(lambda found: _PLAIN.get(found.group(1), found.group(1)), text)


def nest_of(text):
    """The `Nest` of a message, or None where no row fits."""
    text = _unescaped(text)
    # What fails while a failure is cleaned up follows from it.
    before = _CLEANED_UP.search(text)
    return (_nest_of(text[:before.start()]) if before else None) or _nest_of(text)


def _nest_of(text):
    found = found_in(text)
    exact = [each for each in found if not each[0].otherwise]
    return _nest_from(text, exact) or (_nest_from(text, found) if len(exact) < len(found) else None)


def _nest_from(text, found):
    agents = [each for each in found if each[0].of_agent]
    tools = [each for each in found if not each[0].of_agent]
    whole = [each for each in agents if not each[0].nests and not each[0].symptom]
    # Beside a more special row the general ones are left out.
    general = {name for row, _match in tools for name in row.also}
    whole += [each for each in tools if each[0].specific and each[0].id not in general]
    # A note of a tool that healthy nodes have, too, is never the error that an agent reports.
    cores = [each for each in whole if each[0].of_agent or not each[0].normal]
    if cores:
        core = _first_of_its_tool(max(cores, key=_depth), cores)
        between = [each for each in cores if not each[0].of_agent and not each[0].deep] if core[0].deep else []
        nest = Nest(text, _SURE, *core, *_outer(agents, core))
        return nest._replace(between=max(between, key=_depth)) if between else nest
    outer = _outer(agents)
    if not outer:
        # The text of an errno alone has no meaning.
        alone = [each for each in tools if each[0].severity]
        return Nest(text, _DOUBTFUL, *max(alone, key=_depth)) if alone else None
    end = max(match.end() for _row, match in agents)
    errnos = [each for each in tools if each[1].start() >= outer[1].end() and not each[0].normal]
    if errnos and not outer[0].meaning:
        return Nest(text, _DOUBTFUL, *max(errnos, key=_depth), *outer)
    known = [each for each in agents if each[0].meaning and each[0].nests]
    if known:
        return Nest(text, _DOUBTFUL, *known[-1], *_outer(agents, known[-1]))
    return Nest(text, _UNKNOWN, *outer, end=end)


def with_effect_of(nest, other):
    """The nest with the effect of another one of the same agent or None, where that is graver; a whole error of an
    agent has its own."""
    is_whole = nest.core.of_agent and not nest.is_unknown
    if not other or is_whole or SEVERITIES.index(other.severity) <= SEVERITIES.index(nest.severity):
        return nest
    return nest._replace(outer=other.core, outer_at=other.at)


def _depth(each):
    """Where an error begins; the whole error of an agent counts as far as its words reach, as they are more exact than
    the error of a tool among them."""
    row, match = each
    return row.deep, match.end() if row.of_agent else match.start()


def _first_of_its_tool(core, cores):
    """Of several errors of one tool the first, or the first grave one: those after it follow from it, as where nft
    could not add the set that the next rules name."""
    same = [each for each in cores if each[0].who == core[0].who and each[0].deep == core[0].deep]
    return core if core[0].of_agent else max(same, key=lambda each: (each[0].severity == SEVERITIES[-1],
                                                                     -each[1].start()))


def _outer(agents, core=None):
    """(row, match) of the gravest agent around the error, of equal ones the outermost; () without one. The more general
    rows that the error names are no agents around it."""
    general = core[0].also if core else ()
    return max((each for each in agents if each is not core and each[0].id not in general), default=(),
               key=lambda each: (
                   not each[0].normal, SEVERITIES.index(each[0].severity or SEVERITIES[0]), -each[1].start()))
