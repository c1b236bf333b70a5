# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What iptables -L prints behind the addresses of a rule, and iptables-save for it. PRIVATE to the collection.

Forms: the print functions of extensions/libxt_*.c and libipt_*.c of iptables, compared with the output of 1.8.9.
"""

import re

_ADDRESSES = {"localhost": "127.0.0.1", "ip6-localhost": "::1", "ip6-loopback": "::1"}
_NETWORKS = {
    "localhost": "127.0.0.0", "loopback": "127.0.0.0", "link-local": "169.254.0.0", "base-address.mcast.net":
    "224.0.0.0", "ip6-localnet": "fe00::", "ip6-mcastprefix": "ff00::"}
_PORTS = {
    "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "domain": 53, "bootps": 67, "bootpc": 68, "tftp": 69, "http": 80,
    "kerberos": 88, "pop3": 110, "sunrpc": 111, "ntp": 123, "netbios-ssn": 139, "imap2": 143, "imap": 143, "snmp": 161,
    "bgp": 179, "ldap": 389, "https": 443, "microsoft-ds": 445, "submission": 587, "ipp": 631, "ldaps": 636,
    "domain-s": 853, "imaps": 993, "pop3s": 995, "ms-sql-s": 1433, "radius": 1812, "nfs": 2049, "etcd-client": 2379,
    "etcd-server": 2380, "mysql": 3306, "ms-wbt-server": 3389, "epmd": 4369, "vxlan": 4789, "mdns": 5353,
    "postgresql": 5432, "amqp": 5672, "amqps": 5671, "x11": 6000, "redis": 6379, "http-alt": 8080, "webcache": 8080,
    "bacula-fd": 9102, "git": 9418, "zabbix-agent": 10050, "memcache": 11211, "mongodb": 27017}
# A port as a number or as a name that is known; a rule with another name is not read.
PORT = r"(?:\d{1,5}|%s)" % "|".join(sorted(map(re.escape, _PORTS), key=len, reverse=True))
_MASK = 0xffffffff
_FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG")


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


def negated(option, value):
    return "! %s %s" % (option, value[1:].strip()) if value.startswith("!") else "%s %s" % (option, value)


def _ports(found):
    return "-m %s %s" % (found.group(1), " ".join(
        "%s--%sport %s" % ("! " if mark else "", side, ports_of(ports))
        for side, mark, ports in re.findall(r"([sd])pts?:(!?)(\S+)", found.group(2))))


def _mark(found):
    word, value = found.group(1), found.group(2)
    first, _slash, mask = value.partition("/")
    number = int(first, 0)
    pairs = {"or": (number, number), "xor": (number, 0), "and": (0, ~number & _MASK), "set": (number, _MASK),
             "xset": (number, int(mask or "0xffffffff", 0))}
    return "--set-xmark 0x%x/0x%x" % pairs[word]


def _flags(text):
    """The flags of TCP by name; -n prints them as a number."""
    if not text.startswith("0x"):
        return text
    number = int(text, 16)
    return ",".join(name for bit, name in enumerate(_FLAGS) if number & 1 << bit) or "NONE"


def _recent(found):
    option = {"SET": "--set", "CHECK": "--rcheck", "UPDATE": "--update", "REMOVE": "--remove"}[found.group(1)]
    seconds = " --seconds %s" % found.group(2) if found.group(2) else ""
    return "-m recent %s%s%s --name %s --mask %s --r%s" % (
        option, seconds, " --reap" if found.group(3) else "", found.group(4), found.group(6), found.group(5))


_FLAG_SET = "0x[0-9a-fA-F]{1,2}|[A-Z,]+"
# Phrases behind the addresses: (form, how iptables-save prints it); a match without printed arguments is a fixed text.
PHRASES = (
    (r"/\* (.*?) \*/", lambda found: '-m comment --comment "%s"' % re.sub(r'(["\\])', r"\\\1", found.group(1))),
    (r"(tcp|udp|sctp|dccp|udplite)((?: [sd]pts?:!?%s(?::%s)?(?= |\Z))+)" % (PORT, PORT), _ports),
    (r"(tcp )?flags:(!?)(%s)/(%s)" % (_FLAG_SET, _FLAG_SET), lambda found: "-m tcp %s--tcp-flags %s %s" % (
        "! " if found.group(2) else "", _flags(found.group(3)), _flags(found.group(4)))),
    (r"(tcp|udp|sctp)(?= |\Z)", r"-m \1"),
    (r"multiport ([sd]?ports) (!?)(\S+)", lambda found: "-m multiport %s--%s %s" % (
        "! " if found.group(2) else "", found.group(1), ports_of(found.group(3)))),
    (r"(! )?ctstate (\S+)", r"-m conntrack \1--ctstate \2"),
    (r"(! )?ctstatus (\S+)", r"-m conntrack \1--ctstatus \2"),
    (r"(! )?state (\S+)", r"-m state \1--state \2"),
    (r"mark match (! ?)?(0x[0-9a-f]+(?:/0x[0-9a-f]+)?)",
     lambda found: "-m mark %s--mark %s" % ("! " if found.group(1) else "", found.group(2))),
    (r"ADDRTYPE match ((?: ?(?:src|dst)-type !?[A-Z,]+)+)", lambda found: "-m addrtype " + " ".join(
        negated("--" + side, value) for side, value in re.findall(r"((?:src|dst)-type) (!?\S+)", found.group(1)))),
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
    (r"#conn (src|dst)/(\d+) (>|<=) (\d+)", lambda found: "-m connlimit --connlimit-%s %s --connlimit-mask %s "
     "--connlimit-%saddr" % ("above" if found.group(3) == ">" else "upto", found.group(4), found.group(2),
                             found.group(1)[0])),
    (r"limit: (above|up to) (\S+) burst (\S+)(?: mode (\S+))?(?: (?:htable|dstmask|srcmask)-?\w* \S+)*",
     lambda found: "-m hashlimit --hashlimit-%s %s --hashlimit-burst %s%s" % (
         found.group(1).replace(" ", ""), found.group(2), found.group(3),
         " --hashlimit-mode " + found.group(4).replace("-", ",") if found.group(4) else "")),
    (r"(source|destination) IP range (! ?)?(\S+)", lambda found: "-m iprange %s--%s-range %s" % (
        "! " if found.group(2) else "", "src" if found.group(1) == "source" else "dst", found.group(3))),
    (r"connmark match (! ?)? ?(0x[0-9a-f]+(?:/0x[0-9a-f]+)?)",
     lambda found: "-m connmark %s--mark %s" % ("! " if found.group(1) else "", found.group(2))),
    (r"STRING match (! ?)? ?\"(.*?)\" ALGO name (\w+)(?: FROM \d+)?(?: TO \d+)?(?: ICASE)?", lambda found: (
        '-m string %s--string "%s" --algo %s' % ("! " if found.group(1) else "", found.group(2), found.group(3)))),
    (r"length (!?)(\d+(?::\d+)?)",
     lambda found: "-m length %s--length %s" % ("! " if found.group(1) else "", found.group(2))),
    (r"(! )?(ctorigdst|ctorigsrc|ctorigdstport|ctorigsrcport|ctdir) (\S+)", r"-m conntrack \1--\2 \3"),
    (r"MAC ?(! ?)?([0-9A-Fa-f:]{17})", r"-m mac \1--mac-source \2"),
    (r"TIME from (\S+) to (\S+)(?: on \S+)*(?: UTC)?", r"-m time --timestart \1 --timestop \2"),
    (r"(?:TTL match TTL|HL match HL) (<|==|!=|>) (\d+)", lambda found: "-m ttl --ttl-%s %s" % (
        {"<": "lt", ">": "gt"}.get(found.group(1), "eq"), found.group(2))),
    (r"u32 \"(\S*)\"", r'-m u32 --u32 "\1"'), (r"quota: (\d+) bytes", r"-m quota --quota \1"),
    (r"DSCP match (0x\w+)", r"-m dscp --dscp \1"), (r"helper match \"(\S*)\"", r"-m helper --helper \1"),
    (r"PKTTYPE (!?)= (\w+)",
     lambda found: "-m pkttype %s--pkt-type %s" % ("! " if found.group(1) else "", found.group(2))),
    (r"statistic mode nth every (\d+)(?: packet (\d+))?", r"-m statistic --mode nth --every \1"),
    (r"connbytes (\S+) connbytes mode (\w+) connbytes direction (\w+)",
     r"-m connbytes --connbytes \1 --connbytes-mode \2 --connbytes-dir \3"),
    (r"esp spis?:(\S+)", r"-m esp --espspi \1"), (r"owner GID match (\S+)", r"-m owner --gid-owner \1"),
    (r"cgroup (\S+)", r"-m cgroup --cgroup \1"), (r"proto \d+", None))
# Options that belong to the target and so follow it.
ARGUMENTS = (
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
    (r"NFQUEUE num (\d+)( bypass)?(?: cpu-fanout)?", lambda found: "--queue-num %s%s" % (
        found.group(1), " --queue-bypass" if found.group(2) else "")),
    (r"NFQUEUE balance (\d+:\d+)( bypass)?(?: cpu-fanout)?", lambda found: "--queue-balance %s%s" % (
        found.group(1), " --queue-bypass" if found.group(2) else "")),
    (r"nflog-prefix +(\S+)", r"--nflog-prefix \1"), (r"nflog-group (\d+)", r"--nflog-group \1"),
    (r"TPROXY redirect (\S+?):(\d+) mark (\S+)", r"--on-port \2 --on-ip \1 --tproxy-mark \3"),
    (r"TTL set to (\d+)", r"--ttl-set \1"), (r"DSCP set (\S+)", r"--set-dscp \1"),
    (r"CLASSIFY set (\S+)", r"--set-class \1"), (r"CHECKSUM fill", "--checksum-fill"),
    (r"CT helper (\S+)", r"--helper \1"),
    (r"CONNMARK (save|restore)(?: mask (\S+))?", lambda found: "--%s-mark%s" % (
        found.group(1), " --mask " + found.group(2) if found.group(2) else "")),
    (r"CONNMARK set (0x[0-9a-f]+)", r"--set-xmark \1/0xffffffff"),
    (r"CONNMARK (?:xset|and|or|xor) (0x[0-9a-f]+(?:/0x[0-9a-f]+)?)", r"--set-xmark \1"))
PHRASES = tuple((re.compile(form), put) for form, put in PHRASES)
ARGUMENTS = tuple((re.compile(form), put) for form, put in ARGUMENTS)
TO = {"DNAT": "--to-destination %s", "SNAT": "--to-source %s", "NETMAP": "--to %s"}
