# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports for people in front of a terminal: a table per node, and one of the fleet. PRIVATE to the collection."""

from collections.abc import Collection, Container
from typing import NamedTuple

from .. import _finding
from .._causes import verdict
from .._checks import verdict as checks_verdict
from .._fix.outcomes import FAILED, FIXED, REFUSED, WOULD_FIX
from .._fleet import overview
from .._fleet.compare import compared_texts
from .._fleet.outliers import baseline_texts, outlier_texts
from .._fleet.scope import scope_text
from .._policy import waiving
from . import screen
from .summary import hosts_counted, limit_text, policy_texts, summary_texts
from .text import READ_ONE_BY_ONE, escaped, padded, some, widest, wrapped

# The status of a cause that does not block; only what blocks fails.
_NOTE = "note"
_MARKS = {_finding.FAIL: "FAIL", _NOTE: _NOTE, _finding.UNKNOWN: "?", _finding.WAIVED: "waived"}
# The order of blocks.
ORDER = tuple(_MARKS)
_TONES = {"blocked": "high", "fit": "good", "not_known": "unknown", "no_node": "unknown", "not_reached": "unknown"}
_COLORS = {"high": "31;1", "medium": "33;1", "low": "33", "info": "36", "good": "32", "dim": "2", "unknown": "35"}
# The smallest width of a table, and the width below which texts are printed below their head.
_NARROWEST = 24
_ROOM_BESIDE = 33
# A block that hosts share names at most this many of them; fleet.json names all.
_SHARING = 20
_LISTED = ("fail", "unknown", "waived")
# So many causes have a place on each screen, without their evidence if need be.
_NEVER_LEFT_OUT = 2
_KINDS = {_finding.FAIL: "causes", _NOTE: "causes", _finding.UNKNOWN: "unknown checks",
          _finding.WAIVED: "waived checks"}
# Words that are correct both with check mode, which tries nothing, and without it.
_OUTCOMES = {FIXED: "fixed", WOULD_FIX: "would fix", REFUSED: "fix refused", FAILED: "fix fails"}


class Block(NamedTuple):
    """The lines about one check or, without `check`, one cause. Hosts with equal blocks have the same finding."""

    status: str
    severity: str
    check: str
    texts: tuple[str, ...]


def render_node(report: dict, width: int, color: bool, elsewhere: Container[Block] = (), alone: bool = True,
                every: bool = False) -> str:
    """One node: its verdict, its properties, a block for each cause and for unknown and waived checks, the counts, and
    the verdict again, without the last blocks if a screen has no room for them. With `every` a block for each check
    that fails, and all blocks.

    Blocks that are `elsewhere` are left out: render_fleet() shows the blocks that hosts share, and the state of waivers
    unless the node is `alone`.
    """
    paint, width = _painter(color), max(width, _NARROWEST)
    summary, host = report["summary"], report["host"]
    sentence = screen.cut(escaped(verdict.sentence(host, summary["verdict"])), 2)
    verdict_lines = [paint(_TONES[summary["verdict"]["state"]], line) for line in wrapped(sentence, width)]
    head = verdict_lines + _notes([_properties(summary)], width, paint)
    if not summary["reached"]:
        return "\n".join(head)
    blocks = [block for block in blocks_of(report, every) if block not in elsewhere]
    id_width = widest(block.check for block in blocks)
    end = _counts(summary, width, paint) + verdict_lines
    room = None if every else screen.room(width, len(head) + len(end))
    parts = [_part(block, width, paint, id_width, host) for block in blocks]
    failing = sum(_KINDS[block.status] == "causes" for block in blocks)
    if room is not None and sum(len(lines) for _kind, lines in parts[:failing][:_NEVER_LEFT_OUT]) >= room:
        parts[:failing] = [_part(block._replace(texts=screen.shortened(block.texts)), width, paint, id_width, host)
                           for block in blocks[:failing]]
    # The fixes of this run stand before the unknown checks.
    parts[failing:failing] = [("fixes", _notes([text], width, paint)) for text in _outcomes(report["findings"])]
    parts += [("notes", _notes([text], width, paint)) for text in _remarks(report, alone)]
    lines, left = screen.folded(parts, room)
    return "\n".join(head + lines + _notes([left], width, paint) + end)


def _part(block, width, paint, id_width, host):
    return _KINDS[block.status], _rendered(block, width, paint, id_width, names=[host])


