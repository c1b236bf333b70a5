# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports for people in front of a terminal: a table per node, and one of the fleet. PRIVATE to the collection."""

from .. import _finding, _unknown
from .text import escaped, padded, some, wrapped

_MARKS = {_finding.FAIL: "FAIL", _finding.UNKNOWN: "?", _finding.WAIVED: "waived"}
_COLORS = {"high": "31;1", "medium": "33;1", "low": "33", "info": "36", "good": "32", "dim": "2", "unknown": "35"}
_NARROWEST = 60
# BACKEND001 is the longest.
_ID_WIDTH = 10


def render_node(report, width, color):
    """One node: a line that says who and what, a block for each check that neither passes nor is skipped, the counts."""
    paint = _painter(color)
    summary = report["summary"]
    lines = _title(report, max(width, _NARROWEST), paint)
    if not summary["reached"]:
        return "\n".join(lines + ["  " + paint("unknown", "nothing is known of it: %s" % escaped(summary["reason"] or ""))])
    for block in _blocks(report, max(width, _NARROWEST), paint):
        lines += block
    told = ["disabled: %s (%s)" % (row["check"], row["reason"]) for row in summary.get("disabled", ())]
    told += [_unmatched(row) for row in summary.get("waivers", ()) if row["matched"] is False]
    return "\n".join(lines + _notes(told, width, paint) + ["  " + _counts(summary, paint)])


def _blocks(report, width, paint):
    """The lines of each check that fails, each cause of what is unknown and each check that is waived."""
    checks = {_finding.FAIL: {}, _finding.WAIVED: {}}
    for row in report["findings"]:
        if row["status"] in checks:
            checks[row["status"]].setdefault(row["check"], []).append(row)
    unknown = [_cause(rows[0], sentence, width, paint) if sentence else _block(rows, width, paint)
               for rows, sentence in _unknown.by_cause(report["findings"], report["summary"]["needs_root"])]
    failing, waived = ([_block(rows, width, paint) for rows in checks[status].values()] for status in (_finding.FAIL, _finding.WAIVED))
    return failing + unknown + waived


def _cause(worst, sentence, width, paint):
    """The checks that are unknown for one cause, in the row of the worst of them."""
    return _row(dict(worst, check=""), [sentence], "unknown", width, paint)


def _unmatched(row):
    return "waiver for %s '%s' matched nothing" % (row["check"], row["subject"])


def _notes(texts, width, paint):
    """What is good to know and no finding."""
    return ["  " + paint("dim", line) for text in texts for line in wrapped(escaped(text), max(width, _NARROWEST) - 2)]


def _title(report, width, paint):
    summary = report["summary"]
    parts = [escaped(str(part)) for part in (summary.get("os"), summary.get("kernel"), _place(summary), summary.get("needs")) if part]
    name = escaped(report["host"])
    if not parts:
        return [paint("bold", name)]
    lines = wrapped("%s  %s" % (name, ", ".join(parts)), width - 4)
    return [paint("bold", name) + lines[0][len(name):]] + ["    " + line for line in lines[1:]]


def _block(rows, width, paint):
    """All findings of one check that share a status: subjects with the same observation share a line, the fix stands once."""
    first = rows[0]
    tone = first["severity"] if first["status"] == _finding.FAIL else "dim" if first["status"] == _finding.WAIVED else "unknown"
    said = _problems(rows) if first["problem"] else _titled(rows)
    if first["status"] == _finding.UNKNOWN or _finding.at_least(first["severity"], "medium"):
        said += _of_subjects("why", rows, "reason")
    if first["status"] == _finding.FAIL:
        said += _of_subjects("fix", rows, "remediation")
    said += _few(["waiver " + row["waiver"] for row in rows if row["waiver"]])
    return _row(first, said, tone, width, paint)


def _place(summary):
    """What kind of place it is, and whether it is a node; only of a live place it is known whether kubelet runs."""
    place, kubelet = summary.get("place"), summary.get("kubelet")
    if not place or not kubelet:
        return place
    if kubelet == "running":
        return "%s node" % place
    if kubelet == "installed":
        return "%s, %s" % (place, "kubelet does not run here: judged as a future node" if place == "live" else "kubelet is installed")
    return "%s, no kubelet here: judged as a future node" % place


def _row(first, said, tone, width, paint):
    """The lines of a block: mark, severity and id of its first finding, and beside them what is said."""
    head = "  %s %s %s " % (padded(_MARKS[first["status"]], 6), padded(first["severity"], 6), padded(first["check"], _ID_WIDTH))
    lines = [line for text in said if text for line in wrapped(escaped(text), max(width - len(head), 24))]
    return [paint(tone, head) + lines[0]] + [" " * len(head) + line for line in lines[1:]]


