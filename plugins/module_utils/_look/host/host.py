# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_host: what kind of machine this is."""

import json
import re

from ..._host.host import ABSENT, OK
from ..._names import BUNDLE_RECORD
from .place import BUNDLE, SYSTEM_FOLDERS, WITH_KERNEL

# Programs that kube-proxy, kubelet or the roles look for.
TOOLS = ("arptables", "conntrack", "depmod", "ebtables", "ip6tables", "ip6tables-restore", "ip6tables-save", "ipset",
         "iptables", "iptables-restore", "iptables-save", "ipvsadm", "modprobe", "nft")

# Marks of systems whose /usr or /etc is replaced as a whole, so that a change does not last or must not be made.
# Sources: ostree (/run/ostree-booted), systemd (/run/systemd/volatile), Flatcar, Talos, Bottlerocket documentation.
IMMUTABLE_MARKS = (("/run/ostree-booted", "ostree"), ("/etc/transactional-update.conf", "transactional-update"))
IMMUTABLE_IDS = ("flatcar", "talos", "bottlerocket", "cos", "fedora-coreos", "rhcos")
IMMUTABLE_VARIANTS = ("coreos", "silverblue", "iot")

_RUNTIME_SOCKETS = (
    ("/run/containerd/containerd.sock", "containerd"), ("/run/k3s/containerd/containerd.sock", "containerd"),
    ("/run/crio/crio.sock", "cri-o"), ("/run/docker.sock", "docker"), ("/run/cri-dockerd.sock", "cri-dockerd"))
_RUNTIME_BINARIES = (("containerd", "containerd"), ("crio", "cri-o"), ("dockerd", "docker"), ("podman", "podman"))


def collect_host(host, identity):
    """The evidence dict. `identity` is what tree.identify() returned for the same tree."""
    live = identity["place"] in WITH_KERNEL
    immutable_by = _immutable_by(host, identity["os"])
    return dict(identity, architecture=host.machine() if live else None,
                as_root=host.is_root() if identity["place"] != BUNDLE else None,
                bundle=_bundle(host) if identity["place"] == BUNDLE else None,
                boot_id=(host.read_text("/proc/sys/kernel/random/boot_id").text.strip() or None) if live else None,
                uptime_seconds=_uptime(host) if live else None, container_runtimes=_runtimes(host),
                immutable=immutable_by is not None, immutable_by=immutable_by,
                memory_bytes=read_memory(host) if live else None, cpu_count=read_cpus(host) if live else None,
                ipv6=_ipv6(host) if live else None, tools=_tools(host))


def _tools(host):
    """{program: its path, or None if it is not installed}; left out if a folder that may hold it cannot be searched."""
    found = {tool: host.binary(tool) for tool in TOOLS}
    return {tool: path for tool, (status, path) in found.items() if status in (OK, ABSENT)}


def _bundle(host):
    """The record of the bundle's layout, or, for a tree with parts of a node, how many parts were found and which
    are missing."""
    try:
        record = json.loads(host.read_text(BUNDLE_RECORD).text)
        return {"files": int(record["files"]), "recognised": int(record["recognised"]),
                "lacks": [{"subject": row["subject"], "evidence": row["evidence"]} for row in record["lacks"]]}
    except (ValueError, KeyError, TypeError):
        from ..._parse import bundle_parts
        found = len([folder for folder in SYSTEM_FOLDERS if host.is_dir(folder)])
        return {"files": found, "recognised": found,
                "lacks": [{"subject": what, "evidence": "the tree does not contain it"}
                          for what in bundle_parts.lacking(host.exists)]}


def _immutable_by(host, system):
    mark = next((by for path, by in IMMUTABLE_MARKS if host.exists(path)), None)
    if mark or system["id"] in IMMUTABLE_IDS:
        return mark or system["id"]
    return system["variant_id"] if system["variant_id"] in IMMUTABLE_VARIANTS else None


def _uptime(host):
    found = re.match(r"(\d{1,12})\b", host.read_text("/proc/uptime").text)
    return int(found.group(1)) if found else None


def read_cpus(host):
    """Processors that are online (/proc/stat has a line for each)."""
    lines = host.read_text("/proc/stat").text.splitlines()
    return sum(1 for line in lines if line.startswith("cpu") and line[3:4].isdigit()) or None


def read_memory(host):
    found = re.search(r"^MemTotal:\s+(\d{1,15}) kB$", host.read_text("/proc/meminfo").text, re.M)
    return int(found.group(1)) * 1024 if found else None


def _ipv6(host):
    """Whether this network namespace can use IPv6: if_inet6 exists with the protocol, and disable_ipv6 is not on."""
    if host.read_text("/proc/sys/net/ipv6/conf/all/disable_ipv6").text.strip() == "1":
        return False
    return {OK: True, ABSENT: False}.get(host.read_text("/proc/net/if_inet6").status)


def _runtimes(host):
    found = {name for path, name in _RUNTIME_SOCKETS if host.exists(path)}
    found.update(name for binary, name in _RUNTIME_BINARIES if host.find_binary(binary))
    return sorted(found)
