# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of netfilter modules in kernels: data only. PRIVATE to the collection.

Read from kernel sources and built modules of 5.10, 6.1, 6.12 and 7.2 (net/netfilter, net/ipv4/netfilter,
net/ipv6/netfilter, net/bridge, net/netfilter/ipvs, net/netfilter/ipset: Kconfig, Makefile, MODULE_ALIAS). A version
bound stands only where both sides were read; between them nothing is claimed.
"""

# Kconfig symbols whose name does not follow from the module's: module -> [(symbol, since, before)].
# ip_tables: IP_NF_IPTABLES builds it up to 6.1, IP_NF_IPTABLES_LEGACY from 6.12 on, where the old symbol may be
# set and no longer means that the module exists (net/ipv4/netfilter/Makefile).
CONFIG_SYMBOLS = {
    "x_tables": [("NETFILTER_XTABLES", None, None)],
    "ip_tables": [("IP_NF_IPTABLES_LEGACY", "6.12", None), ("IP_NF_IPTABLES", None, "6.2")],
    "ip6_tables": [("IP6_NF_IPTABLES_LEGACY", "6.12", None), ("IP6_NF_IPTABLES", None, "6.2")],
    "iptable_filter": [("IP_NF_FILTER", None, None)],
    "iptable_nat": [("IP_NF_NAT", None, None)],
    "iptable_mangle": [("IP_NF_MANGLE", None, None)],
    "iptable_raw": [("IP_NF_RAW", None, None)],
    "iptable_security": [("IP_NF_SECURITY", None, None)],
    "ip6table_filter": [("IP6_NF_FILTER", None, None)],
    "ip6table_nat": [("IP6_NF_NAT", None, None)],
    "ip6table_mangle": [("IP6_NF_MANGLE", None, None)],
    "ip6table_raw": [("IP6_NF_RAW", None, None)],
    "ip6table_security": [("IP6_NF_SECURITY", None, None)],
    "ipt_REJECT": [("IP_NF_TARGET_REJECT", None, None)],
    "ip6t_REJECT": [("IP6_NF_TARGET_REJECT", None, None)],
    "ipt_rpfilter": [("IP_NF_MATCH_RPFILTER", None, None)],
    "ip6t_rpfilter": [("IP6_NF_MATCH_RPFILTER", None, None)],
    "nft_chain_nat": [("NFT_NAT", None, None)],
    "nf_conntrack_netlink": [("NF_CT_NETLINK", None, None)],
    "nfnetlink": [("NETFILTER_NETLINK", None, None)],
    "nfnetlink_acct": [("NETFILTER_NETLINK_ACCT", None, None)],
    "xt_mark": [("NETFILTER_XT_MARK", None, None)],
    "xt_connmark": [("NETFILTER_XT_CONNMARK", None, None)],
    "xt_set": [("NETFILTER_XT_SET", None, None)],
    "xt_nat": [("NETFILTER_XT_NAT", None, None)],
    "xt_tcpudp": [("NETFILTER_XTABLES", None, None)],
    "xt_CT": [("NETFILTER_XT_TARGET_CT", None, None)],
    "xt_REDIRECT": [("NETFILTER_XT_TARGET_REDIRECT", None, None)],
    "br_netfilter": [("BRIDGE_NETFILTER", None, None)],
    "overlay": [("OVERLAY_FS", None, None)],
    "ipip": [("NET_IPIP", None, None)],
    "cls_bpf": [("NET_CLS_BPF", None, None)],
    "sch_ingress": [("NET_SCH_INGRESS", None, None)],
    "fou": [("NET_FOU", None, None)],
    "dummy": [("DUMMY", None, None)],
}

# Options without which no module of these names is built: (cause, options, beginnings of the names). NETFILTER is
# inside NET and INET (net/Kconfig); net/netfilter, its relatives of IPv4, IPv6 and bridges, ipset and IPVS are inside
# NETFILTER; from 6.17 on the legacy tables are inside NETFILTER_XTABLES_LEGACY (net/netfilter/Kconfig).
WIDE_OPTIONS = (
    ("netfilter_off", ("NET", "INET", "NETFILTER"), (
        "x_tables", "ip_tables", "ip6_tables", "iptable_", "ip6table_", "xt_", "ipt_", "ip6t_", "nf_", "nft_",
        "nfnetlink", "ip_set", "ip_vs", "br_netfilter")),
    ("legacy_off", ("NETFILTER_XTABLES_LEGACY",), ("ip_tables", "ip6_tables", "iptable_", "ip6table_")),
)

# The rest follows a rule: prefix of the module -> prefixes its symbol may have, the name in capitals behind it.
CONFIG_RULES = [
    ("xt_", ("NETFILTER_XT_MATCH_", "NETFILTER_XT_TARGET_")),
    ("ip_set_", ("IP_SET_",)),
    ("ip_vs_", ("IP_VS_",)),
    ("nft_", ("NFT_",)),
    ("nf_", ("NF_",)),
    ("", ("",)),
]

# A look into /proc that proves the running kernel can do it, as a module or not: module -> path that exists.
PROC_PROOFS = {
    "nf_conntrack": "/proc/sys/net/netfilter/nf_conntrack_max",
    "br_netfilter": "/proc/sys/net/bridge/bridge-nf-call-iptables",
    "ip_vs": "/proc/net/ip_vs",
    "ip_tables": "/proc/net/ip_tables_names",
    "ip6_tables": "/proc/net/ip6_tables_names",
}

# Module -> modules or prefixes of names that cannot be loaded without it (modules.dep of 6.1): where one of these is
# loaded, the module exists, listed or not.
PROVEN_BY = {
    "x_tables": ("xt_", "ipt_", "ip6t_", "iptable_", "ip6table_", "ip_tables", "ip6_tables", "nft_compat"),
    "ip_tables": ("iptable_",),
    "ip6_tables": ("ip6table_",),
    "nf_tables": ("nft_",),
    "nf_nat": ("iptable_nat", "ip6table_nat", "xt_nat", "xt_MASQUERADE", "xt_REDIRECT", "nft_chain_nat", "nft_nat",
               "nft_masq"),
    "nf_conntrack": ("nf_nat", "iptable_nat", "ip6table_nat", "xt_conntrack", "xt_connmark", "xt_CT", "xt_nat",
                     "xt_MASQUERADE", "xt_REDIRECT", "nft_chain_nat", "nft_ct", "nft_nat", "nft_masq",
                     "nf_conntrack_netlink", "ip_vs"),
    "ip_set": ("ip_set_", "xt_set"),
    "ip_vs": ("ip_vs_", "xt_ipvs"),
    "nfnetlink_acct": ("xt_nfacct",),
}

# Module or prefix of names -> module that it depends on (Kconfig of net/netfilter and net/bridge): where that one is a
# module, this one cannot be built in.
DEPENDS_ON = {"br_netfilter": "bridge", "nf_nat": "nf_conntrack", "ip_vs": "nf_conntrack", "ip_vs_": "ip_vs",
              "xt_": "x_tables"}

# Old name -> (present name, kernel version that no longer has the old one). nf_conntrack_ipv4/6 are not aliases either:
# modprobe of them fails from 4.19 on (commit a0ae2562c6c4). nf_nat_* were seen gone in 5.10.
RENAMES = {
    "nf_conntrack_ipv4": ("nf_conntrack", "4.19"),
    "nf_conntrack_ipv6": ("nf_conntrack", "4.19"),
    "nf_nat_ipv4": ("nf_nat", "5.10"),
    "nf_nat_ipv6": ("nf_nat", "5.10"),
    "nf_nat_masquerade_ipv4": ("nf_nat", "5.10"),
    "nf_nat_masquerade_ipv6": ("nf_nat", "5.10"),
    "ipt_MASQUERADE": ("xt_MASQUERADE", "5.10"),
}

# Module -> (what its code is part of, kernel version in which it was first seen so). From then on there is neither
# a .ko nor a line in modules.builtin. None: part of the kernel image itself.
MERGED = {
    "nft_counter": ("nf_tables", "6.1"),
    "nft_objref": ("nf_tables", "6.12"),
    "nft_meta": ("nf_tables", "5.10"),
    "nft_rt": ("nf_tables", "5.10"),
    "nfnetlink": (None, "7.2"),
}

# Names by which the kernel itself asks for a module (request_module), where they differ from the module's own name:
# these aliases decide whether it loads automatically.
KERNEL_ALIASES = {
    "nf_conntrack": ("nf_conntrack_2", "nf_conntrack_10"),
    "nf_tables": ("nfnetlink_subsys_10",),
    "nft_compat": ("nft_expr_match", "nft_expr_target", "nfnetlink_subsys_11"),
    "nft_chain_nat": ("nft_chain_2_nat", "nft_chain_10_nat", "nft_chain_1_nat"),
    "nft_masq": ("nft_expr_masq",),
    "nft_nat": ("nft_expr_nat",),
    "nft_ct": ("nft_expr_ct",),
    "nft_numgen": ("nft_expr_numgen",),
    "xt_MASQUERADE": ("ipt_MASQUERADE", "ip6t_MASQUERADE"),
    "xt_nat": ("ipt_DNAT", "ipt_SNAT", "ip6t_DNAT", "ip6t_SNAT"),
    "xt_tcpudp": ("ipt_tcp", "ipt_udp", "ip6t_tcp", "ip6t_udp"),
    "xt_mark": ("ipt_mark", "ip6t_mark", "ipt_MARK", "ip6t_MARK"),
    "ip_set": ("nfnetlink_subsys_6",),
    "ip_vs": ("net_pf_16_proto_16_family_IPVS",),
    "nf_conntrack_netlink": ("nfnetlink_subsys_1", "nfnetlink_subsys_2"),
    "overlay": ("fs_overlay",),
}

# xt_NAME is asked for as ipt_NAME and ip6t_NAME (net/netfilter/x_tables.c xt_request_find_match).
XT_ALIAS_PREFIXES = ("ipt_", "ip6t_")

# Packages that are documented to hold modules which a default installation lacks. os: ids of os-release (ID or
# ID_LIKE); since/before: VERSION_ID; release: text that the kernel release must contain.
PACKAGES = [
    {
        "os": ("rhel", "centos", "rocky", "almalinux", "ol"), "since": "10", "before": "11", "release": ".el10",
        "modules": ("nft_compat", "xt_comment", "xt_addrtype", "xt_MASQUERADE", "xt_CT", "ip_set", "br_netfilter"),
        "package": "kernel-modules-extra-{release}",
        "source": "kubernetes/kops pull 18724, openshift/microshift pull 7069",
    },
    {
        "os": ("ubuntu",), "since": "21.10", "before": "24.04", "release": "-raspi",
        "modules": ("vxlan",),
        "package": "linux-modules-extra-raspi",
        "source": "K3s documentation, advanced options: enabling vxlan on Raspberry Pi; k3s-io/k3s issue 4234",
    },
]

# The modules that are looked for by default.
DEFAULT_MODULES = (
    "br_netfilter", "ip6_tables", "ip6t_REJECT", "ip6table_filter", "ip6table_mangle", "ip6table_nat", "ip_set",
    "ip_set_bitmap_port", "ip_set_hash_ip", "ip_set_hash_ipport", "ip_set_hash_ipportip", "ip_set_hash_ipportnet",
    "ip_tables", "ip_vs", "ip_vs_rr", "ip_vs_sh", "ip_vs_wrr", "ipt_REJECT", "iptable_filter", "iptable_mangle",
    "iptable_nat", "nf_conntrack", "nf_conntrack_netlink", "nf_nat", "nf_tables", "nfnetlink_acct", "nft_chain_nat",
    "nft_compat", "nft_ct", "nft_fib_ipv4", "nft_fib_ipv6", "nft_masq", "nft_nat", "nft_numgen", "nft_reject",
    "nft_reject_ipv4", "nft_reject_ipv6", "overlay", "x_tables", "xt_MASQUERADE", "xt_addrtype", "xt_comment",
    "xt_conntrack", "xt_mark", "xt_multiport", "xt_nat", "xt_nfacct", "xt_recent", "xt_set", "xt_statistic",
    "xt_tcpudp",
)