def _titled(rows):
    """The title, and what was found of which subjects."""
    observed = {}
    for row in rows:
        observed.setdefault(row["observed"], []).append(row["subject"])
    return [rows[0]["title"]] + [": ".join(filter(None, (", ".join(filter(None, subjects)), text))) for text, subjects in observed.items()]


def _problems(rows):
    """What is wrong, once for all subjects with the same problem, and what is wanted where no problem names it."""
    alike = {}
    for row in rows:
        text = _finding.problem_of(dict(row, expected=""))
        alike.setdefault(text.replace(row["subject"], "\0", 1), []).append((text, row["subject"]))
    said = [same[0][0] + ("; the same for %s" % ", ".join(subject for _text, subject in same[1:]) if same[1:] else "") for same in alike.values()]
    return said + _of_subjects("wanted", [row for row in rows if "wanted" in dict(_finding.unsaid(row))], "expected")


def _of_subjects(word, rows, key):
    """The texts under C(key), each once, with the first subject it is said of where the texts differ."""
    subjects = {}
    for row in rows:
        if row[key]:
            subjects.setdefault(row[key], []).append(row["subject"])
    if len(subjects) == 1:
        return ["%s: %s" % (word, text) for text in subjects]
    return _few(["%s, for %s%s: %s" % (word, of[0], " and %d more" % (len(of) - 1) if len(of) > 1 else "", text) for text, of in subjects.items()])


def _few(texts, limit=3):
    different = list(dict.fromkeys(texts))
    return different[:limit] + (["and %d more" % (len(different) - limit)] if len(different) > limit else [])


def _counts(summary, paint):
    text = ", ".join("%d %s" % (summary[status], status) for status in ("pass", "fail", "unknown", "waived", "skip"))
    return paint("good" if not summary["fail"] and not summary["unknown"] else summary["worst"] or "unknown", text)


def render_fleet(fleet, width, color):
    """The play: what fails where, hosts that were not reached, and the totals."""
    paint = _painter(color)
    lines = []
    for entry in _with_causes(fleet):
        where = ["%s on %s" % (status if entry["check"] else "", some(entry[status])) for status in ("fail", "unknown", "waived") if entry[status]]
        head = "  %s %s " % (padded(entry["severity"], 6), padded(entry["check"], _ID_WIDTH))
        texts = wrapped(escaped("%s: %s" % (entry["title"], "; ".join(where))), max(width, _NARROWEST) - len(head))
        lines += [paint(entry["severity"] if entry["fail"] else "dim", head) + texts[0]] + [" " * len(head) + text for text in texts[1:]]
    for row in fleet["hosts"]:
        if row["status"] == "not_reached":
            lines.append("  %s %s: %s" % (paint("unknown", "not reached"), escaped(row["host"]), escaped(row["reason"] or "")))
    for part, compared in sorted(fleet["compared"].items()):
        if compared and (compared["differs"] or compared["moving"]):
            text = "%s: the same on %d %s%s%s" % (part, compared["hosts"], "node" if compared["hosts"] == 1 else "nodes", "".join(
                ", others on %s" % some(compared[word]) + (" (read before or after the rest: look again)" if word == "moving" else "")
                for word in ("differs", "moving") if compared[word]), ", unknown on %d" % compared["unknown"] if compared["unknown"] else "")
            lines += ["  " + paint("medium", line) for line in wrapped(escaped(text), max(width, _NARROWEST) - 2)]
    told = ["disabled on %s: %s (%s)" % (some(row["hosts"]), row["check"], row["reason"]) for row in fleet["disabled"]]
    told += ["%s on %s" % (_unmatched(row), some(row["hosts"])) for row in fleet["unmatched_waivers"]]
    lines += _notes(told, width, paint)
    totals = fleet["totals"]
    text = ", ".join("%d %s" % (totals[key], key.replace("_", " ")) for key in (
        "hosts", "healthy", "failing", "unclear", "not_reached", "pending") if totals[key] or key in ("hosts", "healthy", "failing"))
    return "\n".join([paint("bold", "All nodes")] + lines + ["  " + text])


def _with_causes(fleet):
    """What the roll-up lists: each cause that several checks are unknown for is one line, and its checks do not list its hosts once more."""
    spoken = {(check, host) for cause in fleet["unknown"] for check in cause["checks"] for host in cause["hosts"]}
    entries = [dict(entry, unknown=[host for host in entry["unknown"] if (entry["check"], host) not in spoken]) for entry in fleet["checks"]]
    causes = [{"severity": cause["severity"], "check": "", "title": cause["cause"], "fail": [], "unknown": cause["hosts"], "waived": []}
              for cause in fleet["unknown"]]
    return causes + [entry for entry in entries if entry["fail"] or entry["unknown"] or entry["waived"]]


def _painter(color):
    codes = dict(_COLORS, bold="1")
    return (lambda tone, text: "\033[%sm%s\033[0m" % (codes[tone], text)) if color else (lambda _tone, text: text)
