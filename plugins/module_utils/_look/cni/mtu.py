# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The MTU of pods against the largest packet that the uplink carries for them."""

import collections

from ..._names import BUNDLE_SOME_ROUTES
from ..._parse.assignments import parse_assignments
from ..._parse.proc.network_files import parse_proc_net_ipv6_route, parse_proc_net_route
from .files import in_use

_NET = "/sys/class/net/"
ROUTES_LIMIT, PORTS_LIMIT, DEVICES_LIMIT = 4 * 1024 * 1024, 256, 4096
_UP, _THROUGH_GATEWAY = 0x1, 0x2  # IFF_UP (include/uapi/linux/if.h), RTF_GATEWAY (include/uapi/linux/route.h)

# Tunnel devices of flannel and Calico: the encapsulation, and the minimum number of bytes that it adds to each packet:
# headers of IPv4 (20) or IPv6 (40), of UDP (8) with VXLAN and Ethernet (8 + 14), or of UDP with WireGuard (8 + 32).
# flannel uses 50 for VXLAN over IPv6 as well (pkg/backend/vxlan/vxlan_network.go); the kernel answers packets that are
# too large with ICMPv6.
_TUNNELS = {
    "flannel.1": ("vxlan", 50), "flannel-v6.1": ("vxlan", 50), "flannel.ipip": ("ipip", 20),
    "flannel-wg": ("wireguard", 60), "flannel-wg-v6": ("wireguard", 80), "vxlan.calico": ("vxlan", 50),
    "vxlan-v6.calico": ("vxlan", 70), "tunl0": ("ipip", 20), "wireguard.cali": ("wireguard", 60),
    "wg-v6.cali": ("wireguard", 80)}
# Tunnel devices that Open vSwitch creates while there is a tunnel, and the minimum number of bytes that the plugin
# adds: the Geneve header of Antrea has no option (antrea pkg/agent/config/node_config.go), that of OVN-Kubernetes has
# one of 8 bytes (go-controller/pkg/types). Weave adds 50 bytes for VXLAN, and 34 to 37 bytes for ESP where it encrypts
# (weaveworks/weave net/bridge.go, site/tasks/manage/fastdp.md), which is not visible here.
_GENEVE, _VXLAN, _WEAVE = "genev_sys_6081", "vxlan_sys_4789", "vxlan-6784"
_OVERLAYS = {"antrea": {_GENEVE: ("geneve", 50), _VXLAN: ("vxlan", 50)},
             "ovn-k8s-cni-overlay": {_GENEVE: ("geneve", 58)}, "weave-net": {_WEAVE: ("vxlan", 50)}}
# Plugin -> prefix of the names of the pods' devices; those of bridge are the ports of its bridge. Antrea and
# OVN-Kubernetes give their device on the node the MTU of pods; ptp has no bridge (plugins/main/ptp/ptp.go).
_DEVICES = {"calico": "cali", "aws-cni": "eni", "bridge": None, "flannel": None, "ptp": "veth", "antrea": "antrea-gw",
            "ovn-k8s-cni-overlay": "ovn-k8s-mp", "weave-net": "vethwepl"}

# `source` is a device or a file.
_Mtu = collections.namedtuple("_Mtu", "bytes source")


# Devices that show the plugin of a bundle without its configuration, by the beginning of their names.
_PLUGINS = (("flannel", "flannel"), ("vxlan.calico", "calico"), ("vxlan-v6.calico", "calico"),
            ("wireguard.cali", "calico"), ("wg-v6.cali", "calico"), ("cali", "calico"), ("antrea-gw", "antrea"),
            ("ovn-k8s-mp", "ovn-k8s-cni-overlay"), ("vethwepl", "weave-net"))


def mtu_of(host, files, used, is_live=True):
    """The evidence dict; None where there is neither a pod device nor a setting of a known plugin."""
    entries = [entry for row in files if in_use(row, used) and row.config for entry in row.config.entries]
    entry = next((entry for entry in entries if entry["type"] in _DEVICES), None)
    if not is_live:
        return _mtu_in_bundle(host, entry, entries)
    pods = _pods_mtu(host, entry, entries) if entry else None
    if pods is None:
        return None
    routes = routes_of(host)
    defaults = _defaults(routes)
    of_defaults = [_mtu(host, name) for name in defaults]
    # The lowest and the highest possible limit for packets of pods: they may use another device than the default route.
    carried = (_known(of_defaults, min), _known(of_defaults + [_mtu(host, name) for name in _hardware(host)], max))
    tunnels = _OVERLAYS.get(entry["type"], _TUNNELS)
    limits = [_limit(host, name, tunnels[name][1], carried) for name in tunnels
              if _is_in_use(host, name, tunnels[name][0], routes)]
    return _judged(host, entry, pods, defaults, carried, limits, tunnels)


