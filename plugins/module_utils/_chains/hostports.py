# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host ports that take the place of the node's own services. PRIVATE to the collection."""

from .observation import observe
from .rules import plain_value, port_ranges, to_local
from .tables import BUILT_IN, table_of


def ask_hostports(rule_set, setting):
    """hostport_capture: a DNAT that takes a port of C(setting.ports) on every address of the node."""
    table = table_of(rule_set, "nat")
    if table is None or not setting.ports:
        return []
    captured = [(chain, rule, protocol, port) for chain in sorted([chain for chain, held in table.chains.items() if held.rules])
                for rule in table.chains[chain].rules if _translates(rule)
                for protocol, port in _captured(rule, setting.ports)]
    targets = table.targets() if captured else ()
    return [observe("hostport_capture", rule_set, "nat", chain, rule.text, 1, "takes port %d/%s of %s on every address of the node" % (
        port, protocol, setting.ports[(protocol, port)])) for chain, rule, protocol, port in captured if chain in BUILT_IN or chain in targets]


def _translates(rule):
    """DNAT itself, or the jump of kubelet's old host ports, whose DNAT does not repeat the port (KUBE-HOSTPORTS)."""
    return rule.target == "DNAT" or (rule.target or "").startswith("KUBE-HP-")


def _captured(rule, ports):
    ranges = port_ranges(rule)
    if ranges is None or not _everywhere(rule):
        return []
    protocol = plain_value(rule, "-p")
    return sorted(key for key in ports if key[0] == protocol and any(first <= key[1] <= last for first, last in ranges))


def _everywhere(rule):
    """True unless the rule is for one address or one source; with addrtype LOCAL it is for all of the node's."""
    if rule.options.get("-s") or (rule.options.get("-d") and not to_local(rule)):
        return False
    return plain_value(rule, "-i") != "lo"