def _remarks(report, alone):
    """What no block of a node shows."""
    summary = report["summary"]
    notes = ["disabled: %s (%s)" % (row["check"], row["reason"]) for row in summary.get("disabled", ())]
    notes += ["%s, no fix needed: %s" % (row["check"], row["observed"]) for row in report["findings"]
              if row["status"] == _finding.PASS and row["observed"]]
    if alone:
        notes += ["%s matched nothing" % waiving.name_of(row) for row in summary.get("waivers", ())
                  if row["matched"] is False]
        notes += filter(None, map(waiving.ending, summary.get("waivers", ())))
    return notes


def blocks_of(report: dict, every: bool = False) -> list[Block]:
    """The Blocks of a report: each cause (with `every` each check that fails), each cause of unknown checks, each check
    that is waived."""
    checks = {_finding.FAIL: {}, _finding.WAIVED: {}}
    for row in report["findings"]:
        if row["status"] in checks:
            checks[row["status"]].setdefault(row["check"], []).append(row)
    unknown = [_cause(rows[0], sentence) if sentence else _block(rows)
               for rows, sentence in checks_verdict.by_cause(report["findings"], report["summary"]["needs_root"])]
    failing, waived = ([_block(rows) for rows in checks[status].values()]
                       for status in (_finding.FAIL, _finding.WAIVED))
    if not every:
        failing = [Block(_finding.FAIL if blocks else _NOTE, severity, "", tuple(lines))
                   for blocks, severity, lines in screen.cause_texts(report)]
    return failing + unknown + waived


def _cause(worst, sentence):
    """The checks that are unknown for one cause, with the highest severity among them."""
    return Block(_finding.UNKNOWN, worst["severity"], "", (sentence,))


def _outcomes(findings):
    """The findings that this run fixed, and the findings that a run without check mode would fix, a line each; the
    reason of a finding shows other outcomes."""
    texts = []
    for outcome in (FIXED, WOULD_FIX):
        named = [("%s %s" % (row["check"], row["subject"])).strip() for row in findings if row["outcome"] == outcome]
        texts += ["%s: %s" % (outcome, some(named, _SHARING))] if named else []
    return texts


def _notes(texts, width, paint, tone="dim"):
    """Lines of information that are not findings."""
    return ["  " + paint(tone, line) for text in texts if text for line in wrapped(escaped(text), width - 2)]


def _properties(summary):
    return ", ".join(str(part) for part in (summary.get("os"), summary.get("kernel"), _place(summary),
                                            summary.get("needs")) if part)


def _block(rows):
    """All findings of one check that share a status: subjects with the same observation share a line, and the fix is
    printed once."""
    first = rows[0]
    texts = _problems(rows) if first["problem"] else _titled(rows)
    listed = [row for row in rows if not _finding.counts_others(row)]
    if first["status"] == _finding.UNKNOWN or _finding.at_least(first["severity"], "medium"):
        texts += _of_subjects("why", listed, "reason")
    if first["status"] == _finding.FAIL:
        texts += _of_subjects("fix", listed, "remediation")
    texts += _few(["waiver " + row["waiver"] for row in rows if row["waiver"]])
    return Block(first["status"], first["severity"], first["check"], tuple(filter(None, texts)))


def _place(summary):
    """The kind of the place, and whether it is a node; whether kubelet runs is known only for a live place."""
    place, kubelet = summary.get("place"), summary.get("kubelet")
    if not place or not kubelet:
        return place
    if kubelet == "running":
        return "%s node" % place
    if kubelet == "installed":
        return "%s, %s" % (place, "kubelet does not run here: judged as a future node"
                           if place == "live" else "kubelet is installed")
    return "%s, no kubelet here: judged as a future node" % place


def _rendered(block, width, paint, id_width, where=(), names=()):
    """The lines of a block; `where` are the hosts that share it, `names` the hosts that its commands are for."""
    block = block._replace(texts=tuple(screen.with_hosts(text, names or where) for text in block.texts))
    tone = {_finding.WAIVED: "dim", _finding.UNKNOWN: "unknown"}.get(block.status, block.severity)
    head = "  %s %s " % (padded(_MARKS[block.status], 6), padded(block.severity, 6))
    head += padded(block.check, id_width) + " " if block.check else ""
    on = ["on %s" % some(where, _SHARING)] if where else []
    texts = [block.texts[0], *on, *block.texts[1:]]
    # The commands of a cause need the whole width.
    below = [] if block.check else texts[1:]
    return _beside(tone, head, texts if block.check else texts[:1], width, paint) + [
        "    " + line for text in below for line in screen.broken(escaped(text), width - 4)]


