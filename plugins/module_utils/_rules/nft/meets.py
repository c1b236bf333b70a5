# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a condition of an nft rule holds for a packet of a Service: True, False, or None where that cannot be judged.
PRIVATE to the collection.

A packet is the first packet of a connection. A condition that holds only for some packets (a rate, TCP flags), for
other protocols or for the interface of another program's bridge never refuses a whole Service.
"""

import collections
import ipaddress

# address: an ipaddress object, None for an address of the node itself (NodePort). translated: after kube-proxy's DNAT.
Packet = collections.namedtuple("Packet", "family address port protocol translated")

VALUES_LIMIT = 1000
_PODS = ("cni", "cbr", "cali", "lxc", "cilium", "flannel", "veth", "eni", "weave", "kube-bridge", "azv", "vxlan",
         "tunl", "geneve", "ovn", "antrea", "nodelocaldns")
_OTHERS = ("lo", "docker", "br-", "virbr", "lxdbr", "incusbr", "podman", "vmbr", "tun", "tap", "wg", "tailscale",
           "nerdctl")
_INTERFACES = ("iifname", "oifname", "iif", "oif")
_PROTOCOLS = {"6": "tcp", "17": "udp", "132": "sctp"}
_OF_OTHERS = ("icmp", "icmpv6", "igmp", "ether", "arp", "vlan", "rt", "ah", "esp", "pkttype", "exthdr")


class Judge:
    """`sets`: the sets of the table. `sources`: the addresses of pods that are tried, by family. `own`: the addresses
    of the node, by family."""

    def __init__(self, sets, sources, own):
        self._sets, self._sources, self._own = sets, sources, own
        self._networks = {}

    def holds(self, rule, packet, refuses):
        """True, False or None for all conditions of a rule; `refuses`: it would harm the packet."""
        result = True
        for condition in rule.conditions:
            held = self.one(condition, packet, refuses)
            if held is False:
                return False
            result = held and result
        if result is None and refuses and packet.port is not None and self._names_it(rule, packet):
            return True
        return result

    def _names_it(self, rule, packet):
        """True if only interfaces are not known, and the rule names the port or the address of this packet."""
        opened = [condition.keys for condition in rule.conditions if self.one(condition, packet, True) is None]
        named = [key for condition in rule.conditions if not condition.negated for key in condition.keys
                 if key.endswith((" daddr", " dport"))]
        return bool(named) and all(keys and set(keys) <= set(_INTERFACES) for keys in opened)

    def one(self, condition, packet, refuses):
        """The same for one condition."""
        if not condition.keys:
            return None
        if condition.keys[0] == "limit":
            return False if refuses else None
        if any(key.startswith(("ip ", "ip6 ")) and key.split(" ")[0] != packet.family for key in condition.keys):
            return False  # The rule matches only packets of the other family.
        values = self._values(condition)
        if values is None:
            return None
        found = False
        for words in values:
            held = self._all(condition.keys, words, packet, refuses)
            if held:
                found = True
                break
            found = None if held is None else found
        return found if not condition.negated or found is None else not found

    def _all(self, keys, words, packet, refuses):
        if len(keys) != len(words):
            return None
        held = [self._key(key, word, packet, refuses) for key, word in zip(keys, words)]
        return False if False in held else None if None in held else True

    def _values(self, condition):
        if not isinstance(condition.values, str):
            return condition.values
        held = self._sets.get(condition.values[1:])
        if held is None or not held.complete:
            return None
        values = [element.key for element in held.elements]
        if len(values) > VALUES_LIMIT and condition.keys in (("ip saddr",), ("ip6 saddr",)):
            # A list of addresses to refuse: only the single addresses that are among the sources are kept.
            sources = {str(address) for address in self._sources[condition.keys[0].split(" ")[0]]}
            values = [words for words in values if "/" in words[0] or "-" in words[0] or words[0] in sources]
        return values if len(values) <= VALUES_LIMIT else None

    def _key(self, key, word, packet, refuses):
        first, _space, last = key.partition(" ")
        if key in _INTERFACES:
            return True if word.startswith(_PODS) else False if word.startswith(_OTHERS) else None
        if last == "daddr":
            return self._address(word, packet)
        if last == "saddr":
            return self._source(word, packet)
        if last == "dport":
            return (first in ("th", packet.protocol)) and _in_range(word, packet.port)
        if key in ("l4proto", "ip protocol", "ip6 nexthdr"):
            return _PROTOCOLS.get(word, word) == packet.protocol
        if key in ("nfproto", "protocol"):
            return word in (packet.family, {"ip": "ipv4", "ip6": "ipv6"}[packet.family])
        if key == "ct state":
            return word == "new" or (refuses and word == "established")
        if key == "ct status":
            return packet.translated if word == "dnat" else None
        if key == "ct direction":
            return word == "original"
        if first == "fib" and last.startswith("daddr") and last.endswith(" type"):
            return (packet.address is None and not packet.translated) if word == "local" else None
        if first in _OF_OTHERS or (last == "sport" and refuses):
            return False
        return None

    def _address(self, word, packet):
        addresses = [packet.address] if packet.address is not None else self._own[packet.family]
        return self._any_within(addresses, word)

    def _source(self, word, packet):
        """Whether pods send packets from these addresses."""
        return self._any_within(self._sources[packet.family], word)

    def _any_within(self, addresses, word):
        network = self._network(word)
        return any(_within(address, network) for address in addresses) if addresses and network is not None else None

    def _network(self, word):
        if word not in self._networks:
            self._networks[word] = _network(word)
        return self._networks[word]


def _network(word):
    try:
        if "-" in word:
            return tuple(ipaddress.ip_address(part) for part in word.split("-"))
        return ipaddress.ip_network(word, strict=False)
    except ValueError:
        return None


def _within(address, network):
    if isinstance(network, tuple):
        return network[0].version == address.version and network[0] <= address <= network[1]
    return address in network


def _in_range(word, port):
    first, _dash, last = word.partition("-")
    if port is None or not first.isdigit() or (last and not last.isdigit()):
        return None
    return int(first) <= port <= int(last or first)
