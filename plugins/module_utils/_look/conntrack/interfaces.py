# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches of single interfaces that differ from those of the node.

A bridge passes packets to iptables if its own switch is on or that of all bridges (Linux
net/bridge/br_netfilter_hooks.c br_nf_pre_routing()); an interface forwards packets that arrive on it only if its own
switch is on (net/ipv4/devinet.c copies ip_forward to all of them, net/ipv4/route.c asks the interface alone)."""

import re

from ..._conntrack.keys import FORWARD
from ..._host.host import OK

_CONF, _CLASS = "/proc/sys/net/ipv4/conf", "/sys/class/net"
# Bridges of pods: the bridge plugin and flannel, kubenet, kube-router, Docker, Weave, MicroK8s.
_BRIDGES = ("cni0", "cbr0", "kube-bridge", "docker0", "weave")
# Interfaces behind which pods are, and the names of uplinks where no default route is known.
_OF_PODS = re.compile(r"(?:%s|flannel[.-][\w-]+|vxlan\.calico|cali[\w-]+)\Z" % "|".join(_BRIDGES[:3]))
_UPLINK = re.compile(r"(?:en|eth|bond)[a-z0-9]+\Z")
_DEFAULT = re.compile(r"^(\S+)\t00000000\t\S+\t\S+\t\S+\t\S+\t\S+\t00000000\t", re.MULTILINE)
_ROUTES_LIMIT, _MOST = 1 << 20, 4000


def interface_switches(host):
    """`{"bridges": the bridges of pods, if all of them have netfilter on by themselves, "not_forwarding": interfaces of
    pods and of the default route that do not forward}`."""
    switches = {name: _value(host, "%s/%s/bridge/nf_call_iptables" % (_CLASS, name)) for name in _BRIDGES}
    there = [name for name in _BRIDGES if switches[name] is not None and name != "docker0"] or ["docker0"]
    bridges = there if all(switches[name] == "1" for name in there) else []
    closed = []
    # Two names of one value; what a person copied may have either.
    if "1" in (_value(host, "/proc/sys/" + FORWARD), _value(host, _CONF + "/all/forwarding")):
        status, names = host.list_dir(_CONF)
        closed = [name for name in (names if status == OK else ())[:_MOST] if name not in ("all", "default", "lo")
                  and (_OF_PODS.match(name) or _UPLINK.match(name))
                  and _value(host, "%s/%s/forwarding" % (_CONF, name)) == "0"]
        closed = _of_pods_and_uplinks(host, closed, names) if closed else []
    return {"bridges": bridges, "not_forwarding": closed}


def _of_pods_and_uplinks(host, closed, names):
    routes = host.read_text("/proc/net/route", _ROUTES_LIMIT)
    uplinks = set(_DEFAULT.findall(routes.text)) if routes.ok else {name for name in names if _UPLINK.match(name)}
    # Of several interfaces without known routes any may be the one that carries no traffic of pods.
    uplinks = uplinks if routes.ok or len(uplinks) == 1 else set()
    return sorted(name for name in closed if _OF_PODS.match(name) or name in uplinks)


def _value(host, path):
    text = host.read_text(path, limit=64)
    return text.text.strip() if text.ok else None
