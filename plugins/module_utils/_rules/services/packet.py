# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first packet of a connection to a Service, and whether a rule matches it. PRIVATE to the collection.

A dump shows the addresses, the port and the state of such a packet. Other properties that a rule may match (most
interfaces, sets, limits, marks of other programs) are not known.
"""

import collections
import re

from ..addresses import within
from ..kube_proxy.mark_values import has_bits

# source and destination: an address, or None if it is not known. states: the conntrack states that fit, None before
# conntrack sees the packet. original and original_port: the virtual address, before and behind DNAT. from_node: whether
# the node itself sends it. mark: kube-proxy's mark on a packet that it masquerades, None on any other packet. sender:
# the Sender, None where it is not known.
Packet = collections.namedtuple(
    "Packet", "source destination protocol port states original original_port from_node mark sender")
Packet.__new__.__defaults__ = (None, None)
# cgroup: the path of its cgroup (version 2). Each of the first three is null where it is not known. otherwise: the
# answer for a match of its cgroup or owner that cannot be decided.
Sender = collections.namedtuple("Sender", "uid gid cgroup otherwise")

# No pods are behind these interfaces. A virtual address is never routed to lo, and in OUTPUT the first routing counts
# (Linux nf_hook_slow()).
_NO_PODS = re.compile(r"(lo|docker\d+|br-[0-9a-f]{12}|virbr\d+|lxcbr\d+)$")
_NUMBERS = {"6": "tcp", "17": "udp", "132": "sctp"}
_PORT = re.compile(r"(\d{1,5})(?::(\d{0,5}))?\Z")
# kube-proxy's mark: packets of a pod to a ClusterIP do not get it.
_MASQUERADE = ("0x4000/0x4000", "0x4000")
_OWNERS = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?\Z")
_FIRST_SEGMENT = ["FIN,SYN,RST,ACK", "SYN"]


def meets(rule, packet):
    """True if the rule matches that packet, False if it does not, None if it matches on a property that is not
    known."""
    certain = True
    for answer in _answers(rule, packet):
        if answer is False:
            return False
        certain = certain and answer
    return certain


def _answers(rule, packet):
    """Whether each option of a rule matches a packet."""
    for option, (value, negated) in rule.options.items():
        yield _either(_basic(option, value, packet), negated)
    for match, options in rule.matches:
        if not options and match != packet.protocol:
            yield None
        for option, values, negated in options:
            yield _either(_of_match(match, option, values, packet), negated)


def _either(answer, negated):
    return not answer if negated and answer is not None else answer


def _basic(option, value, packet):
    if option in ("-s", "-d"):
        return within(packet.source if option == "-s" else packet.destination, value)
    if option == "-p":
        return None if packet.protocol is None else _NUMBERS.get(value, value) in (packet.protocol, "all")
    if option in ("-i", "-o"):
        return False if _NO_PODS.match(value) else None
    return False if option == "-f" else None


def _of_match(match, option, values, packet):
    if option in ("--dport", "--dports", "--destination-port", "--destination-ports"):
        return _port_in(packet.port, values)
    if option == "--ports":
        return _port_in(packet.port, values) or None
    if match in ("conntrack", "state"):
        return _of_connection(option, values, packet) if packet.states is not None else None
    if match == "addrtype":
        return _of_address(option, values, packet)
    if match == "tcp" and option == "--tcp-flags":
        return values == _FIRST_SEGMENT or None
    if match in ("cgroup", "owner") and packet.sender is not None:
        answer = _of_sender(option, values[0] if values else "", packet.sender)
        return packet.sender.otherwise if answer is None else answer
    return _of_mark(packet.mark, values) if match == "mark" and option == "--mark" else None


def _of_connection(option, values, packet):
    if option in ("--ctstate", "--state"):
        return any(state in packet.states for value in values for state in value.split(","))
    if option == "--ctorigdst":
        return within(packet.original, values[0] if values else "")
    return _port_in(packet.original_port, values) if option == "--ctorigdstport" else None


def _of_mark(mark, values):
    if mark is not None:
        return has_bits(mark, values)
    return False if values and values[0] in _MASQUERADE else None


def _of_address(option, values, packet):
    """The type of an address is known for virtual addresses only: in iptables mode they are not addresses of the
    node."""
    types = [kind for value in values for kind in value.split(",")]
    if option == "--src-type":
        return ("LOCAL" if packet.from_node else "UNICAST") in types
    if option == "--dst-type" and packet.destination is not None and packet.destination == packet.original:
        return "UNICAST" in types
    return None


def _port_in(port, values):
    found = [_PORT.match(text) for value in values for text in value.split(",")]
    if port is None or not found or None in found:
        return None
    return any(int(one.group(1)) <= port <= int(one.group(1) if one.group(2) is None else one.group(2) or 65535)
               for one in found)


def _of_sender(option, value, sender):
    """A path holds for the cgroups below it as well (Linux net/netfilter/xt_cgroup.c)."""
    if option == "--path" and sender.cgroup is not None:
        path = value.strip("/")
        return not path or (sender.cgroup.strip("/") + "/").startswith(path + "/")
    owned = {"--uid-owner": sender.uid, "--gid-owner": sender.gid}.get(option)
    found = _OWNERS.match(value)
    if owned is None or not found:
        return True if option == "--socket-exists" else None
    return int(found.group(1)) <= owned <= int(found.group(2) or found.group(1))
