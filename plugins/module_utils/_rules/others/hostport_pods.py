# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host ports that lead to two pods, of which the first one is gone, or to none. PRIVATE to the collection.

The scheduler gives a host port to one pod of a node. Where the plugin could not delete the rules of a pod
(containernetworking plugins portmap, kubernetes pkg/kubelet/dockershim/network/hostport), they stay before those of the
next pod with that port and get all its connections. For hostIP 0.0.0.0 releases of portmap before 0.8.7 wrote that
address into the rule, and no packet has it (containernetworking/plugins, change 487).
"""

from ..observation import observe
from ..rules import plain_value, port_ranges
from ..tables import rules_of, table_of
from .owners import owner_of

_CHAINS = ("CNI-HOSTPORT-DNAT", "KUBE-HOSTPORTS")
_MOST_PORTS = 64
_NO_PACKET = ("0.0.0.0/32", "::/128")


def ask_hostport_pods(rule_set, _setting):
    """hostport_stale of one rule set: a jump to the rules of a pod, behind which another pod has the same port."""
    table = table_of(rule_set, "nat")
    for chain in sorted(table.chains) if table is not None else ():
        dead = [rule for rule in table.chains[chain].rules if rule.target == "DNAT"
                and plain_value(rule, "-d") in _NO_PACKET] if owner_of(chain, "nat") == "portmap" else ()
        if dead:
            yield observe("hostport_stale", rule_set, "nat", chain, dead[0].text, len(dead),
                          "no packet has the address %s, so the host port leads to no pod" % plain_value(dead[0], "-d"))
    for chain in _CHAINS:
        first, noted = {}, set()
        for rule in rules_of(table, chain):
            for key, end in _leads(table, rule):
                earlier, before = first.setdefault(key, (rule, end))
                if earlier is rule or before == end or earlier.text in noted:
                    continue
                noted.add(earlier.text)
                yield observe("hostport_stale", rule_set, "nat", chain, earlier.text, 1,
                              "host port %d/%s leads to %s, and the later rule to %s has no effect: the earlier one is "
                              "left over from a pod that is gone" % (key[1], key[0], before, end))


def _leads(table, rule):
    """[((protocol, port, address of the host or None), where it leads)] of a jump, or the name of its chain."""
    translating = [each for each in rules_of(table, rule.target) if each.target == "DNAT"]
    # The chain of kubelet's host ports does not repeat the port.
    found = [(each, each.value("--to-destination")) for each in translating if port_ranges(each)]
    to = translating[0].value("--to-destination") if translating and not found else rule.target
    for each, end in found or [(rule, to)]:
        protocol = plain_value(each, "-p")
        for start, last in port_ranges(each) or ():
            for port in range(start, min(last, start + _MOST_PORTS) + 1) if protocol and end else ():
                yield (protocol, port, plain_value(each, "-d")), end
