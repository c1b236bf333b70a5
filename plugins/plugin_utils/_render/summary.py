# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a fleet, and a batch, as sentences. PRIVATE to the collection."""

from collections.abc import Callable, Collection

from .._causes import verdict
from .._fleet.overview import state_of
from .._policy import waiving
from .text import escaped, some

_STATES = ("blocked", "not_reached", "not_known", "no_node", "fit", "not_rolled_out", "pending")
WORDS = {"not_known": "not known", "not_reached": "not reached", "no_node": "no nodes",
         "not_rolled_out": "not rolled out"}
# States whose hosts are named, and how many of them at most.
_WITH_NAMES, _NAMED = ("blocked", "not_reached", "not_known"), 10
_FIT_WITH = {"fit_with_low": "%d with low findings", "fit_with_others": "%d with findings that the gate lets pass"}
_GROUPS = 10
_CHECKS = 5
# With more names than this, a file replaces the list in the command line.
_LIMIT = 20


def counted(counts: dict[str, int]) -> str:
    """The numbers above 0 with their names."""
    return ", ".join("%d %s" % (number, name.replace("_", " ")) for name, number in counts.items() if number)


def hosts_counted(counts: dict[str, int], rows: Collection[dict] = ()) -> str:
    """Hosts by state, the worst first, with the names of hosts that need work, where their `rows` of the roll-up are
    given: `3 blocked (w02 w03 w05), 2 not reached (w19 w20), 15 fit (1 with low findings)`."""
    texts = []
    for state in _STATES:
        if not counts.get(state) and not (state == "fit" and not any(counts.get(each) for each in _STATES)):
            continue
        names = [escaped(row["host"]) for row in rows if state in _WITH_NAMES and state_of(row) == state]
        beside = " ".join(names[:_NAMED]) + (" and %d more" % (len(names) - _NAMED) if len(names) > _NAMED else "")
        if state == "fit":
            beside = ", ".join(text % counts[kind] for kind, text in _FIT_WITH.items() if counts.get(kind))
        texts.append("%d %s%s" % (counts.get(state, 0), WORDS.get(state, state), " (%s)" % beside if beside else ""))
    return ", ".join(texts)


def verdict_of_fleet(totals: dict[str, int]) -> str:
    """Whether the nodes may carry traffic, as a title."""
    if not totals["hosts"]:
        return "The run has no hosts"
    if totals["blocked"]:
        return "%d of %d nodes must not carry traffic" % (totals["blocked"], totals["hosts"])
    if totals["fit"] == totals["hosts"]:
        return "All nodes are fit for traffic"
    return "No node is blocked, but %d of %d are not known to be fit for traffic" % (
        totals["hosts"] - totals["fit"], totals["hosts"])


def sentence_of(row: dict) -> str:
    """The verdict on the host of a row of the roll-up, which may have no report."""
    if row["verdict"]:
        return verdict.sentence(row["host"], row["verdict"])
    if row["status"] == "not_reached":
        return "%s was not reached: %s" % (row["host"], row["reason"])
    return "%s: %s" % (row["host"], row["reason"])


def without_cause(fleet: dict) -> list[dict]:
    """The rows of the hosts that are neither fit nor still to come, and that no cause which blocks names."""
    named = {host for cause in fleet["causes"] if cause["blocks"] for host in cause["hosts"]}
    return [row for row in fleet["hosts"]
            if state_of(row) not in ("fit", "pending", "not_rolled_out") and row["host"] not in named]


def batch_text(fleet: dict, names: Collection[str]) -> str:
    """A batch that went well, and how far the play is; `names` are the hosts of the batch."""
    counts = {"hosts": 0}
    for row in fleet["hosts"]:
        if row["host"] in names:
            state = state_of(row)
            counts.update({"hosts": counts["hosts"] + 1, state: counts.get(state, 0) + 1})
    totals = fleet["totals"]
    counted = hosts_counted(counts, [row for row in fleet["hosts"] if row["host"] in names])
    return "batch: %s; %d of %d hosts done" % (counted, totals["hosts"] - totals["pending"], totals["hosts"])


def went_well(fleet: dict, names: Collection[str]) -> bool:
    """Whether no host among `names` is blocked, and each was reached."""
    return all(state_of(row) in ("fit", "not_known", "no_node") for row in fleet["hosts"] if row["host"] in names)


def summary_texts(fleet: dict) -> list[str]:
    """Counts by status, severity and inventory group, and the worst checks and hosts."""
    known, failing = fleet["summary"], [entry for entry in fleet["checks"] if entry["fail"]]
    texts = ["findings: %s" % (counted(known["findings"]) or "none")]
    if any(known["failing"].values()):
        texts.append("fail by severity: %s" % counted(known["failing"]))
        # Few checks are listed in full above.
        worst = sorted(failing, key=lambda entry: -len(entry["fail"])) if len(failing) > _CHECKS else []
        texts += ["checks that fail on most hosts: %s" % some(
            ["%s (%s) on %d" % (entry["check"], entry["severity"], len(entry["fail"])) for entry in worst],
            _CHECKS)] if worst else []
        texts.append("worst hosts: %s" % ", ".join(
            "%s (%s)" % (row["host"], counted({name: row[name] for name in known["failing"]}))
            for row in known["worst_hosts"]))
    if len(known["groups"]) > 1:
        groups = sorted(known["groups"], key=lambda row: (-row["blocked"] - row["not_reached"], row["group"]))
        texts += ["group %s: %s" % (row["group"], hosts_counted(row)) for row in groups[:_GROUPS]]
        texts += ["and %d more groups" % (len(groups) - _GROUPS)] if len(groups) > _GROUPS else []
    return texts


def limit_text(fleet: dict, limit_file: "str | None" = None) -> str:
    """The value for --limit with the blocked hosts; `limit_file` is a file that lists them."""
    names = fleet["summary"]["limit"]
    if is_long(names):
        return "blocked: --limit @%s" % limit_file if limit_file else ""
    return "blocked: --limit %s" % ",".join(names) if names else ""


def policy_texts(fleet: dict, some_of: Callable[[list[str]], str] = some) -> list[str]:
    """Checks that are disabled, and waivers that match nothing, have expired or will soon, each with its hosts."""
    return (["disabled on %s: %s (%s)" % (some_of(row["hosts"]), row["check"], row["reason"])
             for row in fleet["disabled"]]
            + ["%s matched nothing on %s" % (waiving.name_of(row), some_of(row["hosts"]))
               for row in fleet["unmatched_waivers"]]
            + ["%s, for %s" % (waiving.ending(row), some_of(row["hosts"])) for row in fleet["ending_waivers"]])


def is_long(names: list[str]) -> bool:
    """Whether so many hosts are listed in a file rather than in a command."""
    return len(names) > _LIMIT
