# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a rule that iptables-save prints without a match has none in the kernel either.

iptables-nft-save leaves out matches that it cannot express: the set of a native nft rule, or, before 1.8.8, marks and
ports that a newer iptables wrote. nft prints them. nft is run only for chains that have an observation, and not for a
rule that refuses or hides something by a match that was printed."""

import re

from ..._host.host import OK
from ..._parse.iptables.save_rule import read_rule
from ..._rules.kube_proxy.lost_match import NO_PORT, NO_SET
from ..._rules.observation import place_of

KINDS = ("anchor_shadowed", "lost_match", "unexpected_drop")
LIST_SECONDS, LIST_LIMIT, CHAINS_LIMIT = 30.0, 8 * 1024 * 1024, 8
FAMILIES = {"ipv4": "ip", "ipv6": "ip6"}
# What nft prints before the verdict of a rule without a match: its comment and its counter.
_NO_MATCH = re.compile(r'^(?:(?:xt match "comment"|counter packets \d+ bytes \d+) ?)+')
# How a port or a set is printed that iptables-save may have left out of a rule with other matches.
_LOST = re.compile(r'\bdport\b|@|xt match "(?!comment|addrtype)')
# How nft writes a target of iptables (nft(8), statements). A rule without a match begins with its target, any other
# rule begins with its match.
_STATEMENTS = {"MARK": ("meta mark set", "mark set")}


def confirmed(host, rules, observations, more):
    """(observations, more), as of ask(), without the observations that nft refutes; a chain that cannot be listed is
    recorded in `rules.unread`. If a chain has more observations than were kept, the kept ones decide for the others."""
    kept, answers, refuted = [], {}, set()
    for row in observations:
        words = _to_ask(row)
        if words is None:
            kept.append(row)
            continue
        place = (row["family"], row["table"], row["chain"])
        if place not in answers:
            answers[place] = _statements(host, place) if len(answers) < CHAINS_LIMIT else None
            if answers[place] is None:
                rules.miss("nft_" + row["family"], None, "iptables-save prints a rule of %s without a match, and nft, "
                                                         "which would show one, could not be asked" % row["chain"],
                           row["table"])
        if answers[place] is not None and any(_confirms(words, line) for line in answers[place]):
            kept.append(row)
        else:
            refuted.add(place_of(row))
    refuted.difference_update(place_of(row) for row in kept)
    return kept, {place: count for place, count in more.items() if place not in refuted}


def _to_ask(row):
    """The parts of a rule whose match may be missing in the output, otherwise None."""
    if row["kind"] not in KINDS or row["backend"] != "nft" or row["family"] not in FAMILIES or " " in row["table"]:
        return None
    words = read_rule(row["text"])
    if words is None or words.target is None or ((words.options or words.matches)
                                                 and not row["detail"].startswith((NO_PORT, NO_SET))):
        return None
    return words


def _confirms(words, line):
    """True if the rule that nft prints has this target and also lacks the match that iptables-save did not print."""
    target = words.target
    written = _STATEMENTS.get(target,
                              (target.lower(),)) + ("jump %s" % target, "goto %s" % target, 'xt target "%s"' % target)
    if words.options or words.matches:
        return any(" %s " % text in " %s " % line for text in written) and not _LOST.search(line)
    return line.startswith(written)


def _statements(host, place):
    """The rules of a chain as nft prints them, without their counters; None where nft does not answer."""
    family, table, chain = place
    answer = host.run(["nft", "list", "chain", FAMILIES[family], table, chain], LIST_SECONDS, LIST_LIMIT)
    if answer.status != OK or answer.rc != 0:
        return None
    inside = [line.strip() for line in answer.out.splitlines() if line.startswith("\t\t")]
    return [_NO_MATCH.sub("", line) for line in inside if not line.startswith(("type ", "comment "))]
