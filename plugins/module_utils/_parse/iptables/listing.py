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

from .fragment_table import ALL_BUILT_IN, is_whole, table_of_chains, table_of_rule
from .save_header import SaveText
from .save_lines import LINE_LIMIT

_ADDRESSES = {"localhost": "127.0.0.1", "ip6-localhost": "::1", "ip6-loopback": "::1"}
_NETWORKS = {
    "localhost": "127.0.0.0", "loopback": "127.0.0.0", "link-local": "169.254.0.0", "base-address.mcast.net":
    "224.0.0.0", "ip6-localnet": "fe00::", "ip6-mcastprefix": "ff00::",
}
_PORTS = {
    "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "domain": 53, "bootps": 67, "bootpc": 68, "tftp": 69, "http": 80,
    "kerberos": 88, "pop3": 110, "sunrpc": 111, "ntp": 123, "netbios-ssn": 139, "imap2": 143, "imap": 143, "snmp": 161,
    "bgp": 179, "ldap": 389, "https": 443, "microsoft-ds": 445, "submission": 587, "ipp": 631, "ldaps": 636,
    "domain-s": 853, "imaps": 993, "pop3s": 995, "ms-sql-s": 1433, "radius": 1812, "nfs": 2049, "etcd-client": 2379,
    "etcd-server": 2380, "mysql": 3306, "ms-wbt-server": 3389, "epmd": 4369, "vxlan": 4789, "mdns": 5353,
    "postgresql": 5432, "amqp": 5672, "amqps": 5671, "x11": 6000, "redis": 6379, "http-alt": 8080, "webcache": 8080,
    "bacula-fd": 9102, "git": 9418, "zabbix-agent": 10050, "memcache": 11211, "mongodb": 27017,
}
# A port as a number or as a name that is known; a rule with another name is not read.
PORT = r"(?:\d{1,5}|%s)" % "|".join(sorted(map(re.escape, _PORTS), key=len, reverse=True))
CHAIN = re.compile(r"Chain (\S+) \((?:policy ([A-Z]+)(?: (\d+)([KMGT]?) packets, (\d+)([KMGT]?) bytes)?|(\d+) "
                   r"references)\)\Z")
HEADER = re.compile(r"(num +)?(pkts +bytes +)?target +prot +(opt +)?(in +out +)?source +destination\Z")
_UNITS = {"": 1, "K": 1000, "M": 1000 ** 2, "G": 1000 ** 3, "T": 1000 ** 4}
_PROTOCOLS = {"0": "all", "1": "icmp", "6": "tcp", "17": "udp", "33": "dccp", "50": "esp", "51": "ah",
              "58": "ipv6-icmp", "132": "sctp", "136": "udplite"}
_NAMES = frozenset(_PROTOCOLS.values()) | {"ipv6-icmp", "icmpv6", "ipencap", "gre"}
_OPTION = re.compile(r"(--|!?-f|----)\Z")
_EVERYWHERE = ("0.0.0.0/0", "::/0", "anywhere")
_FAMILIES = {"0.0.0.0/0": "ipv4", "::/0": "ipv6"}
_VERDICTS = ("ACCEPT", "DROP", "REJECT", "RETURN", "QUEUE")
_MASK = 0xffffffff


# Names that iptables -L without -n prints in place of numbers.
# Of networks and hosts the ones of /etc/hosts and /etc/networks; any other name stays as it is, because only the
# resolver of that node knows it. Of ports those of /etc/services (IANA) that Services use most.

def address_of(value):
    """The address or network that a name stands for, with the `!` before it; any other value as it is."""
    name, slash, bits = value.lstrip("!").partition("/")
    known = (_NETWORKS if slash else _ADDRESSES).get(name, name)
    return ("!" if value.startswith("!") else "") + known + slash + bits


def ports_of(text):
    """Ports, separated by commas and colons, with numbers for known names."""
    return "".join(str(_PORTS.get(word, word)) for word in re.split(r"([,:])", text))


class _Unprinted(ValueError):
    """A rule that the listing does not print completely, or that cannot be translated."""


def _negated(option, value):
    return "! %s %s" % (option, value[1:].strip()) if value.startswith("!") else "%s %s" % (option, value)


def _ports(found):
    protocol, options = found.group(1), []
    for side, mark, ports in re.findall(r"([sd])pts?:(!?)(\S+)", found.group(2)):
        options.append("%s--%sport %s" % ("! " if mark else "", side, ports_of(ports)))
    return "-m %s %s" % (protocol, " ".join(options))


def _mark(found):
    word, value = found.group(1), found.group(2)
    first, _slash, mask = value.partition("/")
    number = int(first, 0)
    pairs = {"or": (number, number), "xor": (number, 0), "and": (0, ~number & _MASK), "set": (number, _MASK),
             "xset": (number, int(mask or "0xffffffff", 0))}
    return "--set-xmark 0x%x/0x%x" % pairs[word]


def _recent(found):
    option = {"SET": "--set", "CHECK": "--rcheck", "UPDATE": "--update", "REMOVE": "--remove"}[found.group(1)]
    seconds = " --seconds %s" % found.group(2) if found.group(2) else ""
    return "-m recent %s%s%s --name %s --mask %s --r%s" % (
        option, seconds, " --reap" if found.group(3) else "", found.group(4), found.group(6), found.group(5))


