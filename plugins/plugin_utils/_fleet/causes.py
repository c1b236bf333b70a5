# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The causes of a fleet: a cause that many hosts share is one, with its hosts and one fix. PRIVATE to the
collection."""

from .. import _finding
from .._causes.catalogue import CERTAINTIES, EFFECTS
from .._causes.verdict import blocking_of, blocks
from .._render.screen import merged, with_hosts, without_host

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
