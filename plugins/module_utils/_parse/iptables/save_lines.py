# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sorts the lines of iptables-save into tables, chains and rules. PRIVATE to the collection; save.py is the reader."""

import re

from . import save_fold as fold
from .ruleset import BARE, NAMELESS, Rule, RuleSet, Table, fingerprint
from .save_header import UNPRINTED, WARNINGS, family_of, header_of
from .save_rule import COUNTERS, read_rule, repeats_with_reason

# In characters. iptables-restore accepts 10240 bytes per line (iptables/iptables-restore.c); the rest is for \xNN.
LINE_LIMIT = 16384
# Enough for somewhat more than 500,000 rules with their chains. Lines and dumps beyond these limits are not read.
LINES_LIMIT = 1000000
DUMPS_LIMIT = 50
# Bytes that the contents of a dump may take until all queries are answered: enough for 500,000 rules as firewalls and
# kube-proxy write them. Lines beyond that are not read. Sizes of objects are measured ones (CPython 3.11, 64
# bits).
ROOM = 121 * 1000 * 1000
_OF_RULE, _OF_CHAIN, _OF_FOLDED_CHAIN, _OF_OWN_CHAIN = 155, 240, 180, 400
# This many characters of rules are kept as parsed objects; later rules are packed.
_KEPT = 1000000
# This many repeated rules of a table are kept with their text; further ones are only counted per chain.
REPEATED_LIMIT = 1000

_TABLE = re.compile(r"\*([A-Za-z0-9_-]{1,32})\Z")
_CHAIN = re.compile(r":(\S+) (-|[A-Z]+)(?: \[(\d{1,20}):\d+\])?\Z")
_FILTERED = re.compile(r"# ?(?:sudo )?(?:\S{1,40}/)?ip6?tables\S{0,20} [^|]{0,200}\|")