def _beside(tone, head, texts, width, paint):
    """The texts beside the head, or below it where that leaves too little room for them."""
    if width - len(head) < _ROOM_BESIDE:
        return ["  " + paint(tone, " ".join(head.split()))] + ["    " + line for text in texts
                                                               for line in wrapped(escaped(text), width - 4)]
    lines = [line for text in texts for line in wrapped(escaped(text), width - len(head))]
    return [paint(tone, head) + lines[0]] + [" " * len(head) + line for line in lines[1:]]


def _titled(rows):
    """The title, and each observation with its subjects."""
    observed = {}
    for row in rows:
        observed.setdefault(row["observed"], []).append(row["subject"])
    return [rows[0]["title"]] + [": ".join(filter(None, (", ".join(filter(None, subjects)), text)))
                                 for text, subjects in observed.items()]


def _problems(rows):
    """The problem, once for all subjects with the same problem, and the expected value where no problem names it."""
    alike = {}
    for row in rows:
        text = _finding.problem_of(dict(row, expected=""))
        alike.setdefault(text.replace(row["subject"], "\0", 1), []).append((text, row["subject"]))
    texts = [same[0][0] + ("; the same for %s" % ", ".join(subject for _text, subject in same[1:]) if same[1:] else "")
             for same in alike.values()]
    return texts + _of_subjects("wanted", [row for row in rows if "wanted" in dict(_finding.unsaid(row))], "expected")


def _of_subjects(word, rows, key):
    """The texts under `key`, each once; where the texts differ, each with its first subject."""
    subjects = {}
    for row in rows:
        if row[key]:
            subjects.setdefault(row[key], []).append(row["subject"])
    if len(subjects) == 1:
        return ["%s: %s" % (word, text) for text in subjects]
    return _few(["%s, for %s%s: %s" % (word, of[0], " and %d more" % (len(of) - 1) if len(of) > 1 else "", text)
                 for text, of in subjects.items()])


def _few(texts, limit=3):
    different = list(dict.fromkeys(texts))
    return different[:limit] + (["and %d more" % (len(different) - limit)] if len(different) > limit else [])


def _counts(summary, width, paint):
    text = ", ".join("%d %s" % (summary[status], status) for status in ("pass", "fail", "unknown", "waived", "skip"))
    return _notes([text], width, paint,
                  "good" if not summary["fail"] and not summary["unknown"] else summary["worst"] or "unknown")


def render_fleet(fleet: dict, width: int, color: bool, shared: "dict[Block, list[str]] | None" = None,
                 limit_file: "str | None" = None, reports: Collection[dict] = (), details: str = "all") -> str:
    """The play: hosts that were not reached, the summary of many hosts, and the totals. `shared` are Blocks with the
    hosts that share them, shown in full; `limit_file` is passed to limit_text(); `reports` are the reports of the
    hosts, with the causes and the outcomes that a roll-up does not have. By `details` causes or all checks are listed
    with their hosts; with `auto` neither: each host has a screen, or its blocks are shared."""
    paint, width, shared = _painter(color), max(width, _NARROWEST), shared or {}
    listed = [] if details in ("auto", "all") else _causes_of(fleet)
    listed += [] if details == "auto" else [block for entry in _with_causes(fleet)
                                            for block in _listed(entry, _problems_of_hosts(reports))
                                            if details == "all" or block.status != _finding.FAIL]
    more = 0 if details in ("auto", "all") else len(fleet["causes"]) - _SHARING
    id_width = widest([block.check for block in [*shared, *listed]])
    lines = [line for block, hosts in shared.items() for line in _rendered(block, width, paint, id_width, hosts)]
    lines += [line for block in listed for line in _rendered(block, width, paint, id_width)]
    lines += _notes(["%d more %s" % (more, "cause" if more == 1 else "causes")] if more > 0 else [], width, paint)
    lines += _notes(_outcomes_of_hosts(reports), width, paint)
    # A check that fails on one host only is in the block of the host.
    lines += _notes(["%s fails %s" % (entry["check"], scope_text(entry["scope"], entry["fail"]))
                     for entry in fleet["checks"] if entry["scope"] and entry["scope"]["kind"] != "node"], width, paint)
    lines += _notes(baseline_texts(fleet), width, paint, "unknown")
    lines += _notes(outlier_texts(fleet["outliers"], fleet["baseline"], some), width, paint)
    lost = {}
    for row in fleet["hosts"]:
        if row["status"] == "not_reached":
            lost.setdefault(row["reason"] or "", []).append(row["host"])
    lines += _notes(["not reached %s: %s" % (some(hosts, _SHARING), reason) for reason, hosts in lost.items()], width,
                    paint, "unknown")
    lines += _notes(compared_texts(fleet["compared"], some), width, paint, "medium")
    lines += _notes(policy_texts(fleet), width, paint)
    if len(fleet["hosts"]) > READ_ONE_BY_ONE:
        lines += _notes(summary_texts(fleet), width, paint)
    lines += _notes([limit_text(fleet, limit_file)], width, paint)
    text = hosts_counted({name: number for name, number in fleet["totals"].items() if name != "not_rolled_out"},
                         fleet["hosts"])
    return "\n".join([paint("bold", "All nodes")] + lines + ["  " + line for line in wrapped(text, width - 2)])


