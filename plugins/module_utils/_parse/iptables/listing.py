# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of `iptables -L -n -v`, translated into lines of iptables-save. PRIVATE to the collection.

Sample:
    Chain FORWARD (policy DROP 12 packets, 3456 bytes)
     pkts bytes target        prot opt in   out   source        destination
        0     0 KUBE-FORWARD  all  --  *    *     0.0.0.0/0     0.0.0.0/0    /* kubernetes forwarding rules */
    Chain KUBE-FORWARD (1 references)
Grammar: iptables/iptables.c list_entries(), print_firewall(), the print functions of extensions/. Without `-v` iptables
prints no interfaces, so a verdict that seems to apply to every packet may apply to one interface only.
"""

import re

from .listing_phrases import ARGUMENTS, PHRASES, TO, address_of, negated
from .save_header import ALL_BUILT_IN, SaveText, is_whole, table_of_chains, table_of_rule
from .save_lines import LINE_LIMIT

CHAIN = re.compile(r"Chain (\S+) \((?:policy ([A-Z]+)(?: (\d{1,20})([KMGT]?) packets, (\d{1,20})([KMGT]?) bytes)?|"
                   r"(\d{1,9}) references)\)\Z")
HEADER = re.compile(r"(num +)?(pkts +bytes +)?target +prot +(opt +)?(in +out +)?source +destination\Z")
_UNITS = {"": 1, "K": 1000, "M": 1000 ** 2, "G": 1000 ** 3, "T": 1000 ** 4}
_PROTOCOLS = {"0": "all", "1": "icmp", "6": "tcp", "17": "udp", "33": "dccp", "50": "esp", "51": "ah",
              "58": "ipv6-icmp", "132": "sctp", "136": "udplite"}
_NAMES = frozenset(_PROTOCOLS.values()) | {"ipv6-icmp", "icmpv6", "ipencap", "gre"}
_OPTION = re.compile(r"(--|!?-f|----)\Z")
_EVERYWHERE = ("0.0.0.0/0", "::/0", "anywhere")
_FAMILIES = {"0.0.0.0/0": "ipv4", "::/0": "ipv6"}
_VERDICTS = ("ACCEPT", "DROP", "REJECT", "RETURN", "QUEUE")
# A row of kube-proxy without the head of its chain, as `iptables -L | grep` prints it: each chain of kube-proxy in
# filter that has such rules refuses packets to a Service without endpoints (kubernetes pkg/proxy/iptables/proxier.go).
_REFUSED = re.compile(r"(?:\d+[KMGT]? +){0,3}REJECT +\S+ +.{4,300}/\* \S{3,600} has no endpoints \*/ ")


class _Unprinted(ValueError):
    """A rule that the listing does not print completely, or that cannot be translated."""


class _Chain:
    def __init__(self, found):
        self.name, self.policy = found.group(1), found.group(2)
        self.packets, self.bytes = [int(found.group(index) or 0) * _UNITS[found.group(index + 1) or ""]
                                    for index in (3, 5)]
        self.references = None if found.group(7) is None else int(found.group(7))


def save_text_of(lines, table=None, cut=False):
    """`SaveText` of the lines of one listing. `table` is the table that the command names; `cut`: the last line has no
    line end."""
    chains, rows, unread, columns, current = [], [], [], None, None
    last = len(lines) - 1
    for number, line in enumerate([line.strip() for line in lines]):
        chain, header = CHAIN.match(line), HEADER.match(line)
        if chain:
            current = _Chain(chain)
            chains.append(current)
        elif header:
            columns = header
        elif line and current is not None:
            try:
                if (cut and number == last) or len(line) > LINE_LIMIT:
                    raise _Unprinted(line)
                rows.append(_Row(current.name, line, columns))
            except _Unprinted:
                unread.append("-A %s %s" % (current.name, line))
    names = [chain.name for chain in chains]
    if any(row.lost_its_end for row in rows):
        # Who shortened one row shortened all.
        unread, rows = unread + [row.text() for row in rows], []
    rows, bare = _without_interfaces(rows)
    unread += bare
    built_in = set(names) & ALL_BUILT_IN
    tables = [table_of_rule(row.chain, row.target) for row in rows]
    table = table or table_of_chains(built_in) or next((name for name in tables if name),
                                                       None) or ("filter" if "FORWARD" in built_in else None)
    # Headings of chains without any heading of columns or row were picked out of a listing.
    whole = (is_whole(table, built_in) and not cut and bool(columns or rows)
             and _all_references(chains, rows, unread))
    # Addresses are printed even of rules without any.
    families = (_FAMILIES[value] for row in rows for value in row.everywhere if value in _FAMILIES)
    text = SaveText(table, [(chain.name, chain.policy, chain.packets, chain.bytes) for chain in chains if chain.policy],
                    [chain.name for chain in chains if not chain.policy], _texts(rows), unread, whole,
                    family=next(families, None))
    text.unreferenced = [chain.name for chain in chains if chain.references == 0]
    return text


def refused_services(line):
    """The rule of KUBE-SERVICES in a row without the head of its chain, as iptables-save prints it, or None."""
    if not _REFUSED.match(line):
        return None
    columns = HEADER.match(("num " if len(re.match(r"(?:\d\S* +)*", line).group(0).split()) in (1, 3) else "")
                           + ("pkts bytes " if re.match(r"(?:\d+ +)?\d\S* +\d\S* +[A-Z]", line) else "")
                           + "target prot " + ("opt " if " -- " in line else "") + "source destination")
    try:
        return _Row("KUBE-SERVICES", line, columns).text()
    except _Unprinted:
        return None


def _all_references(chains, rows, unread):
    """True if as many rules lead to each chain as its header reports: no rule is missing after a cut."""
    counts = {}
    for row in rows:
        counts[row.target] = counts.get(row.target, 0) + 1
    return bool(unread) or all(chain.references in (None, counts.get(chain.name, 0)) for chain in chains)


def _without_interfaces(rows):
    """(rows, texts of the rules that may be limited to an interface that was not printed)."""
    kept, bare = [], []
    for row in rows:
        if not row.with_interfaces and row.target in _VERDICTS and not row.matches and not row.ends_firewall:
            bare.append("-A %s -j %s: iptables -L without -v does not print interfaces" % (row.chain, row.target))
        else:
            kept.append(row)
    return kept, bare


def _texts(rows):
    """The rules as iptables-save prints them. Equal ones may differ in an interface, except those of Kubernetes."""
    found, seen = [], set()
    for row in rows:
        text = row.text()
        if row.with_interfaces or text not in seen or "KUBE-" in row.chain + (row.target or ""):
            found.append(text)
        seen.add(text)
    return found


class _Row:
    """One rule; raises _Unprinted if it cannot be translated completely."""

    def __init__(self, chain, line, columns):
        self.chain = chain
        number, counters, _opt, interfaces = columns.groups() if columns else (None, "pkts bytes ", "opt ", "in out ")
        self.with_interfaces = bool(interfaces)
        rest = line
        for present, count in ((number, 1), (counters, 2)):
            if present:
                rest = _skipped(rest, count)
        words = rest.split()
        self.target = None if _is_protocol(words, 0) and not _is_protocol(words, 1) else words[0] if words else None
        if self.target is not None:
            rest = _skipped(rest, 1)
        protocol, rest = _word(rest)
        negated, protocol = protocol.startswith("!"), protocol.lstrip("!")
        protocol = _PROTOCOLS.get(protocol, protocol)
        self.protocol = "%s-p %s" % ("! " if negated else "", protocol) if protocol != "all" else ""
        if _OPTION.match(_word(rest)[0]):
            rest = _skipped(rest, 1)
        places = []
        for option in (("-i", "-o") if interfaces else ()) + ("-s", "-d"):
            value, rest = _word(rest)
            if not value:
                raise _Unprinted(line)
            places.append((option, address_of(value) if option in ("-s", "-d") else value))
        self.everywhere = [value for option, value in places if option in ("-s", "-d")]
        self.options = _options(places) + ([self.protocol] if self.protocol else [])
        self.phrases, self.matches, self.arguments, self.goto = [], list(self.options), [], False
        self._read_rest(rest.strip(), line)

    def _read_rest(self, rest, line):
        while rest:
            if rest.startswith("[goto]"):
                self.goto, rest = True, rest[6:].strip()
                continue
            found, text = self._phrase(rest)
            if found is None:
                raise _Unprinted(line)
            if text is not None:
                self.phrases.append(text)
                if not text.startswith("-m comment"):
                    self.matches.append(text)
            rest = rest[found.end():].strip()

    def _phrase(self, rest):
        for form, put in ARGUMENTS:
            found = form.match(rest)
            if found:
                if put is None:
                    put = (TO.get(self.target) or "--to %s") % found.group(1)
                    self.arguments.append(put)
                else:
                    self.arguments.append(put(found) if callable(put) else found.expand(put))
                return found, None
        for form, put in PHRASES:
            found = form.match(rest)
            if found:
                return found, put(found) if callable(put) else put and found.expand(put)
        return None, None

    @property
    def lost_its_end(self):
        """Whether the row is kube-proxy's last one of KUBE-SERVICES without its ADDRTYPE, which every iptables prints:
        the ends of the lines were cut off."""
        return self.chain == "KUBE-SERVICES" and self.target == "KUBE-NODEPORTS" and not self.matches and any(
            "NOTE: this must be the last rule" in phrase for phrase in self.phrases)

    @property
    def ends_firewall(self):
        """Whether it is the last rule of Red Hat's firewall, without interface (/etc/sysconfig/iptables, firewalld)."""
        return self.chain in ("INPUT", "FORWARD") and self.arguments == ["--reject-with icmp-host-prohibited"]

    def text(self):
        """The rule as iptables-save prints it."""
        order = ["-s", "-d", "-i", "-o", "-p"]
        options = sorted(self.options, key=lambda text: order.index(text.replace("! ", "")[:2]))
        target = ["%s %s" % ("-g" if self.goto else "-j", self.target)] if self.target else []
        return " ".join(["-A " + self.chain] + options + self.phrases + target + self.arguments).replace("  ", " ")


def _options(places):
    found = []
    for option, value in places:
        if value in _EVERYWHERE or (option in ("-i", "-o") and value in ("*", "any")):
            continue
        if option in ("-s", "-d") and "/" not in value:
            value += "/128" if ":" in value else "/32"
        found.append(negated(option, value))
    return found


def _is_protocol(words, index):
    return len(words) > index and (words[index].lstrip("!") in _PROTOCOLS or words[index].lstrip("!") in _NAMES)


def _word(text):
    """(first word, the rest)."""
    text = text.lstrip()
    word, _blank, rest = text.partition(" ")
    return word, rest


def _skipped(text, count):
    for _index in range(count):
        text = _word(text)[1]
    return text
