# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_cni: which network plugin this node uses, and which networks it is in.

The networks that running pods were attached to, with the settings of that time.

libcni keeps a file for each attachment until the network was removed again (containernetworking/cni libcni/api.go:
results below /var/lib/cni; Mirantis/cri-dockerd --cni-cache-dir: below /var/lib/cni/cache). The file of a pod that
ended in a crash or a reboot stays, so it counts only for a sandbox that runs.
"""

import collections
import posixpath
import re
import stat
import time

from ..._host.host import ABSENT, OK, UNPARSED
from ..._names import BUNDLE_SOME_ROUTES, UNCOLLECTED
from ..._parse.assignments import parse_assignments
from ..._parse.proc.network_files import parse_proc_net_ipv6_route, parse_proc_net_route
from ..kube.embedded_arguments import K3S_CONFIG, MICROK8S_ARGUMENTS, k3s_options, microk8s_arguments
from ..processes import find_processes, of_this_network, option_of, status_of_notes
from .files import NETWORKS, conf_files, file_rows, network_of, runtime_of, used_files
from .host_local import DATA_DIRECTORY, ipam_of
from .sandboxes import running_ids

PLUGINS_LIMIT, PROGRAMS_LIMIT = 16, 16
# Plugins that the pods of agents install besides the plugins of their networks.
_INSTALLED_WITH = ("calico-ipam", "azure-vnet-ipam", "egress-cni", "multus", "multus-shim")
NETWORKS_LIMIT, RANGES_LIMIT, FLANNEL_FILE = 8, 4, "/run/flannel/subnet.env"
# About 30,000 routes, as on a node that learns the routes of all other nodes.
ROUTES_LIMIT = 4 * 1024 * 1024
ROUTES = "/proc/net/route"
# Interfaces of nodes whose pods have a range of their own.
_OF_NODES = re.compile(r"(?:cni0|cbr0|kube-bridge|weave|tunl0|cali[0-9a-f]{4,11}|flannel[.-][\w-]+|(?:vxlan|wireguard)"
                       r"\.(?:cali|calico))\Z")
# Link-local and multicast, which are behind every interface.
_EVERYWHERE = ("169.254.", "224.", "fe80:", "ff00:")
# Program that is or contains the API server -> its flag.
_API_SERVERS = {"kube-apiserver": "service-cluster-ip-range", "k3s-server": "service-cidr",
                "kubelite": "service-cluster-ip-range"}


def collect_cni(host, node):
    """The evidence dict."""
    runtime = runtime_of(host, node)
    status, files, left_out = conf_files(host, runtime.conf_dir)
    used = used_files(files, runtime)
    section = {
        "schema": 1, "collected": {"net_d": status, "conf_dir": status, "routes": ABSENT, "runtime": runtime.status,
                                   "processes": ABSENT, "sandboxes": ABSENT, "service_ranges": ABSENT},
        "file": None, "plugins": [], "name": None, "node_networks": [], "service_ranges": [],
        "service_ranges_source": None, "runtime": None, "files": [], "files_left_out": 0, "programs": [], "agent": None,
        "host_local": [], "mtu": None, "attached": None, "pod_networks": pod_networks(host)}
    if node["place"] == "bundle":
        from .mtu import mtu_of
        section["mtu"] = mtu_of(host, files, used, False)
        section["collected"]["routes"], section["node_networks"] = _networks_of_bundle(host)
    if node["place"] == "live":
        section["collected"]["routes"], section["node_networks"] = node_networks(host)
        found = service_ranges(host)
        section["collected"]["service_ranges"], section["service_ranges"], section["service_ranges_source"] = found
    # If the runtime uses none of the files, the first file is the reason.
    chosen = used or files[:1]
    if not chosen:
        if node["place"] == "live":
            pods, known, status = attached_pods(host, node, time.time())
            section["attached"] = len(pods) if known and status == OK else None
        return section
    section.update(
        file=chosen[0].path, files=file_rows(files, used), files_left_out=left_out,
        runtime={"name": runtime.name, "source": runtime.source, "conf_dir": runtime.conf_dir,
                 "bin_dirs": runtime.bin_dirs[:4]},
        programs=[] if node["place"] == "bundle" else program_rows(host, node["place"], used, runtime.bin_dirs[:4]))
    if chosen[0].status != OK or not chosen[0].config.plugins:
        section["collected"]["net_d"] = chosen[0].status if chosen[0].status != OK else UNPARSED
    if chosen[0].config:
        section["plugins"] = [plugin[:64] for plugin in chosen[0].config.plugins[:PLUGINS_LIMIT]]
        section["name"] = network_of(chosen[0])
    if node["place"] == "live":
        from .agent import agent_of
        from .host_local import host_local_of
        from .mtu import mtu_of
        now = time.time()
        entries = chosen[0].config.entries if chosen[0].config else []
        # kindnetd configures ptp or bridge; the name in its file identifies it (kubernetes-sigs/kind images/kindnetd).
        kindnet = chosen[0].config and chosen[0].config.name == "kindnet"
        section["collected"]["processes"], section["agent"] = agent_of(
            host, node, "kindnet" if kindnet else section["name"], entries, now)
        section["collected"]["sandboxes"], section["host_local"] = host_local_of(host, files, used, runtime, now)
        section["mtu"] = mtu_of(host, files, used)
    return section


# Whether the plugins of a CNI configuration are installed where the runtime looks.
# The files are inspected and never run.
def program_rows(host, place, files, bin_dirs):
    """A row for each program that the files in use need. The pods of agents install their plugins at their first start,
    so an image need not have these."""
    names = []
    for row in files:
        names += [name for name in row.config.programs if name not in names] if row.config else []
    if place != "live":
        names = [name for name in names if name not in NETWORKS and name not in _INSTALLED_WITH]
    return [_program(host, name, bin_dirs) for name in names[:PROGRAMS_LIMIT]]


def _program(host, name, bin_dirs):
    """libcni FindInPath(): the first regular file of that name in the order of the directories."""
    row = {"name": name[:64], "path": None, "state": "missing", "reason": "not found in %s" % ", ".join(bin_dirs)}
    if "/" in name or "\0" in name:
        return dict(row, reason="a type with a slash is refused")
    for folder in bin_dirs:
        path = folder + "/" + name
        with host.noting() as notes:
            found = host.stat(path)
        if found is None and notes.get(path, ABSENT) != ABSENT:
            return dict(row, path=path, state="unknown", reason="%s could not be read: %s" % (path, notes[path]))
        if found is not None and stat.S_ISREG(found.st_mode):
            return dict(row, path=path, **_judged(path, found))
    return row


def _judged(path, found):
    if not found.st_mode & 0o111:
        return {"state": "not_executable", "reason": "%s has no execute permission" % path}
    if not found.st_size:
        return {"state": "empty", "reason": "%s is empty" % path}
    return {"state": "present", "reason": path}


def node_networks(host):
    """(status, [{"family", "network", "interface"}]): the networks directly behind the interfaces of the default
    routes. Bridges and tunnels of pods have no default route."""
    found, statuses = [], []
    for family, path, parse in (("ipv4", ROUTES, parse_proc_net_route),
                                ("ipv6", "/proc/net/ipv6_route", parse_proc_net_ipv6_route)):
        text = host.read_text(path, ROUTES_LIMIT)
        # A kernel without IPv6 has no such file, and a bundle may have the first one alone.
        statuses += [text.status] if text.status not in (ABSENT, UNCOLLECTED) or family == "ipv4" else []
        if text.status == UNCOLLECTED:
            text = host.read_text(BUNDLE_SOME_ROUTES + path[len("/proc/net"):], ROUTES_LIMIT)
        routes = parse(text.text) if text.ok else []
        uplinks = {route.interface for route in routes if route.network is None}
        found += [{"family": family, "network": route.network, "interface": route.interface} for route in routes
                  if route.network and route.interface in uplinks and not route.network.startswith(_EVERYWHERE)]
    return next((status for status in statuses if status != OK), OK), found[:NETWORKS_LIMIT]


def _networks_of_bundle(host):
    """The same, where the bundle shows an interface of pods that have a range of their own: other pods have addresses
    of the nodes' network on purpose, and a pod has a default route, too."""
    from .mtu import routes_of
    texts = routes_of(host)
    names = {route.interface for path, parse in ((ROUTES, parse_proc_net_route),
                                                 ("/proc/net/ipv6_route", parse_proc_net_ipv6_route))
             for route in parse(texts[path], gateways=True)} | set(host.list_dir("/sys/class/net")[1])
    status, networks = node_networks(host) if any(map(_OF_NODES.match, names)) else (ABSENT, [])
    return (status, networks) if networks else (ABSENT, [])


