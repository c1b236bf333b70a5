# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison of two runs or two nodes, for a terminal and as Markdown. PRIVATE to the collection."""

from .. import _finding
from .._runs import differences
from .markdown import LIMIT, cell, fitting
from .text import escaped, padded, some, widest, wrapped

_LINES = 200
_NAMED = 10
_WAS_REACHED = " (was reached before)"
# Of the nodes (first, second).
_NODES = {differences.NEW: "fails only on %(second)s", differences.FIXED: "fails only on %(first)s",
          differences.STILL: "fails on both", differences.JUDGED: "fails on %(second)s, not judged on %(first)s",
          differences.UNKNOWN: "unknown only on %(second)s", differences.LOST: "not judged on %(second)s"}


def render_terminal(changes: dict, width: int) -> str:
    """One line for each change, equal ones of several nodes in one, the counts last."""
    lines, kind, rows = wrapped(escaped(title_of(changes)), width), None, grouped(changes)
    id_width = widest(row[2] for row in rows[:_LINES])
    for change, severity, check, text, hosts in rows[:_LINES]:
        word = padded(words_of(changes)[change], 16) + " "
        if _of_nodes(changes):
            # The words name a node, and its name may be longer than a line.
            lines += _indented(words_of(changes)[change] + ":", 2, width) if change != kind else []
            kind, word = change, "  "
        head = escaped("  %s%s %s " % (word, padded(severity, 6), padded(check, id_width)))
        whole = text if _of_nodes(changes) else "%s (%s)" % (text, some(hosts, _NAMED))
        lines += [(head if not number else " " * len(head)) + line
                  for number, line in enumerate(wrapped(escaped(whole), max(24, width - len(head))))]
    left = len(rows) - _LINES
    lines += ["  and %d more" % left] if left > 0 else []
    for text in [*notes(changes), _counts(changes)]:
        lines += _indented(escaped(text), 2, width)
    return "\n".join(lines)


def _indented(text, columns, width):
    return [" " * columns + line for line in wrapped(text, max(24, width - columns))]


def render_markdown(changes: dict) -> str:
    """The same as a table, below the size of a job summary."""
    head = ["# " + cell(title_of(changes)), "", cell(_counts(changes)) + ".", ""]
    head += ["- " + cell(text) for text in notes(changes)] + ([""] if notes(changes) else [])
    names = ["change", "severity", "check", "finding"] + ([] if _of_nodes(changes) else ["nodes"])
    lines = ["| %s |" % " | ".join(map(cell, (words_of(changes)[change], *texts, some(hosts, _NAMED))[:len(names)]))
             for change, *texts, hosts in grouped(changes)]
    if not lines:
        return "\n".join(head)
    head += ["| %s |" % " | ".join(names), "| %s |" % " | ".join("---" for _name in names)]
    kept = fitting(lines, LIMIT - len("\n".join(head).encode()))
    more = ["", "%d more rows do not fit." % (len(lines) - len(kept))] if len(kept) < len(lines) else []
    return "\n".join(head + kept + more) + "\n"


def _of_nodes(changes):
    """Whether two nodes are compared: then the words name each node, and a row need not."""
    return changes["kind"] == "nodes"


def title_of(changes: dict) -> str:
    """The compared runs or nodes, in a few words."""
    if _of_nodes(changes):
        return "%s compared with %s, run %s" % (changes["nodes"][1], changes["nodes"][0], changes["run"]["run"])
    return "Changes from run %s to run %s" % (changes["before"]["run"], changes["after"]["run"])


def words_of(changes: dict) -> dict[str, str]:
    """The words for each kind of change."""
    if not _of_nodes(changes):
        return differences.WORDS
    names = dict(zip(("first", "second"), map(escaped, changes["nodes"])))
    return {change: words % names for change, words in _NODES.items()}


def grouped(changes: dict) -> list[tuple]:
    """[(change, severity, check, text, hosts)] by kind, the worst first; rows with equal texts are one."""
    found = {}
    for row in changes["rows"]:
        found.setdefault((row["change"], row["severity"], row["check"], _text(row, changes)), []).append(row["host"])
    order = sorted(found, key=lambda key: (differences.KINDS.index(key[0]), -_finding.SEVERITIES.index(key[1]), key[2]))
    return [(*key, list(dict.fromkeys(found[key]))) for key in order]


def _text(row, changes):
    """The fault, and its present status where it no longer fails; for an unknown check the title and the reason."""
    if row["is"] == _finding.UNKNOWN and row["was"] != _finding.FAIL:
        return ": ".join(filter(None, (row["title"], row["text"])))
    text = row["text"] or row["title"]
    if row["change"] in (differences.NEW, differences.STILL, differences.JUDGED):
        return text
    now = row["is"] or "not judged"
    return "%s (%s)" % (text, "%s on %s" % (now, changes["nodes"][1]) if _of_nodes(changes) else "was fail, is " + now)


def notes(changes: dict) -> list[str]:
    """Sentences about traits in which two nodes differ, or about hosts and checks that only one of two runs judged. A
    host that was not reached has one."""
    if _of_nodes(changes):
        return ["%s: %s on %s, %s on %s" % (row["by"], row["first"] or "not known", changes["nodes"][0],
                                            row["second"] or "not known", changes["nodes"][1])
                for row in changes["traits"]]
    earlier, later = (changes[name]["run"] for name in ("before", "after"))
    return ["not compared, %d %s %s: %s" % (len(changes[key]), noun if len(changes[key]) == 1 else noun + "s", why,
                                            some(changes[key], _NAMED)) for key, noun, why in (
        ("new_hosts", "host", "only in run " + later), ("gone_hosts", "host", "only in run " + earlier),
        ("reached_again", "host", "not reached by run " + earlier),
        ("left_out_checks", "check", "judged by only one run")) if changes[key]] + [
            "not reached %s: %s%s" % (row["host"], row["reason"] or row["status"], _WAS_REACHED * (
                row["was"] == differences.ASSESSED)) for row in changes["not_reached"]]


def _counts(changes):
    return differences.counts_text(changes, words_of(changes))