class Lines:
    """Takes one line after the other; `kinds` counts the lines of each kind, `number` all of them."""

    def __init__(self, source, family, backend):
        self._given = (source, family, backend)
        self.kinds = dict.fromkeys(("table", "commit", "chain", "rule", "continued", "comment", "blank", "unread"), 0)
        self.number, self.rule_sets, self.table = 0, [], None
        self._headed = False        # the rule set has a header
        self._named = False         # which names its family; xtables-save does not
        self._announced = False     # a header stands right before the next table
        self._family = None         # of the table, by its rules
        self.taken = 0              # of ROOM
        self._kept = 0              # characters of the rules that were not folded
        self._packed = None         # the rules after the kept ones
        self._passed = 0            # lines beyond the limit
        self._forget()

    def _forget(self):
        """Forget the rules before the next table."""
        self._seen = set()          # keys of the rules that were read
        self.noted = set()          # chains whose folded rules are all in _seen
        self.names = {}             # of its chains, each mapped to itself

    def block(self, text, folding):
        """Takes whole lines at once."""
        if self.number >= LINES_LIMIT or self.taken >= ROOM:
            self._pass_over(text.count("\n"))
            return
        if text.startswith("[") or "\n[" in text:
            text = COUNTERS.sub("", text)
        if folding and "KUBE-" in text and self._may_take(text):
            fold.fold_block(text, self)
        else:
            for line in text.split("\n")[:-1]:
                self.line(line)

    def _may_take(self, text):
        # A text has at most as many lines as characters; counting those of 12 MB takes 6 ms.
        return self.number + len(text) <= LINES_LIMIT or self.number + text.count("\n") <= LINES_LIMIT

    def line(self, text):
        """Takes one line."""
        if self.number >= LINES_LIMIT or self.taken >= ROOM:
            self._pass_over(1)
            return
        self.number += 1
        first = text[:1]
        if len(text) > LINE_LIMIT:
            kind = self._unread(text, "oversized_line")
        elif not first:
            kind = "blank"
        elif first == "#":
            kind = self._comment(text)
        elif first == ":":
            kind = self._chain(text)
        elif text.startswith("-A ") or first == "[":
            kind = self._rule(text)
        elif first == "*":
            kind = self._open_table(text)
        elif text == "COMMIT" and self.table is not None:
            self.table.committed = True
            kind = self._close_table("commit")
        else:
            kind = self._unread(text, "unreadable_line")
        self.kinds[kind] += 1

    def joined(self, lines):
        """Takes the lines of one rule whose comment holds line ends."""
        self.line("\n".join(lines))
        self.number += len(lines) - 1
        self.kinds["continued"] += len(lines) - 1

    def cut_line(self, text):
        """Takes a last line that has no line end: in a table without COMMIT the rest of the line is unknown."""
        if self.table is None or self.table.name == NAMELESS or text == "COMMIT" or text[:1] in ("", "#"):
            self.line(text)
        else:
            self.number += 1
            self.kinds[self._unread(text, "cut_off")] += 1

    def close(self):
        """[RuleSet] of all lines."""
        self._close_table("")
        if self._passed:
            self.rule_sets[-1].notice("too_many_lines", self.number - self._passed + 1, count=self._passed)
        for rule_set in self.rule_sets:
            if rule_set.version is None and not rule_set.unreadable:
                rule_set.notice("no_header")
        return self.rule_sets

    def folded(self, number, taken):
        """Counts rules that were folded, and the bytes of `ROOM` that they take."""
        self.number += number
        self.kinds["rule"] += number
        self.taken += taken

    def declared(self, number):
        """Counts chains that have no rule yet."""
        self.number += number
        self.kinds["chain"] += number
        self.taken += number * _OF_FOLDED_CHAIN

    @property
    def family_known(self):
        """Whether the family of the table is known already."""
        return bool(self._named or self._family)

    def tell_family(self, text):
        """Takes the family of the table from a rule, unless it is known."""
        if not self.family_known:
            self._family = family_of(read_rule(text))

    def note_all(self, texts):
        """Records rules to find repeated ones. Returns whether each is the first of its kind, None if all are."""
        keys = set(map(fingerprint, texts))
        if len(keys) == len(texts) and self._seen.isdisjoint(keys):
            self._seen |= keys
            return None
        return [self._note(text.split(" ", 2)[1], text) for text in texts]

    def _note(self, chain, text):
        key = fingerprint(text)
        if key not in self._seen:
            self._seen.add(key)
            return True
        if (chain, text) in self.table.repeated or len(self.table.repeated) < REPEATED_LIMIT:
            self.table.repeated[chain, text] = self.table.repeated.get((chain, text), 1) + 1
        elif not repeats_with_reason(read_rule(text)):
            self.table.repeated_more[chain] = self.table.repeated_more.get(chain, 0) + 1
        return False

    def note_folded(self, chain):
        """Records the folded rules of a chain, the present and all later ones, which another rule may repeat.

        Such repetitions are rare, so rules that can be rebuilt from the folded form are not recorded before that (30 ms
        for 110,000 rules).
        """
        if chain not in self.noted:
            self.noted.add(chain)
            self._seen.update(map(fingerprint, fold.texts_of(chain, self.table.services)))

    def _pass_over(self, number):
        """Counts lines beyond the limit, which are not read."""
        self.number += number
        self._passed += number
        self.kinds["unread"] += number
        self._rule_set()
        if self.table is not None:
            self.table.unread += number

    def _rule_set(self):
        if not self.rule_sets:
            self.rule_sets.append(RuleSet(*self._given))
        return self.rule_sets[-1]

    def _next_rule_set(self):
        if len(self.rule_sets) >= DUMPS_LIMIT:
            self.rule_sets[-1].notice("too_many_dumps", self.number)
            return self.rule_sets[-1]
        self.rule_sets.append(RuleSet(*self._given))
        self._headed = self._named = False
        return self.rule_sets[-1]

    def _unread(self, text, kind):
        self._rule_set().notice(kind, self.number, text)
        if self.table is not None:
            self.table.unread += 1
        return "unread"

    def _comment(self, text):
        header = header_of(text)
        if header:
            self._close_table("")
            self._header(*header)
        for kind, pattern in WARNINGS:
            found = pattern.match(text)
            if found:
                self._warning(kind, text, found)
        # The prompt of root looks like a comment: what a filter passed on is no whole dump, see dump_forms.py.
        return self._unread(text, "unreadable_line") if _FILTERED.match(text) else "comment"

    def _header(self, family, backend, version):
        rule_set = self._rule_set()
        backend = self._given[2] or backend
        if self._headed and (family or rule_set.family, backend) != (rule_set.family, rule_set.backend):
            rule_set = self._next_rule_set()
        elif not self._headed and rule_set.tables and None not in (family,
                                                                   rule_set.family) and family != rule_set.family:
            rule_set = self._next_rule_set()
        rule_set.family = family or rule_set.family
        rule_set.backend, rule_set.version = backend, version
        self._headed = self._announced = True
        self._named = family is not None

    def _warning(self, kind, text, found):
        self._close_table("")
        rule_set = self._rule_set()
        name = found.group(1) if kind == "incompatible_table" else None
        if name and (name in rule_set.tables or name in rule_set.unreadable):
            rule_set = self._next_rule_set()
        rule_set.notice(kind, self.number, text)
        if name:
            rule_set.unreadable.append(name)

    def _open_table(self, text):
        found = _TABLE.match(text)
        if not found:
            return self._unread(text, "unreadable_line")
        self._close_table("")
        self._begin(found.group(1))
        return "table"

    def _begin(self, name):
        rule_set = self._rule_set()
        if name != NAMELESS and name in rule_set.tables:
            known, named, rule_set = rule_set, self._named, self._next_rule_set()
            if self._announced:
                rule_set.family, self._headed, self._named = known.family if named else rule_set.family, True, named
                rule_set.backend, rule_set.version = known.backend, known.version
            name = NAMELESS if rule_set is known else name
        self._announced, self._family = False, None
        self.table = rule_set.tables.setdefault(name, Table(name))
        self._forget()
        if self.table.chains:
            self.noted.update(self.table.chains)

    def _close_table(self, kind):
        table, self.table = self.table, None
        self._forget()
        if table is None:
            return kind
        table.services.settle()
        rule_set = self.rule_sets[-1]
        if not table.committed:
            rule_set.notice("no_commit", self.number, "*" + table.name)
        undeclared = [name for name, chain in table.chains.items() if not chain.declared]
        if undeclared:
            rule_set.notice("undeclared_chain", self.number, undeclared[0], len(undeclared))
        if not self._named and self._given[1] is None:
            self._tell_family(rule_set, table)
        return kind

    def _tell_family(self, rule_set, table):
        family = self._family
        if rule_set.family and family and family != rule_set.family:
            del rule_set.tables[table.name]
            known, rule_set, headed = rule_set, self._next_rule_set(), self._headed
            if headed:
                rule_set.backend, rule_set.version, self._headed = known.backend, known.version, True
            rule_set.tables[table.name] = table
        rule_set.family = family or rule_set.family

    def _within_table(self, text):
        if self.table is None:
            self._begin(NAMELESS)
            self._rule_set().notice("no_table_line", self.number, text)
        return self.table

    def _chain(self, text):
        found = _CHAIN.match(text)
        if not found:
            return self._unread(text, "unreadable_line")
        table = self._within_table(text)
        chains = table.chains
        name, policy, packets = found.groups()
        if name not in chains:
            self.taken += _OF_CHAIN
        if name not in chains and policy == "-":
            chains[name] = BARE
            return "chain"
        if name in chains and chains[name].declared:
            self._rule_set().notice("chain_declared_twice", self.number, text)
        elif name in chains:
            # No program prints that: the lines are sorted.
            self._rule_set().notice("chain_declared_late", self.number, text)
        chain = table.own_chain(name)
        chain.declared = True
        chain.policy = policy if policy != "-" else None
        chain.packets = int(packets or 0)
        return "chain"

    def _rule(self, text):
        rule = COUNTERS.sub("", text, 1)
        words = None if UNPRINTED in rule else read_rule(rule)
        if words is None:
            return self._unread(text, "unsupported_revision" if UNPRINTED in rule else "unreadable_line")
        table = self._within_table(text)
        name = words.chain
        before = table.services.rules_in(name)
        if before:
            self.note_folded(name)
        self._family = self._family or (None if self._named else family_of(words))
        chain = table.own_chain(name)
        self._kept += len(rule)
        self.taken += len(rule) + (_OF_RULE if chain.rules else _OF_RULE + _OF_OWN_CHAIN)
        if self._kept <= _KEPT:
            chain.rules.append(Rule(name, rule, words, before))
        else:
            self._pack(name, chain, rule, words, before)
        self._note(name, rule)
        return "rule"

    def _pack(self, name, chain, *rule):
        # Compiled only for dumps with so many rules.
        from .packed_rules import PackedRules, PackedTexts
        if self._packed is None:
            self._packed = PackedTexts()
        if isinstance(chain.rules, list):
            chain.rules = PackedRules(name, self._packed, chain.rules)
        chain.rules.add(*rule)
