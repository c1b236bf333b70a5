# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The screen of one host: the lines of each cause, and the limit of a long screen. PRIVATE to the collection."""

import re
import shlex

from .. import _finding
from .._causes import verdict
from .._causes.judge import names_of
from .text import escaped, some, width_of, wrapped

# Lines of the screen of one host, in 100 columns.
_LINES = 24
# Columns beside the head of a block and below it, where the screen has 100.
_BESIDE, _BELOW = 84, 96
# Stands for the names of the hosts in a line.
HOST = "\0"
# Words before the name of a host in a fix; elsewhere the name may be another word, because a host may be called `node`.
_BEFORE = "(?<!\\S)(?:-l|--limit|drain|uncordon|ansible|on|for) |spec\\.nodeName="
_ALL, _EVIDENCE = "details: -e node_report_details=all", "evidence: "
# A command without a sentence after it.
_COMMAND = re.compile(r"fix: (?:for n in |(?:(?:on|for) \S+: )?(?:ansible|ansible-playbook|apt-get|crictl|depmod|dnf|echo|"
                      r"ip6?tables\S*|kill|kubectl|lslocks|nft|sysctl|systemctl) (?!(?:[^']|'[^']*')*[,;.:] ))")
_REMAINDER = re.compile(r"and (\d+) more")


def cause_texts(report):
    """[(whether it blocks, severity, [lines])] of the causes of a host, the blocking ones first, then the one that
    users feel most: the sentence, the effect on users and since when, the line that shows it, the fix, how to see that
    it worked, and the number of findings. HOST stands for the name of the host, so that equal causes of several hosts
    have equal lines."""
    blocking, host = verdict.blocking_of(report["summary"]["verdict"]), escaped(report["host"])
    known = {(row["check"], row["subject"]) for row in report["summary"].get("known") or ()}
    causes = sorted(merged(report["causes"]), key=lambda cause: not verdict.blocks(cause, blocking))
    return [(verdict.blocks(cause, blocking), cause["severity"], _lines(cause, host, known)) for cause in causes]


def with_hosts(text, hosts):
    """A line with the names of its hosts, as the command before them takes them."""
    listed = ", ".join(hosts)
    if len(hosts) > 1 and ("=" + HOST in text or " && kubectl uncordon " + HOST in text):
        # What empties a node is done on one after the other, and a selector names one.
        before, command = re.match(r"((?:fix: )?)(.*)", text, re.DOTALL).groups()
        return "%sfor n in %s; do %s || break; done" % (
            before, " ".join(map(shlex.quote, hosts)), command.replace(HOST, "$n"))
    for word, names in (("on ", listed), ("for ", listed), ("drain ", " ".join(map(shlex.quote, hosts))),
                        ("uncordon ", " ".join(map(shlex.quote, hosts))),
                        ("", shlex.quote(",".join(hosts)))):
        text = text.replace(word + HOST, word + names)
    return text


def without_host(text, host):
    """A line with HOST in place of the name of its host."""
    return re.sub(r"(%s)(?:%s|%s)(?![\w-]|\.\w)" % (_BEFORE, re.escape(shlex.quote(host)), re.escape(host)),
                  lambda found: found[1] + HOST, text)


def cut(text, lines, width=_BELOW):
    """A text that needs at most `lines` of `width` columns: a node decides how long it is."""
    kept = wrapped(text, width)
    return text if len(kept) <= lines else " ".join(
        kept[:lines - 1] + [wrapped(kept[lines - 1], width - 4)[0] + " ..."])


def broken(text, width):
    """A text as lines. Each line of a command can be copied: it breaks after `&&` or with a backslash, and is wider
    than a line rather than broken within a word or a quoted name."""
    if width_of(text) <= width:
        return [text]
    if not _COMMAND.match(text):
        return wrapped(text, width)
    return [line for part in text.replace(" && ", " &&\n").split("\n") for line in _continued(part, width)]


def _continued(command, width):
    if width_of(command) <= width or "'" in command or max(map(width_of, command.split())) > width - 2:
        return [command]
    lines = wrapped(command, width - 2)
    return [line + " \\" for line in lines[:-1]] + lines[-1:]


def room(width, used):
    """The lines of a screen that are not `used` yet; on a narrow screen a text needs more lines."""
    return (_LINES if width >= 100 else _LINES * 100 // width) - used


def shortened(texts):
    """The texts of a cause with a short sentence and effect, without its evidence and its findings."""
    return (cut(texts[0], 2, _BESIDE), *(
        text if text.startswith(("fix: ", "then: ")) else cut(text, 1) for text in texts[1:]
        if not text.startswith(_EVIDENCE) and not text.endswith("(%s)" % _ALL)))


def folded(parts, room):
    """`(lines, text)`: the lines of `parts`, [(kind, lines)], without the last ones if they need more than `room`
    lines, and a text that counts the others, or None. The first part is never left out; without `room` none is."""
    if room is None or sum(len(lines) for _kind, lines in parts) <= room:
        return [line for _kind, lines in parts for line in lines], None
    shown, left = [], {}
    for kind, lines in parts:
        if left or shown and len(shown) + len(lines) >= room:
            left[kind] = left.get(kind, 0) + 1
        else:
            shown += lines
    words = ["%d %s" % (number, kind if number > 1 else kind.rstrip("s")) if kind == "causes" else kind
             for kind, number in left.items()]
    return shown, "more: %s (%s)" % (", ".join(words), _ALL) if left else None


def merged(causes):
    """The causes, where the findings of one check that are their own causes are one."""
    found = {}
    for number, cause in enumerate(causes):
        check = cause["explains"][0]["check"]
        found.setdefault((check, None) if cause["cause"] is None else (check, number), []).append(cause)
    return [_one(of) if len(of) > 1 else of[0] for of in found.values()]


def _one(causes):
    """The first of the causes, with the number of the others. A finding that counts subjects is never the first."""
    first = min(causes, key=lambda cause: bool(_REMAINDER.fullmatch(cause["explains"][0]["subject"])))
    explains = [name for cause in causes for name in cause["explains"]]
    return dict(first, sentence="%s (and %d more)" % (first["sentence"], _number(explains) - 1), explains=explains,
                severity=max((cause["severity"] for cause in causes), key=_finding.SEVERITIES.index))


def _number(explains):
    """How many subjects fail; one finding of a check may count the subjects that no other names."""
    counts = [_REMAINDER.fullmatch(row["subject"]) for row in explains]
    return sum(int(count[1]) if count else 1 for count in counts)


def _lines(cause, host, known):
    """Short texts, but a command of the catalogue is never cut: its first half may be another command."""
    texts = {name: escaped(text) for name, text in cause.items() if isinstance(text, str)}
    since = " (since %s)." % texts["since"] if texts["since"] else ""
    effect = texts["effect"].rstrip(".") + since if texts["effect"] and since else texts["effect"]
    fix = without_host(texts["fix"], host) if cause["cause"] else cut(texts["fix"], 2)
    checks = list(dict.fromkeys(row["check"] for row in cause["explains"]))
    number = _number(cause["explains"])
    explained = "%d %s explained by this: %s (%s)" % (
        number, "finding" if number == 1 else "findings", some(checks, 2 if len(checks) == 2 else 1), _ALL)
    return [cut(texts["sentence"], 4, _BESIDE)] + [text for text in (
        cut(effect, 2), texts["evidence"] and cut(_EVIDENCE + texts["evidence"], 1), fix and "fix: " + fix,
        texts["then"] and "then: " + without_host(texts["then"], host),
        known.issuperset(names_of(cause)) and "in the baseline: the gate does not count it",
        explained if cause["cause"] else "") if text]
