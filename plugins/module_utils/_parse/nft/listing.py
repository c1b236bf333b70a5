# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of `nft list` for chains, a chain, map, set or table, read as it arrives. PRIVATE to the collection.

Sample:
    table ip kube-proxy {
        comment "rules for kube-proxy"
        map service-ips {
            type ipv4_addr . inet_proto . inet_service : verdict
            elements = { 10.96.0.1 . tcp . 443 : goto service-2QRHZV4L-default/kubernetes/tcp/https,
                         10.96.0.10 . udp . 53 : goto service-FY5PMXPG-kube-system/kube-dns/udp/dns }
        }
        chain nat-prerouting {
            type nat hook prerouting priority dstnat; policy accept;
            jump services
        }
    }
All five print the same blocks; `list chains` leaves the rules out (nftables src/rule.c, src/set.c). Of a rule only its
targets are kept, so that a table of 100,000 rules needs little memory.
"""

import re

from .statements import ElementReader, balances, base_chain, leads_to, share_of, without_quoted

LINE_LIMIT = 4 * 1024 * 1024
# Limit of lines of one rule.
WRAPS_LIMIT = 10000
# This many rule texts of a chain are kept; of chains of Services only texts of rules that decide on a packet.
TEXTS_LIMIT = 50
EXAMPLES_LIMIT = 5
EXAMPLE_LENGTH = 200

_ENDING = re.compile("(?:^| )(?:accept|drop|reject|return|redirect|notrack|queue)(?: |$)")
_AFFINITY = re.compile(r"@(affinity-[^\s{}]+)")
# Only addresses and a port may precede the jump or map. A map with other content is read by the general parser.
_COMMON = re.compile(
    r"(?:ip6? [sd]addr (?:!= )?[^\s@{}]+ |(?:tcp|udp|sctp) dport \d+ )*(?:(?:jump|goto) ([^\s,;{}]+)|meta l4proto \w+ "
    r"dnat to (\[[^\]\s]+\]:\d+|[\d.]+:\d+)|(?:meta l4proto \w+ dnat ip6? to )?numgen random mod (\d+) v?map \{ (\d+ : "
    r"(?:goto [^\s,;{}]+|[0-9a-f.:]+ \. \d+)(?:, \d+ : (?:goto [^\s,;{}]+|[0-9a-f.:]+ \. \d+))*) \})\Z")
_OPENED = re.compile(r"^(table|chain|set|map|meter|counter|quota|limit|secmark|synproxy|flowtable|ct "
                     r"\w+|tunnel)\s+(.*\S)\s*\{(?:\s*#.*)?$")
_PROPERTY = re.compile(r"^(type|typeof|flags|timeout|gc-interval|size|policy|comment|counter|auto-merge|quota|limit|"
                       r"last|devices)\b")


class Chain:
    """`type`, `hook`, `priority` (a number), `policy`: None of a regular chain. `rules`: number, None: not listed.

    `targets`: names of chains that its rules jump or go to. `otherwise`: the target of a `goto` without any match.
    `endpoints`: addresses with ports that its rules translate to. `share`: (modulus, number of elements) of the map
    that balances, None without one. `texts`: the first rules. `affinity`: names of the sets of clients
    (sessionAffinity) that its rules read or write.
    """

    __slots__ = ("name", "type", "hook", "priority", "policy", "rules", "targets", "otherwise", "endpoints", "share",
                 "texts", "affinity")

    def __init__(self, name):
        self.name = name
        self.type = self.hook = self.priority = self.policy = self.rules = self.otherwise = self.share = None
        self.targets = self.endpoints = self.texts = self.affinity = ()

    @property
    def is_base(self):
        return self.hook is not None


class Set:
    """A set or map (`kind`) with its `elements`, a list of elements.Element; `complete` once its end was seen."""

    __slots__ = ("kind", "name", "elements", "complete")

    def __init__(self, kind, name):
        self.kind, self.name, self.elements, self.complete = kind, name, [], False


class Table:
    """`family` as nft names it (ip, ip6, inet, ...), `name`, `flags`, `chains` {name: Chain}, `sets` {name: Set}."""

    __slots__ = ("family", "name", "flags", "chains", "sets", "complete")

    def __init__(self, family, name):
        self.family, self.name = family, name
        self.flags = ()
        self.chains, self.sets, self.complete = {}, {}, False


class ListingReader:
    """`feed(bytes)` as often as there is output, then `close()`: {(family, name): Table}.

    `whole(family, name)` returns whether a table is wanted with all its content; of other tables only the base chains
    are kept. `rules`: whether this listing prints rules; `texts`: how many rule texts of a chain are kept, and their
    length. `notices` {kind: count} and `examples` [(kind, line number, text)] list what was not understood.
    """

    def __init__(self, whole=lambda family, name: True, rules=True, texts=(TEXTS_LIMIT, EXAMPLE_LENGTH)):
        self.tables, self.notices, self.examples = {}, {}, []
        self._whole, self._rules, self._texts = whole, rules, texts
        self._rest, self._skipping, self._number = b"", False, 0
        self._table, self._keep, self._block, self._depth = None, False, None, 0
        # The method that takes the next line, by its place in the listing.
        self._take = self._outside
        self._open_rule, self._open_braces, self._elements = [], 0, None

    def feed(self, chunk):
        lines, _newline, self._rest = (self._rest + chunk).rpartition(b"\n")
        for line in lines.decode("utf-8", "replace").split("\n") if _newline else ():
            self._number += 1
            if self._skipping:
                self._skipping = False
            elif len(line) > LINE_LIMIT:
                self._notice("oversized_line", line)
            else:
                line = line.strip()
                if line and line[0] != "#":
                    self._take(line)
        if len(self._rest) > LINE_LIMIT:
            if not self._skipping:
                self._notice("oversized_line", self._rest)
            self._skipping, self._rest = True, b""

    def close(self):
        """The tables; an incomplete end becomes a notice."""
        if self._rest:
            self.feed(b"\n")
        if self._table is not None:
            self._notice("cut_off", b"")
        self._table = None
        return self.tables

    def _notice(self, kind, line):
        self.notices[kind] = self.notices.get(kind, 0) + 1
        if len(self.examples) < EXAMPLES_LIMIT:
            text = line[:EXAMPLE_LENGTH].decode("utf-8",
                                                "replace") if isinstance(line, bytes) else line[:EXAMPLE_LENGTH]
            self.examples.append((kind, self._number, text))

    def _outside(self, line):
        opened = _OPENED.match(line)
        words = opened.group(2).split(None, 1) if opened and opened.group(1) == "table" else ()
        if len(words) != 2:
            self._notice("unreadable_line", line)
            return
        self._keep = self._whole(*words)
        self._table = self.tables.setdefault(tuple(words), Table(*words))
        self._take = self._in_table

    def _in_table(self, line):
        opened = _OPENED.match(line)
        if line == "}":
            self._table.complete, self._table = True, None
            self._take = self._outside
        elif opened and opened.group(1) == "chain":
            self._block, self._take = Chain(opened.group(2)), self._in_chain
            self._block.rules = 0 if self._rules else None
            if self._keep:
                self._table.chains[self._block.name] = self._block
        elif opened and opened.group(1) in ("set", "map"):
            self._block, self._take = Set(*opened.groups()), self._in_set
            if self._keep:
                self._table.sets[self._block.name] = self._block
        elif opened and opened.group(1) != "table":
            self._depth, self._take = 1, self._pass_over
        elif line.startswith("flags "):
            self._table.flags = tuple(line[6:].rstrip(";").replace(",", " ").split())
        elif not line.startswith("comment "):
            self._notice("unreadable_line", line)

    def _pass_over(self, line):
        """Counters, flow tables and the like, which are skipped."""
        self._depth += 1 if line.endswith("{") else -1 if line == "}" else 0
        if not self._depth:
            self._take = self._in_table

    def _in_chain(self, line):
        if not self._open_rule:
            if line == "}":
                self._block, self._take = None, self._in_table
                return
            if line.startswith(("type ", "comment ")):
                self._header(line)
                return
        if self._keep and self._rules:
            self._rule_part(line)

    def _rule_part(self, line):
        """Takes a line of a rule: its last line, unless an opened set continues."""
        if "{" not in line and not self._open_rule:
            self._rule(line)
            return
        plain = without_quoted(line)
        self._open_braces += plain.count("{") - plain.count("}")
        if self._open_rule or self._open_braces > 0:
            self._open_rule.append(line)
        if len(self._open_rule) > WRAPS_LIMIT:
            self._notice("unreadable_line", self._open_rule[0])
        if self._open_braces <= 0 or len(self._open_rule) > WRAPS_LIMIT:
            line, self._open_rule, self._open_braces = " ".join(self._open_rule) or line, [], 0
            self._rule(line)

    def _header(self, line):
        if line.startswith("type "):
            found = base_chain(line)
            if found is None:
                self._notice("unreadable_line", line)
                return
            self._block.type, self._block.hook, self._block.priority, self._block.policy = found
            self._table.chains[self._block.name] = self._block

    def _rule(self, line):
        chain, plain = self._block, without_quoted(line)
        chain.rules += 1
        if "/" in chain.name and _take_common(chain, line):
            return
        targets, endpoints = leads_to(plain)
        if plain.startswith("goto ") and targets:
            chain.otherwise = targets[0]
        chain.share = share_of(plain) or chain.share
        # Lists are created when needed: most chains lead to one target.
        chain.targets = _extended(chain.targets, targets)
        chain.endpoints = _extended(chain.endpoints, endpoints)
        if "@affinity-" in plain:
            chain.affinity = _extended(chain.affinity, tuple(_AFFINITY.findall(plain)))
        if ("/" not in chain.name or _ENDING.search(plain)) and len(chain.texts) < self._texts[0]:
            chain.texts = _extended(chain.texts, (line[:self._texts[1]],))

    def _in_set(self, line):
        if line == "}":
            self._block.complete, self._block, self._take = True, None, self._in_table
        elif line.startswith("elements = {"):
            self._elements, self._take = ElementReader(self._block.elements.append
                                                       if self._keep else lambda element: None), self._more_elements
            self._more_elements(line[len("elements = {"):])
        elif not _PROPERTY.match(line):
            self._notice("unreadable_line", line)

    def _more_elements(self, line):
        for text in self._elements.line(line):
            self._notice("unreadable_element", text)
        if self._elements.done:
            self._elements, self._take = None, self._in_set


def _take_common(chain, line):
    """Whether a rule has one of the forms of nearly all chains of Services; then it is added to `chain`."""
    found = _COMMON.match(line)
    if not found:
        return False
    target, endpoint, modulus, elements = found.groups()
    if target:
        chain.targets = _extended(chain.targets, (target,))
        if line.startswith("goto "):
            chain.otherwise = target
    elif endpoint:
        chain.endpoints = _extended(chain.endpoints, (endpoint,))
    else:
        targets, endpoints = balances(elements)
        chain.targets, chain.endpoints = _extended(chain.targets, targets), _extended(chain.endpoints, endpoints)
        chain.share = int(modulus), len(targets) + len(endpoints)
    return True


def _extended(some, more):
    """`some`, followed by `more`; a tuple is returned as it is, a list grows in place."""
    if not more or not some:
        return more or some
    some = some if isinstance(some, list) else list(some)
    some.extend(more)
    return some
