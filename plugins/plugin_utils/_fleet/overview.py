# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet in a few numbers and names, for people and for other jobs. PRIVATE to the collection.

The causes of a fleet: a cause that many hosts share is one, with its hosts and one fix.
"""

import re

from .. import _finding
from .._causes.judge import CERTAINTIES, EFFECTS
from .._causes.verdict import blocking_of, blocks
from .._render.screen import merged, with_hosts, without_host

# A host name of this form is an Ansible pattern that matches only this host, and the shell does not change it.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
_SHOWN = 5
# Other jobs get at most this many names; fleet.json has all.
_STATED = 100
# States of a host that was assessed.
JUDGED = ("blocked", "not_known", "no_node", "fit")


def summary(hosts, reports) -> dict:
    """`{"findings", "failing", "groups", "worst_hosts", "limit"}` of a play: findings by status, failing findings by
    severity, the states of hosts by inventory group, the hosts with the worst findings that fail, and the blocked
    hosts that can be listed with --limit. `hosts` are the rows of the roll-up."""
    findings = dict.fromkeys(_finding.STATUSES, 0)
    failing, by_host = dict.fromkeys(reversed(_finding.SEVERITIES), 0), {}
    for report in reports:
        if report["summary"]["reached"]:
            mine = by_host[report["host"]] = dict.fromkeys(failing, 0)
            for row in report["findings"]:
                findings[row["status"]] += 1
                if row["status"] == _finding.FAIL:
                    mine[row["severity"]] += 1
                    failing[row["severity"]] += 1
    worst = sorted((host for host in by_host if any(by_host[host].values())),
                   key=lambda host: ([-count for count in by_host[host].values()], host))
    return {
        "findings": findings, "failing": failing, "groups": _groups(hosts, reports),
        "worst_hosts": [dict(by_host[host], host=host) for host in worst[:_SHOWN]],
        "limit": [row["host"] for row in hosts
                  if state_of(row) == "blocked" and _PLAIN_NAME.match(row["host"])],
    }


def state_of(row: dict) -> str:
    """The state of a host: the status of its row in the roll-up or, if it was assessed, that of its verdict."""
    return row["verdict"]["state"] if row["status"] == "assessed" else row["status"]


def stated(fleet, folder=None) -> dict:
    """The data of a roll-up for `set_stats`: numbers, and names of hosts up to a limit."""
    names = {state: [row["host"] for row in fleet["hosts"] if state_of(row) == state][:_STATED]
             for state in ("blocked", "not_reached")}
    return {"run": fleet["run"], "totals": fleet["totals"], "failing_findings": fleet["summary"]["failing"],
            "blocked_hosts": names["blocked"], "not_reached_hosts": names["not_reached"], "folder": folder}


def stats_of(name, data) -> dict:
    """`data` as Ansible takes custom statistics of a run from the result of a task."""
    return {"data": {name: data}, "per_host": False, "aggregate": False}


def _groups(hosts, reports):
    """[{"group", "hosts", states}] of the hosts with a report, by name of the group."""
    states, found = {row["host"]: state_of(row) for row in hosts}, {}
    for report in reports:
        for group in report.get("groups", ()):
            row = found.setdefault(group, dict({"group": group, "hosts": 0, "not_reached": 0}, **dict.fromkeys(
                JUDGED, 0)))
            row["hosts"] += 1
            row[states[report["host"]]] += 1
    return [found[group] for group in sorted(found)]


# A command names at most this many hosts.
MOST = 20
# Causes that fleet.json lists. Only damage that differs from node to node has more; the report of a node has its own.
LISTED = 1000
_OF_FIRST = ("cause", "short", "effect", "since", "evidence", "felt", "certainty", "class")


def causes_of(reports):
    """[{"cause", "short", "sentences", "effect", "since", "evidence", "felt", "certainty", "class", "severity",
    "blocks", "fix", "then", "checks", "hosts"}], the blocking ones first, then by what users feel. Hosts share a cause
    if its fix is the same; `sentences` are its different sentences, [{"sentence", "hosts"}], the other texts are those
    of the first host, and the commands are for the first MOST hosts."""
    found = {}
    for report in reports:
        blocking = blocking_of(report["summary"]["verdict"])
        for cause in merged(report["causes"]):
            texts = tuple(without_host(cause[name], report["host"]) for name in ("fix", "then"))
            # A finding that is its own cause has no id, but its own sentence.
            key = cause["cause"], cause["cause"] or cause["sentence"], texts, blocks(cause, blocking)
            found.setdefault(key, []).append((report["host"], cause))
    rows = [_row(texts, is_blocking, held) for (_id, _sentence, texts, is_blocking), held in found.items()]
    return sorted(rows, key=lambda row: (
        not row["blocks"], EFFECTS.index(row["felt"]), CERTAINTIES.index(row["certainty"]),
        -_finding.SEVERITIES.index(row["severity"]), -len(row["hosts"]), sentence_of(row)))


def _row(texts, is_blocking, held):
    """`held` is [(host, its cause)]."""
    hosts, first, sentences = list(dict.fromkeys(host for host, _cause in held)), held[0][1], {}
    for host, cause in held:
        sentences.setdefault(cause["sentence"], []).append(host)
    fix, then = (with_hosts(text, hosts[:MOST]) for text in texts)
    return dict({name: first[name] for name in _OF_FIRST},
                sentences=[{"sentence": text, "hosts": of} for text, of in sentences.items()],
                severity=max((cause["severity"] for _host, cause in held), key=_finding.SEVERITIES.index),
                blocks=is_blocking, fix=fix, then=then, hosts=hosts,
                checks=sorted({row["check"] for _host, cause in held for row in cause["explains"]}))


def sentence_of(cause):
    """The sentence of a cause of the fleet, without details where they differ."""
    return cause["sentences"][0]["sentence"] if len(cause["sentences"]) == 1 else cause["short"]
