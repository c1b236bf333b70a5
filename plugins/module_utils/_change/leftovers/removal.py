# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes the chains of kube-proxy and kubelet from one table, and restores them. PRIVATE to the collection.

Each is one transaction of iptables-restore --noflush, which changes only the chains that it names. Built-in chains are
never declared, so their policies and counters stay. A rule is deleted by its text and never by its number, so rules
that were inserted in the meantime stay. kube-proxy itself removes its stale chains in such a transaction (kubernetes
pkg/proxy/iptables/proxier.go).
"""

import re

from ..._parse.iptables.save_rule import read_rule
from ..._rules.own_chains import is_own

# The matches that kube-proxy and kubelet use in their jumps, if any (their jump tables, 1.20 to 1.30).
_NEW_ONLY = (("conntrack", "--ctstate"), ("state", "--state"))
_TARGET = re.compile(r" -[jg] (\S+)")


class Removal:
    """`chains` to remove, with their rules, and the `jumps` to them: [(built-in chain, number in it, text, packets,
    bytes)].

    `foreign`: rules of other programs that lead to one of these chains, so that the chain cannot be deleted.
    """

    def __init__(self, table, raw):
        self.table = table
        self.chains = [chain for chain in raw.chains if is_own(table, chain)]
        self.rules = {chain: raw.rules.get(chain, []) for chain in self.chains}
        self.jumps, self.foreign = [], []
        own = frozenset(self.chains)
        for chain in sorted(raw.rules) if own else ():
            if chain not in own:
                self._look_at(raw, chain, own)

    def _look_at(self, raw, chain, own):
        for number, (text, packets, size) in enumerate(raw.rules[chain], 1):
            words = read_rule(text)
            if own.isdisjoint([words.target] if words else _TARGET.findall(text)):
                continue
            if words and chain in raw.built_in and _is_anchor(words):
                self.jumps.append((chain, number, text, packets, size))
            else:
                self.foreign.append(text)

    def __bool__(self):
        return bool(self.chains)

    def text(self):
        """Input for iptables-restore --noflush: first the jumps are deleted, then the chains emptied, then the chains
        deleted."""
        lines = ["*" + self.table]
        lines += ["-D" + text[2:] for _chain, _number, text, _packets, _size in self.jumps]
        lines += [":%s - [0:0]" % chain for chain in self.chains]
        lines += ["-X " + chain for chain in self.chains]
        return "\n".join(lines + ["COMMIT", ""])

    def back(self, raw):
        """Input for iptables-restore --noflush --counters that restores all missing chains and jumps; None where
        nothing is missing.

        `raw`: the present table, or None without a table. A chain that exists was not removed, or another program has
        created it again: it stays as it is.
        """
        there = set(raw.chains) if raw else set()
        gone = [chain for chain in self.chains if chain not in there]
        lines = [":%s - [0:0]" % chain for chain in gone]
        lines += ["[%d:%d] %s" % (packets, size, text) for chain in gone for text, packets, size in self.rules[chain]]
        now = {chain: raw.texts(chain) for chain in raw.built_in} if raw else {}
        left = {chain: list(texts) for chain, texts in now.items()}
        for chain, number, text, packets, size in self.jumps:
            if text in left.get(chain, ()):
                left[chain].remove(text)
                continue
            rules = now.setdefault(chain, [])
            place = min(number, len(rules) + 1)
            rules.insert(place - 1, text)
            lines.append("[%d:%d] -I %s %d%s" % (packets, size, chain, place, text[len("-A " + chain):]))
        return "\n".join(["*" + self.table] + lines + ["COMMIT", ""]) if lines else None

    def lines(self):
        """The removed rules, as iptables-save prints them."""
        return [text for _chain, _number, text, _packets, _size in self.jumps] + [
            line for chain in self.chains
            for line in [":%s -" % chain] + [text for text, _packets, _size in self.rules[chain]]]


def _is_anchor(words):
    """Whether a rule is a jump without a match, or with a match for new connections only: only kube-proxy and kubelet
    write these. Jumps of other programs have further matches."""
    if words.options or words.goto or words.arguments:
        return False
    return all(len(options) == 1 and (name, options[0][0]) in _NEW_ONLY and options[0][1] == ["NEW"]
               and not options[0][2] for name, options in words.matches)