def _causes_of(fleet):
    """A Block of one line for each cause, with its hosts."""
    return [Block(_finding.FAIL if cause["blocks"] else _NOTE, cause["severity"], "", (
        "on %s: %s" % (some(cause["hosts"]), screen.cut(escaped(overview.sentence_of(cause)), 2)),))
        for cause in fleet["causes"][:_SHARING]]


def _problems_of_hosts(reports):
    """{(check, host): the problem there, or None where the check has only a title}."""
    failing = {}
    for report in reports:
        for row in report["findings"]:
            if row["status"] == _finding.FAIL:
                failing.setdefault((row["check"], report["host"]), []).append(row)
    return {key: rows[0]["problem"] and rows[0]["problem"] + (" (and %d more)" % (len(rows) - 1) if len(rows) > 1
                                                              else "") for key, rows in failing.items()}


def _outcomes_of_hosts(reports):
    """A line for each outcome of fixes, with the checks and the number of hosts; it is needed because a folded host has
    no table."""
    texts = []
    for outcome, words in _OUTCOMES.items():
        hosts = {}
        for report in reports:
            for row in report["findings"]:
                if row["outcome"] == outcome:
                    hosts.setdefault(row["check"], set()).add(report["host"])
        named = ["%s on %d %s" % (check, len(of), "host" if len(of) == 1 else "hosts")
                 for check, of in sorted(hosts.items())]
        texts += ["%s: %s" % (words, some(named, _SHARING))] if named else []
    return texts


def _listed(entry, problems):
    """A Block of one line for each status of an entry of the roll-up."""
    for status in _LISTED:
        hosts, title = entry[status], entry["title"]
        if not hosts:
            continue
        if status == _finding.FAIL:
            alike = {problems.get((entry["check"], host)) for host in hosts}
            problem = alike.pop() if len(alike) == 1 else None
            text = "on %s%s" % (some(hosts), ": " + problem if problem else "; must hold: " + title)
        else:
            text = "%s: %son %s" % (title, status + " " if entry["check"] else "", some(hosts))
        yield Block(status, entry["severity"], entry["check"], (text,))


def _with_causes(fleet):
    """The entries of the roll-up: a cause for which several checks are unknown is one line, and its checks do not list
    its hosts again."""
    spoken = {(check, host) for cause in fleet["unknown"] for check in cause["checks"] for host in cause["hosts"]}
    entries = [dict(entry, unknown=[host for host in entry["unknown"] if (entry["check"], host) not in spoken])
               for entry in fleet["checks"]]
    causes = [{"severity": cause["severity"], "check": "", "title": cause["cause"], "fail": [],
               "unknown": cause["hosts"], "waived": []} for cause in fleet["unknown"]]
    return causes + [entry for entry in entries if entry["fail"] or entry["unknown"] or entry["waived"]]


def _painter(color):
    codes = dict(_COLORS, bold="1")
    return (lambda tone, text: "\033[%sm%s\033[0m" % (codes[tone], text)) if color else (lambda _tone, text: text)
