# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service rules of kube-proxy's iptables mode, taken in by one regular expression. PRIVATE to the collection.

A node with 10,000 Services has 110,000 rules of four shapes; as objects they would need 200 MB. Only a rule that is printed exactly
as kube-proxy makes it, and stands where it has to, is folded; any other stays a Rule, and answers are the same either way.
Source of the shapes: kubernetes pkg/proxy/iptables/proxier.go 1.20 to 1.33, printed by iptables-nft-save and iptables-legacy-save.
"""

import re

from .ruleset import NAMELESS, Chain

_HASH = "[A-Z2-7]{16}"
_COUNTERS = r"(?:\[\d{1,20}:\d{1,20}\] )?"
# Above 1000 endpoints kube-proxy leaves the comment out; a single word is not quoted.
_TEXT = r'"[^"\\\n]{0,300}"|[\w.][\w.-]{0,300}'
_COMMENT = "(?:-m comment --comment (?:" + _TEXT + ") )?"
_RECENT = r"--name %s --mask [0-9a-f.:]{1,39} --rsource "
# A chain of a service or an endpoint.
_CHAIN = re.compile("^:(KUBE-S(?:EP|VC|VL)-" + _HASH + r") - \[\d{1,20}:\d{1,20}\]\n", re.MULTILINE)
_FOLDED = re.compile("".join((
    # Both rules of an endpoint: masquerade what comes from itself, translate to the same address.
    r"^(?:(", _COUNTERS, r"-A (?P<sep>KUBE-SEP-", _HASH, r") -s (?:(?P<four>[\d.]{7,15})/32|(?P<six>[\da-f:]{2,39})/128) ", _COMMENT,
    r"-j KUBE-MARK-MASQ)\n",
    r"(", _COUNTERS, r"-A (?P=sep) -p (?P<one>tcp|udp|sctp) ", _COMMENT, r"(?:-m recent --set ", _RECENT % "(?P=sep)",
    r")?-m (?P=one) -j DNAT --to-destination (?:(?P=four)|\[(?P=six)\]):([1-9]\d{0,4}))",
    # A rule of a service: to an endpoint by chance, to the endpoint where the client was before, or masquerading.
    r"|(", _COUNTERS, r"-A (KUBE-SV[CL]-", _HASH, r") (?:", _COMMENT, r"(?:",
    r"(?:-m statistic --mode random --probability (0\.\d{11}) )?-j (KUBE-SEP-", _HASH, r")",
    r"|-m recent --rcheck --seconds \d{1,10} --reap ", _RECENT % ("(?P<kept>KUBE-SEP-" + _HASH + ")"), r"-j (?P=kept))",
    r"|(?:! -s [\da-f.:]{2,39}/\d{1,3} )?-d [\da-f.:]{2,39}/(?:32|128) (?:! -i [\w.+-]{1,16} )?-p (?P<two>tcp|udp|sctp) ", _COMMENT,
    r"-m (?P=two) --dport [1-9]\d{0,4} -j KUBE-MARK-MASQ))",
    # A rule that sends a virtual address or a node port to its service.
    r"|(", _COUNTERS, r"-A (?:KUBE-SERVICES -d ([\da-f.:]{2,39})/(?:32|128)|KUBE-NODEPORTS) -p (?P<three>tcp|udp|sctp) ",
    r"(?:-m comment --comment (", _TEXT, r") )?-m (?P=three) --dport ([1-9]\d{0,4}) -j (KUBE-(?:SVC|SVL|EXT|FW|XLB)-", _HASH, r"))",
    r")\n")), re.MULTILINE)
_COLUMNS = _FOLDED.groups + 1
_PROTOCOLS = {name: name for name in ("tcp", "udp", "sctp")}


def is_first_half(line):
    """True for a rule that makes one fold together with the next: both have to be read at once."""
    return "-A KUBE-SEP-" in line and line.endswith(" -j KUBE-MARK-MASQ\n")


def fold_block(text, lines):
    """Takes whole lines: chains and rules to fold by themselves, all others through C(lines.line)."""
    if ":KUBE-S" in text:
        parts = _CHAIN.split(text)
        text = parts.pop()
        for before, name in zip(parts[::2], parts[1::2]):
            if before:
                _fold_rules(before, lines)
            if lines.table is None or name in lines.table.chains:
                lines.line(":%s - [0:0]" % name)
            else:
                lines.table.chains[name] = Chain(name, None, True)
                lines.number += 1
                lines.kinds["chain"] += 1
    _fold_rules(text, lines)


def _fold_rules(text, lines):
    parts = _FOLDED.split(text)
    # A row is the text before a fold and its groups; behind the last one there is only text.
    columns = [parts[column::_COLUMNS] for column in range(_COLUMNS)]
    rest = columns[0].pop()
    folder = _Folder(lines, columns)
    start, take = 0, None
    for index, (before, pair, rule) in enumerate(zip(columns[0], columns[1], columns[8])):
        kind = folder.rules_of_services if rule else folder.endpoints if pair else folder.jumps
        if before or kind != take:
            folder.fold(take, start, index)
            start, take = index, kind
            folder.others(before)
    folder.fold(take, start, len(columns[0]))
    folder.others(rest)


class _Folder(object):
    """Puts runs of like folds, rows C(start) to C(end) of the columns, into the table that is being read."""

    def __init__(self, lines, columns):
        self.lines = lines
        self.columns = columns
        self.table = None

    def others(self, text):
        """Lines that are no fold."""
        for line in text.split("\n")[:-1]:
            self.lines.line(line)

    def fold(self, take, start, end):
        """A run of folds of one kind, if the table allows; a row that may not be folded is like any other lines."""
        if start < end and self.lines.table is None:
            self._refuse(start)
            start += 1
        self.table = self.lines.table
        if start == end:
            return
        if self.table.name in ("nat", NAMELESS):
            take(start, end)
        else:
            for index in range(start, end):
                self._refuse(index)

    def endpoints(self, start, end):
        """Pairs of rules of KUBE-SEP chains; the first pair of each chain."""
        endpoints, texts = self.table.services.endpoints, []
        for index, first, name, four, six, second, protocol, port in self._rows(start, end, 1, 2, 3, 4, 5, 6, 7):
            name = self._chain(name)
            if name in endpoints:
                self._refuse(index, texts)
            else:
                endpoints[name] = (four or six, int(port), _PROTOCOLS[protocol])
                texts.append(first)
                texts.append(second)
        self.lines.folded(texts)

    def rules_of_services(self, start, end):
        """Rules of KUBE-SVC and KUBE-SVL chains: the balancing, and what has to stand before it."""
        services, texts, last = self.table.services, [], None
        known, rules = self.table.chains, None
        for index, text, name, chance, endpoint, kept in self._rows(start, end, 8, 9, 10, 11, 12):
            if name != last:
                last = name
                name = self._chain(name)
                rules = services.balancing.get(name)
            if endpoint:
                if rules is None:
                    rules = services.balancing[name] = []
                # One string in memory for all that speak of a chain.
                chain = known.get(endpoint)
                rules.append((float(chance) if chance else None, chain.name if chain else endpoint))
            elif rules:
                self._refuse(index, texts)
                continue
            elif kept:
                services.affinity.setdefault(name, []).append(known[kept].name if kept in known else kept)
            else:
                services.masquerading[name] = services.masquerading.get(name, 0) + 1
            texts.append(text)
        self.lines.folded(texts)

    def jumps(self, start, end):
        """Rules of virtual addresses in KUBE-SERVICES, and of node ports in KUBE-NODEPORTS."""
        services, known, texts = self.table.services, self.table.chains, self.columns[14][start:end]
        for _index, address, protocol, comment, port, target in self._rows(start, end, 15, 16, 17, 18, 19):
            name = self._chain("KUBE-SERVICES" if address else "KUBE-NODEPORTS")
            comment = comment.strip('"') if comment else None
            services.jumps.append((name, address, _PROTOCOLS[protocol], int(port), known[target].name if target in known else target, comment))
            if address:
                services.in_services += 1
            else:
                services.in_nodeports += 1
        self.lines.folded(texts)

    def _rows(self, start, end, *columns):
        return zip(range(start, end), *[self.columns[column][start:end] for column in columns])

    def _refuse(self, index, texts=()):
        """Reads a row as lines like any others, after C(texts) that were folded before it, which are emptied."""
        if texts:
            self.lines.folded(texts)
            del texts[:]
        for column in (1, 5, 8, 14):
            if self.columns[column][index]:
                self.lines.line(self.columns[column][index])

    def _chain(self, name):
        chain = self.table.chains.get(name)
        if chain is None:
            chain = self.table.chains[name] = Chain(name)
        return chain.name
