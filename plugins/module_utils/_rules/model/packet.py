# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The neutral packet: the first packet of a connection, with the properties that are known of it. PRIVATE to the
collection.

A dump shows the addresses, the port and the state of a packet to a Service. Other properties that a rule may match
(most interfaces, sets, limits, marks of other programs) are not known.
"""

import collections

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
