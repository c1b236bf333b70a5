# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Contents of an iptables-save dump: rule sets, tables, chains and rules. PRIVATE to the collection.

Most rules of a big node are a few kinds of kube-proxy rules, repeated thousands of times. `Services` holds them in a
compact form (see save_fold.py); `references`, `rule_counts` and `duplicates` of a table count all rules, folded or not.
"""

import functools
import itertools
import sys

# Name of a table whose `*name` line is missing.
NAMELESS = ""
# Rules are compared by hash: among 500,000 rules the chance of a collision is one in 10^8. Where a hash has 32 bits: by
# text.
fingerprint = hash if sys.maxsize > 2 ** 32 else str


@functools.lru_cache(maxsize=64)
def _read_again(text):
    """Cache of parsed rules, for several queries about the same rule."""
    from .save_rule import read_rule
    return read_rule(text)


class RuleWords:
    """The parsed words of a rule with a `text`."""

    __slots__ = ()

    def words(self):
        """`Words`, parsed from the text if they were not kept."""
        return _read_again(self.text)

    @property
    def options(self):
        """`{"-s": (value, negated)}`: the options among `-s`, `-d`, `-i`, `-o`, `-p`, `-f` that are present."""
        return self.words().options

    @property
    def matches(self):
        """[(match name, [(option, [values], negated)])] without the comment match."""
        return self.words().matches

    @property
    def arguments(self):
        """[(option, [values], negated)] of the target."""
        return self.words().arguments

    @property
    def comment(self):
        """The comment without quotes and escapes, or None."""
        return self.words().comment

    def value(self, option):
        """First value of an option among matches and arguments, or None; an empty text without value."""
        for _match, options in self.matches + [("", self.arguments)]:
            for name, values, _negated in options:
                if name == option:
                    return values[0] if values else ""
        return None


class Rule(RuleWords):
    """One rule of a dump; of very large dumps only the first rules are objects (see packed_rules).

    `chain`, `text` (from `-A` on, without counters), `target` (None without one), `goto` (True for `-g`), `has_match`
    (any option or match besides the comment), `has_arguments` (of the target) and `folded_before` (number of rules of
    its chain before it that were folded into `Services`).
    """

    __slots__ = ("chain", "text", "target", "goto", "has_match", "has_arguments", "folded_before", "_words")

    def __init__(self, chain, text, words, folded_before=0):
        self.chain, self.text, self.folded_before = chain, text, folded_before
        self.target, self.goto, self.has_arguments = words.target, words.goto, bool(words.arguments)
        self.has_match, self._words = bool(words.options or words.matches), words

    def words(self):
        """`Words` as they were read."""
        return self._words


class Chain:
    """`policy` (None for a user chain), `packets` (counter of the policy), `declared` (it had its `:` line), `rules`
    that were not folded (a list, or an object used like a list)."""

    __slots__ = ("policy", "packets", "declared", "rules")

    def __init__(self, policy=None, declared=False):
        self.policy, self.packets, self.declared, self.rules = policy, 0, declared, []


# Shared by all user chains that are declared and have only folded rules, or none: of 40,000 chains all but 20.
BARE = Chain(None, True)
BARE.rules = ()


class Services:
    """Canonical service rules of kube-proxy's iptables mode, in a compact form.

    `jumps`: [(chain, address or None for a node port, protocol, port, target, first word of the comment or None)] of
    KUBE-SERVICES and KUBE-NODEPORTS; a repeated rule is listed once, its copies count in `copies` {target: number};
    `balancing`: {KUBE-SVC or KUBE-SVL chain: ((probability or None, ...), (KUBE-SEP chain, ...))}, one each per rule,
    in order; `endpoints`: {KUBE-SEP chain: (address, port, protocol)}, each a complete pair of KUBE-MARK-MASQ and DNAT;
    `affinity`: {KUBE-SVC or KUBE-SVL chain: [KUBE-SEP chain]}, the `recent --rcheck` rules before the balancing;
    `noting`: the KUBE-SEP chains of `endpoints` that record their clients for the affinity (`recent --set`);
    `masquerading`: {chain: number of rules to KUBE-MARK-MASQ} of service traffic, before the balancing;
    `titles`: {KUBE-SVC or KUBE-SVL chain: first word of the comment of its balancing}, where it has comments;
    `comments`: {chain: what its folded rules have beside that}, where they are needed to rebuild the rules.
    """

    __slots__ = ("jumps", "copies", "balancing", "endpoints", "affinity", "noting", "masquerading", "titles",
                 "comments", "in_services", "in_nodeports")

    def __init__(self):
        self.jumps, self.copies, self.noting = [], {}, set()
        self.balancing, self.endpoints, self.affinity, self.masquerading = {}, {}, {}, {}
        self.titles, self.comments = {}, {}
        self.in_services = self.in_nodeports = 0

    def add_balancing(self, chain, chance, endpoint):
        """Adds one rule to those of a chain; settle() brings the collected lists into their final form."""
        chances, endpoints = self.balancing.get(chain, ((), ()))
        if not isinstance(chances, list):
            chances, endpoints = self.balancing[chain] = list(chances), list(endpoints)
        chances.append(chance)
        endpoints.append(endpoint)

    def add_other(self, chain, kept):
        """Adds a rule that precedes the balancing; `kept`: the endpoint of an affinity rule, None for a
        masquerade rule."""
        if kept:
            self.affinity.setdefault(chain, []).append(kept)
        else:
            self.masquerading[chain] = self.masquerading.get(chain, 0) + 1

    def settle(self):
        """Called when no more rules follow."""
        for chain, (chances, endpoints) in self.balancing.items():
            if isinstance(chances, list):
                self.balancing[chain] = tuple(chances), tuple(endpoints)

    def rules_in(self, chain):
        """How many rules of a chain were folded."""
        direct = {"KUBE-SERVICES": self.in_services, "KUBE-NODEPORTS": self.in_nodeports}.get(chain, 0)
        return (direct + self.masquerading.get(chain, 0) + len(self.affinity.get(chain, ()))
                + len(self.balancing.get(chain, ((), ()))[1]) + (2 if chain in self.endpoints else 0))

    def led_to(self):
        """The chains of endpoints that rules of Services lead to, with repetitions."""
        balanced = itertools.chain.from_iterable(endpoints for _chances, endpoints in self.balancing.values())
        return itertools.chain(balanced, itertools.chain.from_iterable(self.affinity.values()))

    def targets(self):
        """The chains and extensions that folded rules lead to, without those of led_to()."""
        found = {jump[4] for jump in self.jumps}
        if self.masquerading or self.endpoints:
            found.add("KUBE-MARK-MASQ")
        if self.endpoints:
            found.add("DNAT")
        return found

    def add_references(self, counts, wanted=None):
        """Adds to `counts`, `{target: number of rules}`, for all or for the `wanted` targets."""
        for target in itertools.chain([jump[4] for jump in self.jumps], self.led_to()):
            if wanted is None or target in wanted:
                counts[target] = counts.get(target, 0) + 1
        masquerading = sum(self.masquerading.values()) + len(self.endpoints)
        for target, number in [("KUBE-MARK-MASQ", masquerading),
                               ("DNAT", len(self.endpoints))] + list(self.copies.items()):
            if number and (wanted is None or target in wanted):
                counts[target] = counts.get(target, 0) + number

    def add_rule_counts(self, counts):
        """Adds to `{chain: number of rules}`; every chain is there already."""
        for chain in self.endpoints:
            counts[chain] += 2
        for chain, (_chances, endpoints) in self.balancing.items():
            counts[chain] += len(endpoints)
        for chain, endpoints in self.affinity.items():
            counts[chain] += len(endpoints)
        direct = (("KUBE-SERVICES", self.in_services), ("KUBE-NODEPORTS", self.in_nodeports))
        for chain, number in itertools.chain(self.masquerading.items(), direct):
            if number:
                counts[chain] += number


class Table:
    """`name` (`NAMELESS` where its line is lost), `chains` {name: Chain}, `committed` (COMMIT seen), `unread` (lines in
    it that could not be read), `services`, `repeated` {(chain, text of a rule): times} of the first repeated rules,
    `repeated_more` {chain: copies too many} of further ones.
    """

    __slots__ = ("name", "chains", "committed", "unread", "services", "repeated", "repeated_more", "_counts",
                 "_unfolded")

    def __init__(self, name):
        self.name, self.chains, self.committed, self.unread, self.services = name, {}, False, 0, Services()
        self.repeated, self.repeated_more = {}, {}
        self._counts = self._unfolded = None

    @property
    def complete(self):
        """Every rule of the table is known. In an incomplete table nothing may be reported as missing."""
        return self.committed and not self.unread and self.name != NAMELESS

    def own_chain(self, name):
        """The Chain of that name, to add something to it; created if it is missing or only `BARE`."""
        chain = self.chains.get(name)
        if chain is None or chain is BARE:
            chain = self.chains[name] = Chain(None, chain is BARE)
        return chain

    def references(self, wanted=None):
        """`{target: number of rules that jump or go to it}`, of all or of `wanted` targets, DNAT and the like too."""
        counts = {}
        for rule in self._rules():
            target = rule.target
            if target is not None and (wanted is None or target in wanted):
                counts[target] = counts.get(target, 0) + 1
        self.services.add_references(counts, wanted)
        return counts

    def targets(self, endpoints=True):
        """The chains that rules lead to, and all targets of folded rules; `endpoints`: with those of led_to()."""
        found = self.services.targets().union(rule.target for rule in self._rules() if rule.target in self.chains)
        if endpoints:
            found.update(self.services.led_to())
        return found

    def dangling(self):
        """The targets of folded rules that are not chains of the table: extensions, and chains that are missing."""
        found = self.services.targets().difference(self.chains)
        found.update(itertools.filterfalse(self.chains.__contains__, self.services.led_to()))
        return found

    def _rules(self):
        return itertools.chain.from_iterable(chain.rules for chain in self.chains.values() if chain is not BARE)

    def rule_counts(self):
        """`{chain: number of rules}`, counted at the first call, when the table is complete, and kept."""
        if self._counts is None:
            self._counts = dict.fromkeys(self.chains, 0)
            self.services.add_rule_counts(self._counts)
            for name, chain in self.chains.items():
                if chain is not BARE:
                    self._counts[name] += len(chain.rules)
        return self._counts

    def unfolded(self):
        """The sorted names of the chains with rules that were not folded, about 20 of 40,000; kept like the counts."""
        if self._unfolded is None:
            self._unfolded = sorted([name for name, chain in self.chains.items() if chain is not BARE and chain.rules])
        return self._unfolded

    def duplicates(self):
        """[(chain, rule text, times)] of rules that occur more than once in their chain."""
        return [(chain, text, times) for (chain, text), times in self.repeated.items()]


class RuleSet:
    """One dump: `family` (ipv4, ipv6 or None), `backend` (nft, legacy or None), `source`, `version` of the iptables
    that printed it, `tables` {name: Table}, `notices` {kind: count}, `examples` [(kind, line number, text)],
    `unreadable` names of tables whose rules nft can list and iptables cannot: they are unknown, not absent.
    `unreferenced`: [(table, chain)] that a listing shows without a reference, whatever it shows of the rest.
    """

    __slots__ = ("family", "backend", "source", "version", "tables", "notices", "examples", "unreadable",
                 "unreferenced")

    def __init__(self, source, family=None, backend=None):
        self.family, self.backend, self.source, self.version, self.tables = family, backend, source, None, {}
        self.notices, self.examples, self.unreadable, self.unreferenced = {}, [], [], []

    def notice(self, kind, line=0, text="", count=1):
        """Count something odd; the first few are kept as examples, cut to a safe length."""
        self.notices[kind] = self.notices.get(kind, 0) + count
        if len(self.examples) < 5:
            self.examples.append((kind, line, text[:200]))