def routes_of(host):
    """{path: text} of the routes; of a bundle maybe only some of them."""
    found = {}
    for name in ("route", "ipv6_route"):
        text = host.read_text("/proc/net/" + name, ROUTES_LIMIT)
        found["/proc/net/" + name] = text.text if text.ok or host.root == "/" else host.read_text(
            "%s/%s" % (BUNDLE_SOME_ROUTES, name), ROUTES_LIMIT).text
    return found


def _mtu_in_bundle(host, entry, entries):
    """The same of the interfaces that a bundle shows; None where these leave a doubt, since it may lack some."""
    names = host.list_dir(_NET)[1][:DEVICES_LIMIT]
    seen = next((kind for name in names for begin, kind in _PLUGINS if name.startswith(begin)), None)
    entry = entry or ({"type": seen} if seen else None)
    if entry is None:
        return None
    tunnels = _OVERLAYS.get(entry["type"], _TUNNELS)
    there = [name for name in tunnels if _is_up(host, name)]
    pods = _pods_mtu(host, entry, entries)
    # New pods get the MTU of the tunnel where no other one is set.
    pods = pods or (_Mtu(_mtu(host, there[0]), there[0]) if there and entry["type"] in ("flannel", "calico") else None)
    # A tunnel that is not used any more, or not yet, has another MTU than the pods.
    known = [name for name in there if pods and (tunnels is not _TUNNELS or _mtu(host, name) == pods.bytes)]
    defaults = _defaults(routes_of(host))
    # Without the loopback interface the list may lack other devices that carry packets.
    cards = _hardware(host) if "lo" in names else []
    uplinks = defaults if all(_mtu(host, name) for name in defaults) and defaults else cards
    carried = (_known([_mtu(host, name) for name in uplinks], min) if cards else None,
               _known([_mtu(host, name) for name in uplinks + cards], max) if cards else None)
    limits = [_limit(host, name, tunnels[name][1], carried) for name in known]
    lower = [link[len("lower_"):] for name in known for link in host.list_dir(_NET + name)[1]
             if link.startswith("lower_")]
    row = pods and _judged(host, entry, pods, lower[:1] or uplinks, carried, limits, tunnels)
    return row if row and (row["too_large"] or row["too_large"] is False and known == there) else None


def _judged(host, entry, pods, defaults, carried, limits, tunnels):
    """The evidence dict; `defaults` are the uplinks, of which the first is named."""
    if entry["type"] == "weave-net" and not limits:
        # Without its tunnel Weave's router fragments packets itself, and pods have 65535 (net/bridge.go, sleeve.go).
        return None
    row = {"pods_mtu": pods.bytes, "pods_source": pods.source, "uplink": defaults[0] if defaults else None,
           "uplink_mtu": _mtu(host, defaults[0]) if defaults else None, "tunnel": None, "tunnel_mtu": None,
           "encapsulation": None, "overhead_bytes": 0, "carried_bytes": None, "too_large": None, "reason": None}
    lowest, highest = carried
    if limits:
        # Each family has its own tunnel; pods send packets of their MTU through both.
        name, lowest, highest = min(limits, key=lambda limit: limit[2] or 0)
        row.update(tunnel=name, tunnel_mtu=_mtu(host, name), encapsulation=tunnels[name][0],
                   overhead_bytes=tunnels[name][1])
    if not lowest or not highest:
        return dict(row, reason="the MTU of the device of the default route could not be read")
    if lowest < pods.bytes <= highest:
        return dict(row, reason="the devices of this node have several MTUs, and the one of the traffic of pods is not "
                    "known")
    return dict(row, carried_bytes=highest, too_large=pods.bytes > highest)


def _defaults(routes):
    return sorted({route.interface for route in parse_proc_net_route(routes["/proc/net/route"])
                   + parse_proc_net_ipv6_route(routes["/proc/net/ipv6_route"]) if route.network is None} - {"lo"})


