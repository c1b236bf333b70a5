# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sysctls that connections and bridges of Kubernetes depend on. PRIVATE to the collection."""

import re
from collections import namedtuple

# key: path below /proc/sys; module: the module that creates it, None where it always exists; default: the kernel's
# value when the key appears, None where that varies; proxy_field: the field of kube-proxy's configuration that sets it;
# proxy_default: the value that kube-proxy sets where the field is not set.
Key = namedtuple("Key", "key module default proxy_field proxy_default")

MAX = "net/netfilter/nf_conntrack_max"
BUCKETS = "net/netfilter/nf_conntrack_buckets"
COUNT = "net/netfilter/nf_conntrack_count"
FORWARD = "net/ipv4/ip_forward"
FORWARD_6 = "net/ipv6/conf/all/forwarding"
BRIDGE = "net/bridge/bridge-nf-call-iptables"
BRIDGE_6 = "net/bridge/bridge-nf-call-ip6tables"
_OF_CONNECTIONS = "net/netfilter/nf_conntrack_%s"
STREAM = _OF_CONNECTIONS % "udp_timeout_stream"

# Other names of a switch of the kernel: a write to one of them is a write to all (Linux net/ipv4/devinet.c
# devinet_sysctl_forward(), whose data is that of conf.all).
_OTHER_NAMES = {FORWARD: ("net/ipv4/conf/all/forwarding",)}
# Linux nf_conntrack_proto_tcp.c, nf_conntrack_proto_udp.c (the stream timeout was 180 before 5.0), br_netfilter_hooks.c
# (1 when the module is loaded); kubernetes pkg/proxy/apis/config/v1alpha1/defaults.go, pkg/proxy/conntrack/sysctls.go.
KEYS = (Key(MAX, "nf_conntrack", None, "maxPerCore", None), Key(BUCKETS, "nf_conntrack", None, None, None),
        Key(_OF_CONNECTIONS % "tcp_timeout_established", "nf_conntrack", 432000, "tcpEstablishedTimeout", 86400),
        Key(_OF_CONNECTIONS % "tcp_timeout_close_wait", "nf_conntrack", 60, "tcpCloseWaitTimeout", 3600),
        Key(_OF_CONNECTIONS % "tcp_timeout_time_wait", "nf_conntrack", 120, None, None),
        Key(_OF_CONNECTIONS % "udp_timeout", "nf_conntrack", 30, "udpTimeout", None),
        Key(STREAM, "nf_conntrack", None, "udpStreamTimeout", None),
        Key(_OF_CONNECTIONS % "tcp_be_liberal", "nf_conntrack", 0, "tcpBeLiberal", None),
        Key(BRIDGE, "br_netfilter", 1, None, None), Key(BRIDGE_6, "br_netfilter", 1, None, None),
        Key(FORWARD, None, 0, None, None), Key(FORWARD_6, None, 0, None, None),
        Key("net/ipv4/conf/all/rp_filter", None, 0, None, None))
MODULES = ("br_netfilter", "nf_conntrack")


def names_of(key):
    """All names of a key; the given one is first."""
    return (key,) + _OTHER_NAMES.get(key, ())


def dotted(key):
    """The key as administrators write it; a dot in the name of an interface is a slash in it (sysctl.d(5))."""
    return key.translate({ord("."): "/", ord("/"): "."})


TIMEOUTS = tuple(dotted(key.key) for key in KEYS if "timeout" in key.key)

# Names and bounds of the conntrack timeouts, as users write them.
_PREFIX = "net.netfilter.nf_conntrack_"
NAMES = tuple(key[len(_PREFIX):] for key in TIMEOUTS)
# The kernel counts in jiffies, and an int holds at most this many seconds of them (kernel/sysctl.c
# proc_dointvec_jiffies(), HZ 1000).
SECONDS_MOST = ((1 << 31) - 1) // 1000


def timeout_name(text):
    """The name in NAMES that `text` means, with the prefix of the sysctl or without it, or None."""
    name = re.sub(r"^(net\.netfilter\.)?nf_conntrack_", "", text)
    return name if name in NAMES else None


def sysctl_of(name):
    """The sysctl of a name in NAMES."""
    return _PREFIX + name