def pod_networks(host):
    """The network of all pods, as flanneld writes it at its start (flannel-io/flannel pkg/subnet, WriteSubnetFile)."""
    values = parse_assignments(host.read_text(FLANNEL_FILE, 65536).text)
    found = [values.get(name, "") for name in ("FLANNEL_NETWORK", "FLANNEL_IPV6_NETWORK")]
    return [part.strip()[:64] for text in found for part in text.split(",") if part.strip()][:RANGES_LIMIT]


def service_ranges(host):
    """(status, [range], its source or None) of an API server that runs here; `absent` where no API server runs."""
    status, processes = find_processes(host, _API_SERVERS)
    servers = of_this_network(host, processes)
    statuses = [status] if status != OK or servers else [ABSENT]
    for process in servers:
        flag = _API_SERVERS[process.name]
        read, text, source = OK, process.option(flag), "--%s of %s" % (flag, process.name)
        if not text:
            read, text, source = _in_files(host, process.name, flag)
        ranges = [part.strip() for part in (text or "").split(",") if part.strip()]
        if ranges:
            return OK, ranges[:RANGES_LIMIT], source
        statuses.append(read)
    return next((status for status in statuses if status != OK), OK), [], None


def _in_files(host, program, flag):
    """(status, text or None, its source) from the files that a program takes arguments from; a program without such
    files, and files that do not exist, are `ok`."""
    status, text, source = OK, None, None
    if program == "k3s-server":
        status, options = k3s_options(host, (flag,))
        text, source = ",".join((options or {}).get(flag, [])), "%s in %s" % (flag, K3S_CONFIG)
    elif program == "kubelite":
        status, arguments = microk8s_arguments(host, "kube-apiserver")
        text, source = option_of(arguments, flag), "%s in %s" % (flag, MICROK8S_ARGUMENTS % "kube-apiserver")
    return OK if status == ABSENT else status, text, source


