# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The neutral rule of iptables and nft, the neutral packet, and whether a rule holds for it. PRIVATE to the collection.

The packet is the first one of a connection. A dump shows the addresses, the port and the state of a packet to a
Service. Other properties that a rule may match (most interfaces, sets, limits, marks of other programs) are not known.

A condition has one or more fields, as in nft's `ip saddr . tcp dport { ... }`, and holds if one of its values holds in
all fields. A value is what the test of its field in _FIELDS takes; None stands for a value that cannot be judged.

Whose traffic passes an interface, by its name: the one table of it.

LXC, LXD, Incus, libvirt, Docker, Podman, nerdctl, VirtualBox, VMware, Waydroid and Multipass name their bridges by
patterns of their own; network plugins do so with the interfaces of pods. A tunnel (wg0, tailscale0) may carry the
traffic of pods and nodes as any network card may: the routes show whether it does.
"""

import collections
import operator
import re

from ..kube_proxy.marks import has_bits
from ..rules import number_of, range_of, within

# family: ip or ip6, None where all rules are of one family. sources and destinations: the addresses as numbers of which
# the packet has one, empty where they are not known. destination: the address as text, for messages. states: the
# conntrack states that fit, None before conntrack sees the packet. original and original_port: the virtual address,
# before and behind DNAT. destination_type: LOCAL or UNICAST, None where it is not known. from_node: whether the node
# itself sends it. mark: kube-proxy's mark on a packet that it masquerades, None on any other packet. sender: the
# Sender, None where it is not known. of_all: it stands for the packets of all clients and their replies, on any
# interface; otherwise it is one packet of one client.
Packet = collections.namedtuple(
    "Packet", "family sources destinations protocol port states destination original original_port destination_type "
              "from_node mark sender of_all")
Packet.__new__.__defaults__ = (None, (), (), None, None, None, None, None, None, None, False, None, None, False)
# cgroup: the path of its cgroup (version 2). Each of the first three is null where it is not known. otherwise: the
# answer for a match of its cgroup or owner that cannot be decided.
Sender = collections.namedtuple("Sender", "uid gid cgroup otherwise")

# fields: names in _FIELDS. values: [(value of each field)].
Condition = collections.namedtuple("Condition", "fields negated values")
# alike: a function of a packet; packets with the same result are treated alike. target: the chain of a jump or goto.
# origin: the rule as it was read.
Rule = collections.namedtuple("Rule", "conditions alike verdict target origin")

# Verdicts: to the next rule, into a chain and back, into a chain without coming back, back, and everything after which
# the packet meets no other rule of its base chain.
CONTINUE, JUMP, GOTO, RETURN, END = "continue", "jump", "goto", "return", "end"
UNKNOWN = Condition(("unknown",), False, [(None,)])

PROTOCOLS = {"4": "ipencap", "6": "tcp", "17": "udp", "132": "sctp", "ipv4": "ipencap"}
# kube-proxy's mark: packets of a pod to a ClusterIP do not get it.
_MASQUERADE = ("0x4000/0x4000", "0x4000")
_OWNERS = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?\Z")


def rule_of(conditions, verdict, origin, target=None):
    """A Rule."""
    read = sorted({name for condition in conditions for field in condition.fields for name in _FIELDS[field][0]})
    return Rule(conditions, operator.attrgetter(*read) if read else lambda _packet: None, verdict, target, origin)


def holds(conditions, packet, harms=False):
    """True if all conditions hold for a packet, False if one does not, None if an unknown property decides.

    `harms`: a rule that harms the packet is tried: what holds for some packets of a connection only (a rate) harms no
    Service as a whole.
    """
    result = True
    for condition in conditions:
        held = _one(condition, packet, harms)
        if held is False:
            return False
        result = held and result
    if result is None and harms and packet.of_all and packet.port is not None and _is_named(conditions, packet):
        return True
    return result


def span_of(word):
    """(first, last) number of an address, a network or a range of addresses; None for any other text."""
    first, dash, last = word.partition("-")
    if not dash:
        return range_of(word)
    ends = number_of(first), number_of(last)
    return None if None in ends else ends


def _is_named(conditions, packet):
    """True if only interfaces are not known, and the address or the port of this packet is named: it is meant."""
    opened = [condition.fields for condition in conditions if _one(condition, packet, True) is None]
    named = [condition for condition in conditions if not condition.negated
             and {"destination", "port"} & set(condition.fields)]
    return bool(named) and all(set(fields) == {"interface"} for fields in opened)


def _one(condition, packet, harms):
    tests = [_FIELDS[field][1] for field in condition.fields]
    found = False
    for values in condition.values:
        held = [None if value is None else test(value, packet, harms) for test, value in zip(tests, values)]
        if False in held:
            continue
        if None not in held:
            found = True
            break
        found = None
    return not found if condition.negated and found is not None else found


def _among(numbers, span):
    return any(span[0] <= number <= span[1] for number in numbers) if numbers else None


def _in_range(port, span):
    return None if port is None else span[0] <= port <= span[1]


def _state(value, packet, harms):
    if packet.states is None:
        return None
    # Who drops replies harms the connection as well.
    return value in packet.states or (harms and packet.of_all and value == "ESTABLISHED")


def _mark(value, packet):
    if packet.mark is not None:
        return has_bits(packet.mark, value)
    return False if value and value[0] in _MASQUERADE else None


def _sender(value, sender):
    """A path holds for the cgroups below it as well (Linux net/netfilter/xt_cgroup.c)."""
    if sender is None:
        return None
    option, text = value
    if option == "--path" and sender.cgroup is not None:
        path = text.strip("/")
        return not path or (sender.cgroup.strip("/") + "/").startswith(path + "/")
    owned, found = {"--uid-owner": sender.uid, "--gid-owner": sender.gid}.get(option), _OWNERS.match(text)
    if owned is None or not found:
        return True if option == "--socket-exists" else sender.otherwise
    return int(found.group(1)) <= owned <= int(found.group(2) or found.group(1))


# {field: (the properties of a packet that its test reads, the test of (value, packet, harms))}.
_FIELDS = {
    "family": (("family",), lambda value, packet, _harms: value == packet.family),
    "source": (("sources",), lambda span, packet, _harms: _among(packet.sources, span)),
    "destination": (("destinations",), lambda span, packet, _harms: _among(packet.destinations, span)),
    "protocol": (("protocol",), lambda value, packet, _harms: None if packet.protocol is None
                 else value in (packet.protocol, "all")),
    # The extension of a protocol, without an option: it matches by the `-p` beside it.
    "extension": (("protocol",), lambda value, packet, _harms: value == packet.protocol or None),
    "port": (("port",), lambda span, packet, _harms: _in_range(packet.port, span)),
    # The port of the other side is not known.
    "one port": (("port",), lambda span, packet, _harms: _in_range(packet.port, span) or None),
    "source port": ((), lambda _value, _packet, harms: False if harms else None),
    # The value is what carries_pods() returns: None never comes here.
    "interface": (("of_all",), lambda carries, packet, _harms: (packet.of_all or None) if carries else False),
    "state": (("states", "of_all"), _state),
    "original": (("states", "original"), lambda network, packet, _harms: None if packet.states is None
                 else within(packet.original, network)),
    "original port": (("states", "original_port"), lambda span, packet, _harms: None if packet.states is None
                      else _in_range(packet.original_port, span)),
    "source type": (("from_node",), lambda value, packet, _harms: value == ("LOCAL" if packet.from_node
                                                                            else "UNICAST")),
    "destination type": (("destination_type",), lambda value, packet, _harms: None if packet.destination_type is None
                         else value == packet.destination_type),
    "mark": (("mark",), lambda value, packet, _harms: _mark(value, packet)),
    "sender": (("sender",), lambda value, packet, _harms: _sender(value, packet.sender)),
    # Rates, counts and TCP flags hold for some packets of any connection.
    "rate": ((), lambda _value, _packet, harms: False if harms else None),
    # Whether the packet is such a packet: fragments, other protocols, replies; or the first segment of a connection.
    "fixed": ((), lambda value, _packet, _harms: value),
    "unknown": ((), lambda _value, _packet, _harms: None)}


# Before the pods: lxc12ab is Cilium's and lxcbr0 is LXC's, cni0 is a bridge of pods and cni-podman0 is Podman's.
_OTHERS = ("docker", "virbr", "lxcbr", "lxdbr", "incusbr", "podman", "cni-podman", "nerdctl", "vboxnet", "vmnet",
           "waydroid", "mpqemubr", "siderolink")
# `br-` and the start of the identifier of a Docker network, or a pattern for all of these.
_DOCKER_NETWORK = re.compile(r"br-(?:[0-9a-f]{12}\Z|[0-9a-f]{0,12}[+*]\Z)")
_PODS = ("cni", "cbr", "cali", "lxc", "cilium", "flannel", "veth", "eni", "weave", "kube-bridge", "azv", "vxlan",
         "tunl", "geneve", "ovn", "antrea", "nodelocaldns")
_TUNNELS = ("wg", "tun", "tap", "tailscale", "zt")


def is_foreign(name):
    """True if no traffic of pods passes the interfaces with a name or a pattern such as `docker0`, `docker+`.

    No address of a Service or of another node is behind `lo`, and in OUTPUT the first routing counts (Linux
    nf_hook_slow()).
    """
    return name == "lo" or name.startswith(_OTHERS) or bool(_DOCKER_NETWORK.match(name))


def is_tunnel(name):
    """True for the interfaces of WireGuard, OpenVPN, Tailscale and ZeroTier."""
    return name.startswith(_TUNNELS)


def carries_pods(name, routed=tuple):
    """Whether traffic of pods passes an interface: True, False, or None where its name does not show it.

    `routed()`: the tunnels that routes to pods or nodes lead over.
    """
    if is_foreign(name):
        return False
    if name.startswith(_PODS):
        return True
    if not is_tunnel(name):
        return None
    pattern = name[-1:] in ("*", "+")
    return True if any(each.startswith(name[:-1]) if pattern else each == name for each in routed()) else None
