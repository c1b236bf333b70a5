# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that iptables -L without -n prints in place of numbers. PRIVATE to the collection.

Of networks and hosts the ones of /etc/hosts and /etc/networks; any other name stays as it is, because
only the resolver of that node knows it. Of ports those of /etc/services (IANA) that Services use most.
"""

import re

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


def address_of(value):
    """The address or network that a name stands for, with the `!` before it; any other value as it is."""
    name, slash, bits = value.lstrip("!").partition("/")
    known = (_NETWORKS if slash else _ADDRESSES).get(name, name)
    return ("!" if value.startswith("!") else "") + known + slash + bits


def ports_of(text):
    """Ports, separated by commas and colons, with numbers for known names."""
    return "".join(str(_PORTS.get(word, word)) for word in re.split(r"([,:])", text))
