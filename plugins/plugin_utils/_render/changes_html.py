# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison of two runs or two nodes as one HTML page. PRIVATE to the collection.

Everything is in plain tables, the script only hides rows that do not match the filters.
"""

from .._runs import differences
from .changes import grouped, notes, title_of, words_of
from .html_page import cells, framed, page, safe, table
from .markdown import fitting

# Bytes of all rows: far below the size that a browser opens at once.
_LIMIT = 8 * 1024 * 1024
_NAMED = 10
_HEADS = ("Severity", "Check", "Finding", "Nodes")


def render_changes_html(changes: dict) -> str:
    """The page: counts, other differences, and a table for each kind of change."""
    title, words, rows = safe(title_of(changes)), words_of(changes), grouped(changes)
    heads = _HEADS if changes["kind"] == "runs" else _HEADS[:-1]
    lines = fitting([_row(heads, row[1:1 + len(heads)]) for row in rows], _LIMIT)
    left = len(rows) - len(lines)
    tables = "".join(_table(words[kind], changes["totals"][kind], heads, [
        line for line, row in zip(lines, rows) if row[0] == kind]) for kind in differences.KINDS)
    more = "<p>%d more rows do not fit; changes.json lists all changes.</p>" % left if left else ""
    return page("changes", title="kubenode.netfilter: " + title, heading=title, runs=safe(_runs(changes)),
                totals="<ul>%s</ul>" % "".join("<li><b>%d</b> %s</li>" % (changes["totals"][kind], safe(words[kind]))
                                               for kind in differences.KINDS),
                others=_others(changes), changes=(tables or "<p>No finding changed.</p>") + more)


def _runs(changes):
    runs = [changes["run"]] if changes["kind"] == "nodes" else [changes["before"], changes["after"]]
    return ", compared with ".join("run %s, started %s" % (run["run"], run["started"]) for run in reversed(runs))


def _others(changes):
    """Traits in which two nodes differ, or hosts that came, went or were lost between runs."""
    if changes["kind"] == "nodes":
        rows = [(row["by"].replace("_", " "), row["first"] or "not known", row["second"] or "not known")
                for row in changes["traits"]]
        return "<h3>Other differences</h3>\n" + table(
            "Table of other differences", ("Property", *changes["nodes"]), rows, "traits") if rows else ""
    items = "".join("<li>%s</li>\n" % safe(text) for text in notes(changes))
    return "<h3>Hosts</h3>\n<ul>\n%s</ul>\n" % items if items else ""


def _table(words, count, heads, rows):
    if not rows:
        return ""
    name = words[:1].upper() + words[1:]
    return '<section class="change">\n<h2>%s (%d)</h2>\n%s</section>\n' % (safe(name), count, framed(name, heads, rows))


def _row(heads, texts):
    severity, check, text, *hosts = texts
    return '<tr data-severity="%s">%s</tr>' % (severity, cells(heads, [*map(safe, (severity, check, text)), *map(
        _nodes, hosts)]))


def _nodes(hosts):
    """All names; a long list of names is folded."""
    more = hosts[_NAMED:]
    folded = "<details><summary>and %d more</summary>%s</details>" % (len(more), safe(", ".join(more))) if more else ""
    return safe(", ".join(hosts[:_NAMED])) + folded