def _pods_mtu(host, entry, entries):
    """The largest `_Mtu` of pods, or None: of their devices on the node, and of the setting that new pods get."""
    inner = [_number(each.get("mtu")) for each in entries if each["type"] == "tuning"]
    found = [_Mtu(size, "the plugin tuning") for size in inner if size]
    if not found:  # The plugin tuning changes only the device in the pod.
        found = [_configured(host, entry)] + [_Mtu(_mtu(host, name), name) for name in _pod_devices(host, entry)]
    return max((mtu for mtu in found if mtu and mtu.bytes), key=lambda mtu: mtu.bytes, default=None)


def _configured(host, entry):
    delegate = entry.get("delegate") if entry["type"] == "flannel" else entry
    own = _number(delegate.get("mtu")) if isinstance(delegate, dict) else None
    if own:
        return _Mtu(own, "the CNI configuration")
    if entry["type"] == "flannel":
        path = "/run/flannel/subnet.env"
        return _Mtu(_digits(parse_assignments(host.read_text(path, 65536).text).get("FLANNEL_MTU", "")), path)
    if entry["type"] == "calico":
        # The plugin reads what Felix found out (projectcalico/calico felix/dataplane/linux, writeMTUFile).
        return _Mtu(_digits(host.read_text("/var/lib/calico/mtu", 64).text), "/var/lib/calico/mtu")
    if entry["type"] == "weave-net":
        # Pods get the MTU of the bridge. Its port to the datapath keeps the WEAVE_MTU of the first start (net/veth.go).
        return _Mtu(_mtu(host, "weave"), "weave")
    return None


def _pod_devices(host, entry):
    prefix = _DEVICES[entry["type"]]
    if prefix:
        names = [name for name in host.list_dir(_NET)[1] if name.startswith(prefix)][:PORTS_LIMIT]
        # Devices that are ports of a bridge belong to containers of Docker and other programs.
        return [name for name in names if entry["type"] != "ptp" or not host.exists(_NET + name + "/brport")]
    settings = entry.get("delegate") if entry["type"] == "flannel" else entry
    bridge = settings.get("bridge") if isinstance(settings, dict) else None
    bridge = bridge if isinstance(bridge, str) and bridge and "/" not in bridge else "cni0"
    return [name for name in host.list_dir(_NET + bridge + "/brif")[1] if name.startswith("veth")][:PORTS_LIMIT]


def _hardware(host):
    """Hardware devices, each of which may carry the traffic of pods."""
    names = host.list_dir(_NET)[1][:DEVICES_LIMIT]
    return [name for name in names if not name.startswith(("veth", "cali", "lxc"))
            and host.exists(_NET + name + "/device")]


def _limit(host, name, overhead, carried):
    """(tunnel, the lowest and the highest possible limit for packets in it); its link names the device below it."""
    lower = [_mtu(host, link[len("lower_"):]) for link in host.list_dir(_NET + name)[1] if link.startswith("lower_")]
    lowest, highest = (_known(lower, min), _known(lower, max)) if lower else carried
    return name, lowest and lowest - overhead, highest and highest - overhead


def _is_in_use(host, name, encapsulation, routes):
    """Whether the tunnel is up, and routes to other nodes use it: tunl0 exists as soon as its module is loaded."""
    if not _is_up(host, name):
        return False
    # WireGuard's routes are in another routing table, and Open vSwitch uses flows instead of routes; their devices
    # exist only where they are used.
    if encapsulation == "wireguard" or name in (_GENEVE, _VXLAN, _WEAVE):
        return True
    rows = [line.split() for text in routes.values() for line in text.splitlines() if name in line]
    return any(len(row) > 9 and name in (row[0], row[9])
               and _flags(row[3] if row[0] == name else row[8]) & _THROUGH_GATEWAY for row in rows)


def _is_up(host, name):
    return bool(_flags(host.read_text(_NET + name + "/flags", 64).text) & _UP)


def _flags(text):
    try:
        return int(text, 16)
    except ValueError:
        return 0


def _known(sizes, choose):
    """The smallest or largest of the sizes, None where one of them is not known."""
    return choose(sizes) if sizes and all(sizes) else None


def _mtu(host, name):
    return _digits(host.read_text(_NET + name + "/mtu", 64).text)


def _digits(text):
    text = text.strip()
    return int(text) if text.isdigit() and len(text) < 8 and int(text) else None


def _number(value):
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10 ** 7 else None
