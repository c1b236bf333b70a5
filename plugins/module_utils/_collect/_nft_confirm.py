# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a rule that iptables-save prints without a match has none in the kernel either. PRIVATE to the collection.

iptables-nft-save leaves out what it cannot express: the set of a native nft rule, or, before 1.8.8, marks and ports that a newer
iptables wrote. nft prints them. It is asked only for chains of which something is to be said.
"""

import re

from .. import _host

KINDS = ("anchor_shadowed", "lost_match", "unexpected_drop")
LIST_SECONDS = 30.0
LIST_LIMIT = 8 * 1024 * 1024
CHAINS_LIMIT = 8
FAMILIES = {"ipv4": "ip", "ipv6": "ip6"}
_COUNTER = re.compile(r"^counter packets \d+ bytes \d+ ?")
_TARGET = re.compile(r" -[jg] (\S+)")
# How nft writes a target of iptables (nft(8), statements). A rule without a match begins with it, another with what it looks at.
_STATEMENTS = {"MARK": ("meta mark set", "mark set")}


def confirmed(host, rules, observations):
    """The observations without those that nft refutes; what nobody can confirm goes into C(rules.unread)."""
    kept, answers = [], {}
    for row in observations:
        if row["kind"] not in KINDS or row["backend"] != "nft" or row["family"] not in FAMILIES or " " in row["table"] or not row["text"]:
            kept.append(row)
            continue
        place = (row["family"], row["table"], row["chain"])
        if place not in answers:
            answers[place] = _statements(host, place) if len(answers) < CHAINS_LIMIT else None
            if answers[place] is None:
                rules.miss("nft_" + row["family"], None, "iptables-save prints a rule of %s without a match, and nft, which would show one, could not "
                           "be asked" % row["chain"], row["table"])
        if answers[place] is not None and any(line.startswith(_written(row["text"])) for line in answers[place]):
            kept.append(row)
    return kept


def _written(text):
    """What nft begins a rule with that has this target and no match."""
    targets = _TARGET.findall(text)
    target = targets[-1] if targets else ""
    return _STATEMENTS.get(target, (target.lower(),)) + ("jump %s" % target, "goto %s" % target, 'xt target "%s"' % target)


def _statements(host, place):
    """The rules of a chain as nft prints them, without their counters; None where nft is not there or does not answer."""
    family, table, chain = place
    answer = host.run(["nft", "list", "chain", FAMILIES[family], table, chain], LIST_SECONDS, LIST_LIMIT)
    if answer.status != _host.OK or answer.rc != 0:
        return None
    inside = [line.strip() for line in answer.out.splitlines() if line.startswith("\t\t")]
    return [_COUNTER.sub("", line) for line in inside if not line.startswith(("type ", "comment "))]