# Phrases that may follow the addresses: (form, how iptables-save prints it). A match without printed arguments becomes
# a fixed text.
_PHRASES = (
    (r"/\* (.*?) \*/", lambda found: '-m comment --comment "%s"' % re.sub(r'(["\\])', r"\\\1", found.group(1))),
    (r"(tcp|udp|sctp|dccp|udplite)((?: [sd]pts?:!?%s(?::%s)?(?= |\Z))+)" % (PORT, PORT), _ports),
    (r"(tcp|udp|sctp)(?= |\Z)", r"-m \1"),
    (r"(tcp )?flags:(!?)(\S+)/(\S+)",
     lambda found: "-m tcp %s--tcp-flags %s %s" % ("! " if found.group(2) else "", found.group(3), found.group(4))),
    (r"multiport ([sd]?ports) (!?)(\S+)", lambda found: "-m multiport %s--%s %s" % (
        "! " if found.group(2) else "", found.group(1), ports_of(found.group(3)))),
    (r"(! )?ctstate (\S+)", r"-m conntrack \1--ctstate \2"),
    (r"(! )?ctstatus (\S+)", r"-m conntrack \1--ctstatus \2"),
    (r"(! )?state (\S+)", r"-m state \1--state \2"),
    (r"mark match (! ?)?(0x[0-9a-f]+(?:/0x[0-9a-f]+)?)",
     lambda found: "-m mark %s--mark %s" % ("! " if found.group(1) else "", found.group(2))),
    (r"ADDRTYPE match ((?: ?(?:src|dst)-type !?[A-Z,]+)+)", lambda found: "-m addrtype " + " ".join(
        _negated("--" + side, value) for side, value in re.findall(r"((?:src|dst)-type) (!?\S+)", found.group(1)))),
    (r"statistic mode random probability (\d\.\d+)", r"-m statistic --mode random --probability \1"),
    (r"recent: (SET|CHECK|UPDATE|REMOVE)(?: seconds: (\d+))?( reap)? name: (\S+) side: (source|dest) mask: (\S+)",
     _recent),
    (r"(! )?match-set (\S+) (\S+)", r"-m set \1--match-set \2 \3"),
    (r"(?:PHYSDEV match ((?:--\S+ ?)+))", r"-m physdev \1"),
    (r"limit: avg (\S+) burst (\d+)", r"-m limit --limit \1 --limit-burst \2"),
    (r"owner UID match (\S+)", r"-m owner --uid-owner \1"),
    (r"policy match dir (in|out) pol (none|ipsec)", r"-m policy --dir \1 --pol \2"),
    (r"rpfilter( validmark| loose| invert)*", "-m rpfilter"),
    (r"nfacct-name +(\S+)", r"-m nfacct --nfacct-name \1"),
    (r"(?:icmp|ipv6-icmp|icmp6)(?:type| type) (\d+)(?: code \d+)?", r"-m icmp --icmp-type \1"),
)
# Options that belong to the target and so follow it.
_ARGUMENTS = (
    (r"reject-with (\S+)", r"--reject-with \1"),
    (r"to:(\S+)", None),
    (r"redir ports (\S+)", r"--to-ports \1"),
    (r"masq ports: (\S+)", r"--to-ports \1"),
    (r"(random-fully|random|persistent)", r"--\1"),
    (r"MARK (or|xor|and|set|xset) (0x[0-9a-f]+(?:/0x[0-9a-f]+)?)", _mark),
    (r"LOG flags (\d+) level (\d+)(?: prefix \"(.*?)\")?", r'--log-level \2 --log-prefix "\3"'),
    (r"CT notrack|NOTRACK", "--notrack"),
    (r"TCPMSS clamp to PMTU", "--clamp-mss-to-pmtu"),
    (r"TCPMSS set (\d+)", r"--set-mss \1"),
)
_PHRASES = tuple((re.compile(form), put) for form, put in _PHRASES)
_ARGUMENTS = tuple((re.compile(form), put) for form, put in _ARGUMENTS)
_TO = {"DNAT": "--to-destination %s", "SNAT": "--to-source %s", "NETMAP": "--to %s"}


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
    rows, bare = _without_interfaces(rows)
    unread += bare
    built_in = set(names) & ALL_BUILT_IN
    tables = [table_of_rule(row.chain, row.target) for row in rows]
    table = table or table_of_chains(built_in) or next((name for name in tables if name),
                                                       None) or ("filter" if "FORWARD" in built_in else None)
    whole = is_whole(table, built_in) and not cut and _all_references(chains, rows, unread)
    text = SaveText(table, [(chain.name, chain.policy, chain.packets, chain.bytes) for chain in chains if chain.policy],
                    [chain.name for chain in chains if not chain.policy], _texts(rows), unread, whole,
                    family=_family(rows))
    text.unreferenced = [chain.name for chain in chains if chain.references == 0]
    return text


def _family(rows):
    """Family of the addresses: the listing prints addresses even for rules without any."""
    return next((_FAMILIES[value] for row in rows for value in row.everywhere if value in _FAMILIES), None)


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
        if not row.with_interfaces and row.target in _VERDICTS and not row.matches:
            bare.append("-A %s -j %s: iptables -L without -v does not print interfaces" % (row.chain, row.target))
        else:
            kept.append(row)
    return kept, bare


def _texts(rows):
    """The rules as iptables-save prints them. Equal ones may differ in an interface that was not printed; those of
    kube-proxy and kubelet name none."""
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
        for form, put in _ARGUMENTS:
            found = form.match(rest)
            if found:
                if put is None:
                    put = (_TO.get(self.target) or "--to %s") % found.group(1)
                    self.arguments.append(put)
                else:
                    self.arguments.append(put(found) if callable(put) else found.expand(put))
                return found, None
        for form, put in _PHRASES:
            found = form.match(rest)
            if found:
                return found, put(found) if callable(put) else found.expand(put)
        return None, None

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
        found.append(_negated(option, value))
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
