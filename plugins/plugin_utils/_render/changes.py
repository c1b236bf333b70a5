# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison of two runs or two nodes, for a terminal and as Markdown. PRIVATE to the collection."""

from .. import _changes
from .markdown import LIMIT, cell, fitting
from .text import escaped, padded, some, wrapped

_LINES = 200
_NAMED = 10
# Of the nodes (first, second).
_NODES = {_changes.NEW: "fails only on %(second)s", _changes.FIXED: "fails only on %(first)s",
          _changes.STILL: "fails on both", _changes.UNKNOWN: "unknown only on %(second)s",
          _changes.LOST: "not judged on %(second)s"}


def render_terminal(changes: dict, width: int) -> str:
    """One line for each change, equal ones of several nodes in one, the counts last."""
    lines = [_title(changes)]
    for change, severity, check, text, hosts in grouped(changes)[:_LINES]:
        head = "  %s %s %s " % (padded(_words(changes)[change], 16), padded(severity, 6), padded(check, 10))
        for number, line in enumerate(wrapped(escaped("%s (%s)" % (text, some(hosts, _NAMED))), max(
                24, width - len(head)))):
            lines.append((head if not number else " " * len(head)) + line)
    left = len(grouped(changes)) - _LINES
    lines += ["  and %d more" % left] if left > 0 else []
    lines += ["  " + line for text in notes(changes) for line in wrapped(escaped(text), max(24, width - 2))]
    return "\n".join(lines + ["  " + _counts(changes)])


def render_markdown(changes: dict) -> str:
    """The same as a table, below the size of a job summary."""
    head = ["# " + cell(_title(changes)), "", cell(_counts(changes)) + ".", ""]
    head += ["- " + cell(text) for text in notes(changes)] + ([""] if notes(changes) else [])
    lines = ["| %s | %s | %s | %s | %s |" % (_words(changes)[change], severity, cell(check), cell(text),
                                             cell(some(hosts, _NAMED)))
             for change, severity, check, text, hosts in grouped(changes)]
    if not lines:
        return "\n".join(head)
    head += ["| change | severity | check | finding | nodes |", "| --- | --- | --- | --- | --- |"]
    kept = fitting(lines, LIMIT - len("\n".join(head).encode()))
    more = ["", "%d more rows do not fit." % (len(lines) - len(kept))] if len(kept) < len(lines) else []
    return "\n".join(head + kept + more) + "\n"


def _title(changes):
    if changes["kind"] == "nodes":
        return "%s compared with %s, run %s" % (changes["nodes"][1], changes["nodes"][0], changes["run"]["run"])
    return "Changes from run %s to run %s" % (changes["before"]["run"], changes["after"]["run"])


def _words(changes):
    if changes["kind"] == "runs":
        return _changes.WORDS
    names = dict(zip(("first", "second"), map(escaped, changes["nodes"])))
    return {change: words % names for change, words in _NODES.items()}


def grouped(changes):
    """[(change, severity, check, text, hosts)] in the order of the rows' kinds; rows with equal texts are one."""
    found = {}
    for row in changes["rows"]:
        text = row["text"] or row["title"]
        if row["change"] not in (_changes.NEW, _changes.STILL) and row["was"] == "fail":
            text = "%s (was fail, is %s)" % (text, row["is"] or "not judged")
        found.setdefault((row["change"], row["severity"], row["check"], text), []).append(row["host"])
    order = sorted(found, key=lambda key: _changes.KINDS.index(key[0]))
    return [(*key, list(dict.fromkeys(found[key]))) for key in order]


def notes(changes):
    """Sentences about traits in which two nodes differ, or about hosts that came, went or were lost between runs."""
    if changes["kind"] == "nodes":
        return ["%s: %s on %s, %s on %s" % (row["by"], row["first"] or "not known", changes["nodes"][0],
                                            row["second"] or "not known", changes["nodes"][1])
                for row in changes["traits"]]
    named = [(word, changes[key]) for word, key in (("new hosts", "new_hosts"), ("hosts that are gone", "gone_hosts"),
                                                    ("reached again", "reached_again")) if changes[key]]
    return ["%s: %s" % (word, some(hosts, _NAMED)) for word, hosts in named] + [
        "no longer reached %s: %s" % (row["host"], row["reason"] or row["status"])
        for row in changes["no_longer_reached"]]


def _counts(changes):
    return _changes.counts_text(changes, _words(changes))
