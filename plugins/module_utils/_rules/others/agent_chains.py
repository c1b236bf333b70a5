# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that a running agent has written. PRIVATE to the collection.

Only rules are listed without which pods lose traffic or their policies. Chains changed their names between versions, so
any chain of the agent counts, where it has several. Sources:
flannel       flannel-io/flannel pkg/trafficmngr (written again every 5 s; in nftables mode only at the start)
aws-node      aws/amazon-vpc-cni-k8s pkg/networkutils UpdateHostSNATRules (at the start of ipamd; not for IPv6)
ip-masq-agent kubernetes-sigs/ip-masq-agent (every minute)
calico-node   projectcalico/calico felix/rules, felix/dataplane/linux (every 90 s; in BPF mode only a few chains)
kube-router   cloudnativelabs/kube-router pkg/controllers/netpol (every 5 minutes)
cilium-agent  cilium/cilium pkg/datapath/iptables (at the start, and when devices or addresses of the node change)
dockerd       moby daemon/libnetwork/drivers/bridge (at the start, or when firewalld reloads)
"""

import collections

# `owner`; `names` of its processes; `argument`: one that the process of the first name must have, or None; `tables`:
# where one of them has a chain that `chains` (a pattern) matches, the rules are there; `shown`: the chain for readers;
# `filled`: whether a chain without rules counts as missing, because no other check reports it.
Agent = collections.namedtuple("Agent", "owner names argument tables chains shown filled")

AGENTS = (
    Agent("aws-node", ("aws-k8s-agent",), None, ("nat",), r"AWS-SNAT-CHAIN-0\Z", "AWS-SNAT-CHAIN-0", True),
    Agent("calico-node", ("calico-node", "calico-felix"), "-felix", ("filter", "nat", "mangle", "raw"), r"cali-",
          "cali-*", True),
    Agent("cilium-agent", ("cilium-agent",), None, ("nat",), r"(OLD_)?CILIUM_POST", "CILIUM_POST_nat", True),
    Agent("dockerd", ("dockerd",), None, ("nat",), r"DOCKER\Z", "DOCKER", False),
    Agent("flannel", ("flanneld", "k3s-server", "k3s-agent"), None, ("nat",), r"FLANNEL-POSTRTG\Z", "FLANNEL-POSTRTG",
          False),
    Agent("ip-masq-agent", ("ip-masq-agent",), None, ("nat",), r"IP-MASQ-AGENT\Z", "IP-MASQ-AGENT", False),
    Agent("kube-router", ("kube-router",), None, ("filter",), r"KUBE-(ROUTER|POD-FW|NWPLCY)-", "KUBE-ROUTER-FORWARD",
          True))
