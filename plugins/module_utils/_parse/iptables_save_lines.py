# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of iptables-save put where they belong. PRIVATE to the collection; see iptables_save for the whole."""

import re
import sys

from . import iptables_save_fold as fold
from .iptables_save_header import WARNINGS, family_of, header_of
from .iptables_save_rule import read_rule
from .ruleset import NAMELESS, Chain, Rule, RuleSet, Table

# In characters. iptables-restore takes 10240 bytes a line (iptables/iptables-restore.c); the rest is for bytes shown as \xNN.
LINE_LIMIT = 16384
# 500,000 rules with their chains, and some more. What lies behind is not read, nor are more dumps in one text.
LINES_LIMIT = 1000000
DUMPS_LIMIT = 50
# So many characters of rules keep what was read of them; of more than that only the text is kept.
_KEPT = 1000000
# Rules are told apart by their hash, 110,000 of them collide with a chance of one in 10^9; where a hash has 32 bits, by their text.
_KEY = hash if sys.maxsize > 2 ** 32 else str

_TABLE = re.compile(r"\*([A-Za-z0-9_-]{1,32})\Z")
_CHAIN = re.compile(r":(\S+) (-|[A-Z]+)(?: \[\d+:\d+\])?\Z")
_COUNTED = re.compile(r"\[(\d{1,20}):(\d{1,20})\] (?=-A )")


def is_rule(text):
    """True for a rule line that can be read, with or without counters."""
    counted = _COUNTED.match(text)
    return read_rule(text[counted.end():] if counted else text) is not None


class Lines(object):
    """Takes one line after the other; C(kinds) says how many of which kind there were, C(number) how many in all."""

    def __init__(self, source, family, backend):
        self._given = (source, family, backend)
        self.kinds = dict.fromkeys(("table", "commit", "chain", "rule", "continued", "comment", "blank", "unread"), 0)
        self.number = 0
        self.rule_sets = []
        self.table = None
        self._headed = False        # the rule set has a header
        self._announced = False     # a header stands right before the next table
        self._family = None         # of the table, as its rules tell
        self._kept = 0              # characters of rules that keep what was read of them
        self._passed = 0            # lines behind the limit
        self._seen = set()

    def block(self, text, folding):
        """Takes whole lines at once."""
        number = text.count("\n")
        if self.number >= LINES_LIMIT:
            self._pass_over(number)
        elif folding and "KUBE-" in text and self.number + number <= LINES_LIMIT:
            fold.fold_block(text, self)
        else:
            for line in text.split("\n")[:-1]:
                self.line(line)

    def line(self, text):
        """Takes one line."""
        if self.number >= LINES_LIMIT:
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
        """Takes a last line that has no line end: in a table that is not committed nobody knows how it would go on."""
        if self.table is None or self.table.name == NAMELESS or text == "COMMIT" or text[:1] in ("", "#"):
            self.line(text)
        else:
            self.number += 1
            self.kinds[self._unread(text, "cut_off")] += 1

    def close(self):
        """[RuleSet] of all lines."""
        self._close_table("")
        if self._passed:
            self.rule_sets[-1].notice("too_many_lines", LINES_LIMIT + 1, count=self._passed)
        for rule_set in self.rule_sets:
            if rule_set.version is None and not rule_set.unreadable:
                rule_set.notice("no_header")
        return self.rule_sets

    def folded(self, texts):
        """Notes rules that were folded, each with its counters if it has them."""
        self.number += len(texts)
        self.kinds["rule"] += len(texts)
        # Counters begin with the one character that comes behind all others that a rule can begin with.
        if texts and max(texts) >= "[":
            texts = [self._uncounted(text)[0] for text in texts]
        for text in texts:
            if self._family or self._headed:
                break
            self._family = family_of(read_rule(text))
        keys = set(map(_KEY, texts))
        if len(keys) == len(texts) and self._seen.isdisjoint(keys):
            self._seen |= keys
        else:
            for text in texts:
                self._note(text.split(" ", 2)[1], text)

    def _note(self, chain, text):
        """Writes a rule down in the table that its chain has already."""
        key = _KEY(text)
        if key in self._seen:
            self.table.repeated[chain, text] = self.table.repeated.get((chain, text), 1) + 1
        else:
            self._seen.add(key)

    def _uncounted(self, text):
        """(rule without counters, (packets, bytes) or None); the table adds the packets up."""
        counted = _COUNTED.match(text)
        if not counted:
            return text, None
        counters = int(counted.group(1)), int(counted.group(2))
        if self.table is not None:
            self.table.packets = (self.table.packets or 0) + counters[0]
        return text[counted.end():], counters

    def _pass_over(self, number):
        """Counts lines behind the limit: what is read of them is that they are there."""
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
        self._headed = False
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
        return "comment"

    def _header(self, family, backend, version):
        rule_set = self._rule_set()
        backend = self._given[2] or backend
        if self._headed and (family, backend) != (rule_set.family, rule_set.backend):
            rule_set = self._next_rule_set()
        elif not self._headed and rule_set.tables and None not in (family, rule_set.family) and family != rule_set.family:
            rule_set = self._next_rule_set()
        rule_set.family = family or rule_set.family
        rule_set.backend, rule_set.version = backend, version
        self._headed = self._announced = True

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
            known, rule_set = rule_set, self._next_rule_set()
            if self._announced:
                rule_set.family, rule_set.backend, rule_set.version = known.family, known.backend, known.version
                self._headed = True
            name = NAMELESS if rule_set is known else name
        self._announced, self._family = False, None
        self.table = rule_set.tables.setdefault(name, Table(name))
        self._seen = set()

    def _close_table(self, kind):
        table, self.table = self.table, None
        self._seen = set()
        if table is None:
            return kind
        rule_set = self.rule_sets[-1]
        if not table.committed:
            rule_set.notice("no_commit", self.number, "*" + table.name)
        undeclared = [chain.name for chain in table.chains.values() if not chain.declared]
        if undeclared:
            rule_set.notice("undeclared_chain", self.number, undeclared[0], len(undeclared))
        if not self._headed and self._given[1] is None:
            self._tell_family(rule_set, table)
        return kind

    def _tell_family(self, rule_set, table):
        family = self._family
        if rule_set.family and family and family != rule_set.family:
            del rule_set.tables[table.name]
            rule_set = self._next_rule_set()
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
        chains = self._within_table(text).chains
        name, policy = found.groups()
        chain = chains.setdefault(name, Chain(name))
        if chain.declared:
            self._rule_set().notice("chain_declared_twice", self.number, text)
        chain.declared = True
        chain.policy = policy if policy != "-" else None
        return "chain"

    def _rule(self, text):
        counted = _COUNTED.match(text)
        words = read_rule(text[counted.end():] if counted else text)
        if words is None:
            return self._unread(text, "unreadable_line")
        table = self._within_table(text)
        chain = table.chains.setdefault(words.chain, Chain(words.chain))
        text, counters = self._uncounted(text)
        self._family = self._family or (None if self._headed else family_of(words))
        self._kept += len(text)
        chain.rules.append(Rule(chain.name, text, words, counters, table.services.rules_in(chain.name), self._kept <= _KEPT))
        self._note(chain.name, text)
        return "rule"