FOLDERS = ("/var/lib/cni/results", "/var/lib/cni/cache/results")
# flannel-io/cni-plugin keeps the configuration of the plugin that it runs for a pod here (saveScratchNetConf).
_OF_FLANNEL = "/var/lib/cni/flannel"
READ_LIMIT, SIZE_LIMIT = 1024, 256 * 1024
_NAME = re.compile(r".+-([0-9a-f]{64})-[^-]+\Z")

# `path` of the file, `result` a CniResult, `entries` the settings of the plugins that ran.
Attached = collections.namedtuple("Attached", "path result entries")


def attached_pods(host, node, before):
    """([Attached] of the running sandboxes whose file is older than `before`, whether it is known which sandboxes
    run, status of reading the files)."""
    with host.noting() as notes:
        listed = [(folder, name) for folder in FOLDERS for name in host.list_dir(folder)[1]]
    found = [(folder + "/" + name, _NAME.match(name)) for folder, name in listed]
    found = [(path, match.group(1)) for path, match in found if match]
    if not found:
        return [], True, status_of_notes(notes)
    status, running = running_ids(host, runtime_of(host, node))
    paths = [path for path, sandbox in found if running is None or sandbox in running][:READ_LIMIT]
    with host.noting() as of_files:
        pods = list(filter(None, (_read(host, path, before) for path in paths)))
    return pods, status == OK, status_of_notes(dict(notes, **of_files))


def _read(host, path, before):
    seen, text = host.stat(path), host.read_text(path, SIZE_LIMIT)
    if seen is None or seen.st_mtime > before or not text.ok:
        return None
    from ..._parse.kube.cni_config import parse_cni_result
    result = parse_cni_result(text.text)
    if result is None or "-%s-" % result.sandbox not in path:
        return None
    return Attached(path, result, [_delegate(host, entry, result) or entry for entry in result.entries])


def _delegate(host, entry, result):
    """The settings of the plugin that flannel ran, or None."""
    if entry["type"] != "flannel":
        return None
    from ..._parse.kube.cni_config import parse_cni_config
    given = entry.get("dataDir")
    folder = posixpath.join("/", given) if isinstance(given, str) and given else _OF_FLANNEL
    text = host.read_text("%s/%s" % (folder, result.sandbox), SIZE_LIMIT)
    entries = parse_cni_config(text.text, False).entries if text.ok else []
    return entries[0] if entries else None


def is_still_attached(host, attached, family):
    """Whether the network of the pod is not being removed now, None where that is not known: the plugins remove the
    lease before their rules, and libcni removes its file after both."""
    if host.presence(attached.path) != OK:
        return False
    for ipam in filter(None, map(ipam_of, attached.entries)):
        folder = ipam.get("dataDir")
        folder = posixpath.join("/", folder) if isinstance(folder, str) and folder else DATA_DIRECTORY
        leases = [host.read_text("%s/%s/%s" % (folder, attached.result.network, address))
                  for address in attached.result.addresses if "ipv%d" % address.version == family]
        if any(lease.text.split("\n")[0].strip() == attached.result.sandbox for lease in leases):
            return True
        return False if all(lease.status in (OK, ABSENT) for lease in leases) else None
    return True
