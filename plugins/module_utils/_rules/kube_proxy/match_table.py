# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that always have a match in their chain, by chain and target. PRIVATE to the collection.

Read from kubernetes pkg/proxy/{iptables,ipvs}, pkg/kubelet; calico felix/rules; cilium pkg/datapath/iptables;
kube-router pkg/controllers/netpol; weave prog/weave-npc and net/; azure-container-networking
npm/pkg/dataplane/policies; amazon-vpc-cni-k8s pkg/networkutils; containernetworking plugins; flannel pkg/trafficmngr. A
rule that is not listed may have no match, for instance the DROP of KUBE-SOURCE-RANGES-FIREWALL, the jump to
KUBE-MARK-MASQ of KUBE-LOAD-BALANCER, nearly all of nat KUBE-FIREWALL (ipvs), the last DROP of Calico's endpoint and
dispatch chains, cali-wl-to-host, AZURE-NPM-ACCEPT, CNI-HOSTPORT-SETMARK, DOCKER-USER's RETURN.
"""

import collections
import re

from ..targets import REFUSALS, TRANSLATIONS, VERDICTS

# tables: names or None for any. inner: only where rules follow in the chain, because the last rule may be bare.
Form = collections.namedtuple("Form", ("tables", "chain", "targets", "inner"))


def _form(tables, chain, targets, inner=False):
    return Form(tables and tuple(tables.split()), re.compile("(?:%s)$" % chain), frozenset(targets), inner)


_HASH = "[A-Z2-7]{16}"

FORMS = (
    _form("filter", "KUBE-(FIREWALL|FORWARD|SERVICES|EXTERNAL-SERVICES|NODEPORTS|PROXY-FIREWALL|NODE-PORT|IPVS-FILTER|"
                    "IPVS-OUT-FILTER)", VERDICTS),
    _form("filter", "KUBE-SOURCE-RANGES-FIREWALL", ("RETURN",)),
    _form("nat", "KUBE-(SERVICES|NODEPORTS|NODE-PORT)", VERDICTS | TRANSLATIONS),
    _form("nat", "KUBE-(POSTROUTING|MARK-MASQ)", VERDICTS),
    _form("nat", "KUBE-LOAD-BALANCER", ("RETURN", "ACCEPT")),
    # The mark of a packet that a policy let pass is 0x10000, the REJECT is for packets without it.
    _form("filter", "KUBE-POD-FW-%s" % _HASH, VERDICTS),
    _form("filter", "KUBE-NWPLCY-(%s|DEFAULT|COMMON)" % _HASH, VERDICTS),
    _form("filter", "KUBE-ROUTER-(INPUT|FORWARD|OUTPUT|SERVICES)", VERDICTS),
    _form(None, "cali-(PREROUTING|INPUT|FORWARD|OUTPUT|POSTROUTING)", VERDICTS | TRANSLATIONS),
    _form("filter", "cali-(failsafe-in|failsafe-out|cidr-block)", VERDICTS),
    _form("nat", "cali-nat-outgoing", TRANSLATIONS),
    _form("filter", "cali-(tw|fw|th|fh|from-wl-dispatch|to-wl-dispatch|from-host-endpoint|to-host-endpoint)(-.*)?",
          VERDICTS, True),
    _form(None, "(OLD_)?CILIUM_[A-Za-z_]+", VERDICTS | TRANSLATIONS),
    _form("filter", "FLANNEL-FWD", VERDICTS),
    _form("nat", "FLANNEL-POSTRTG", VERDICTS | TRANSLATIONS),
    _form("filter nat", "WEAVE|WEAVE-EXPOSE|WEAVE-NPC(-DEFAULT|-INGRESS|-EGRESS|-EGRESS-DEFAULT|-EGRESS-CUSTOM)?",
          VERDICTS | TRANSLATIONS),
    _form("nat mangle", r"AWS-(SNAT|CONNMARK)-CHAIN-\d+", VERDICTS | TRANSLATIONS),
    _form("filter", "AZURE-NPM(-.*)?", REFUSALS),
    _form("nat", "CNI-(HOSTPORT-MASQ|DN-[0-9a-f]+|[0-9a-f]{24})", TRANSLATIONS | frozenset(("ACCEPT",))),
    _form("filter", "CNI-ISOLATION-STAGE-2", REFUSALS),
    _form("filter", "CNI-FORWARD", VERDICTS),
)


def _jumps(*rows):
    return tuple((table, re.compile(chain), re.compile(target)) for table, chain, target in rows)


# Rules that always name a destination port: table, chain, target.
PORT_FORMS = _jumps(
    ("nat", "KUBE-(SERVICES|NODEPORTS)$", "KUBE-(SVC|SVL|EXT|FW|XLB)-"),
    ("nat", "CNI-HOSTPORT-DNAT$", "CNI-DN-"),
    ("nat", "CNI-DN-", "DNAT$"),
    ("nat", "KUBE-SV[CL]-", "KUBE-MARK-MASQ$"),
    ("filter", "KUBE-NODEPORTS$", "ACCEPT$"),
)

# Refusals of a virtual address, or on every address of the node, that always name a port.
ADDRESS_FORMS = _jumps(("filter", "KUBE-(SERVICES|EXTERNAL-SERVICES|PROXY-FIREWALL)$", "(DROP|REJECT)$"))

# Jumps that always have a match: table, chain, target. Where all traffic of a Service is masqueraded, its chain still
# names the address and the port. In KUBE-EXT, KUBE-FW, KUBE-XLB and KUBE-LOAD-BALANCER the bare jump to KUBE-MARK-MASQ
# is canonical.
JUMP_FORMS = _jumps(
    ("nat", "KUBE-(SERVICES|NODEPORTS)$", "KUBE-(SVC|SVL|EXT|FW|XLB)-"),
    ("nat", "KUBE-(SERVICES|NODEPORTS|NODE-PORT)$", "KUBE-MARK-MASQ$"),
    ("nat", "KUBE-SERVICES$", "KUBE-NODEPORTS$"),
    # For the interfaces of pods; packets of other interfaces that get there are dropped.
    ("filter", "cali-FORWARD$", "cali-(from|to)-wl-dispatch$"),
    ("filter", "cali-INPUT$", "cali-wl-to-host$"),
)

# Chains in which ipvs mode masquerades by sets.
SET_CHAINS = ("KUBE-SERVICES", "KUBE-NODE-PORT")

# A rule with the target MARK needs one of these options; without them it marks nothing.
MARK_ARGUMENTS = ("--set-xmark", "--set-mark", "--or-mark", "--and-mark", "--xor-mark")
MARKING = ("KUBE-MARK-MASQ", "KUBE-MARK-DROP", "KUBE-POSTROUTING")
