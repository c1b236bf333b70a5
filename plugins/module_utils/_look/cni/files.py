# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CNI configuration files of a node, as libcni and the container runtime take them.

Where the container runtime of a node looks for CNI configurations and plugins.
"""

import collections
import posixpath
import stat

from ..._host.host import ABSENT, OK, UNPARSED
from ..processes import find_processes, of_this_network

# libcni ConfFiles(); directories are skipped.
ENDINGS = (".conf", ".conflist", ".json")
FILES_LIMIT, SIZE_LIMIT, PLUGINS_LIMIT = 12, 256 * 1024, 16

# Plugin type of the network configuration -> name of the network.
NETWORKS = {"flannel": "flannel", "calico": "calico", "cilium-cni": "cilium", "weave-net": "weave", "aws-cni": "aws",
            "azure-vnet": "azure", "antrea": "antrea", "ovn-k8s-cni-overlay": "ovn"}
# kube-router configures the bridge plugin; its file name identifies it (cloudnativelabs/kube-router daemonset).
FILE_NAMES = {"10-kuberouter.conf": "kube-router", "10-kuberouter.conflist": "kube-router"}
# Plugins that run the network of another file.
_META = ("multus", "multus-shim", "multus-cni", "genie", "danm")

# `status` of reading it, `config` a CniConfig or None.
ConfFile = collections.namedtuple("ConfFile", "path status config problem")


def conf_files(host, folder):
    """(status of the directory, [ConfFile] in the order of their names, how many were left out)."""
    status, names = host.list_dir(folder)
    names = [name for name in names if name.endswith(ENDINGS) and not host.is_dir(folder + "/" + name)]
    return status, [_file(host, folder + "/" + name) for name in names[:FILES_LIMIT]], len(names[FILES_LIMIT:])


def _file(host, path):
    text = host.read_text(path, SIZE_LIMIT)
    if text.ok:
        from ..._parse.kube.cni_config import parse_cni_config
        config = parse_cni_config(text.text, path.endswith(".conflist"))
        return ConfFile(path, OK, config, config.problem)
    found = host.stat(path)
    if text.status == ABSENT:
        return ConfFile(path, text.status, None, "is a link to a file that does not exist")
    if found is not None and not stat.S_ISREG(found.st_mode):
        return ConfFile(path, UNPARSED, None, "is not a regular file")
    return ConfFile(path, text.status, None, None)


def used_files(files, runtime):
    """The files that the runtime uses, in order. containerd stops at an invalid file; other runtimes skip it."""
    if runtime.network:
        files = [row for row in files if row.config and row.config.name == runtime.network]
    if runtime.skips:
        files = [row for row in files if not row.problem]
    return files[:runtime.used] if runtime.used else files


def network_of(row):
    """Name of the network a file is for, `other`, or None where its plugins are not known."""
    if not row.config or not row.config.plugins:
        return None
    return FILE_NAMES.get(row.path.rpartition("/")[2]) or next(
        (NETWORKS[plugin] for plugin in row.config.plugins if plugin in NETWORKS), "other")


def is_meta(row):
    """Whether the file is for a plugin that runs the network of another file."""
    return bool(row.config and set(row.config.plugins) & set(_META))


def in_use(row, used):
    """Whether pods get their network by this file: the runtime uses it, or a plugin such as Multus runs it."""
    return row in used or any(map(is_meta, used))


def file_rows(files, used):
    return [{"path": row.path, "status": row.status, "used": row in used, "problem": row.problem,
             "network": row.config.name[:64] if row.config and row.config.name else None,
             "plugins": [plugin[:64] for plugin in row.config.plugins[:PLUGINS_LIMIT]] if row.config else [],
             "hidden_by": _hidden_by(row, used)} for row in files]


def _hidden_by(row, used):
    """The file in use that replaces this one, or None where both may exist on purpose."""
    if row in used or row.problem or not row.config:
        return None
    return next((first.path for first in used if first.config and not first.problem and _hides(first, row)), None)


def _hides(first, other):
    """Whether both files would set up the network of pods: they have the same name, or the other file belongs to an
    agent that the chain in use is not built on. podman and cri-o install a bridge configuration of their own, which
    does no harm while it is not used."""
    types = set(first.config.plugins)
    if is_meta(first) or "loopback" in other.config.plugins:
        return False
    if (first.config.name, first.config.plugins) == (other.config.name, other.config.plugins):
        return False  # A copy, such as a backup.
    if first.config.name and first.config.name == other.config.name:
        return True
    agents = set(other.config.plugins) & set(NETWORKS)
    # A chain such as aws-cni with cilium-cni is built on the file of aws-cni, which stays.
    chained = agents and agents < types & set(NETWORKS)
    return network_of(other) != "other" and not chained


CONFIG_DIRECTORY, PROGRAM_DIRECTORY = "/etc/cni/net.d", "/opt/cni/bin"
CONFIG_LIMIT, DROP_INS_LIMIT = 256 * 1024, 20
# The file that containerd reads by default, and the list of files with those of distributions before it.
CONTAINERD_CONFIG = "/etc/containerd/config.toml"
CONTAINERD_CONFIGS = ("/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
                      "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
                      "/var/snap/microk8s/current/args/containerd.toml", "/etc/k0s/containerd.toml", CONTAINERD_CONFIG)
CRIO_CONFIG, CRIO_DROP_INS = "/etc/crio/crio.conf", "/etc/crio/crio.conf.d"
# containerd pkg/cri/config: version 2 and version 3 of its configuration.
_PLUGINS = ("io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "cri")

# `status` of reading its configuration, `source`: the file or None; `name`: None where several may be in use; `used`:
# the number of CNI files that it uses, 0 for all; `skips`: whether it skips invalid files; `network`: the network that
# its configuration names, or None.
Runtime = collections.namedtuple("Runtime", "status name source conf_dir bin_dirs used skips network")


def runtime_of(host, node):
    """The `Runtime` of a tree: from its process where one runs, otherwise from its configuration."""
    names = ("containerd", "crio", "cri-dockerd")
    processes = find_processes(host, names)[1] if node["place"] == "live" else []
    # moby starts a containerd only for itself.
    processes = [process for process in of_this_network(host, processes) if process.contained is not True
                 and "/docker/" not in (process.option("config", "c") or "")]
    by_name = {process.name: process for process in processes}
    if "cri-dockerd" in by_name:
        return _cri_dockerd(by_name["cri-dockerd"])
    configs = _containerd_configs(processes)
    if len(by_name) > 1 or len(configs) > 1:
        return Runtime(UNPARSED, None, None, CONFIG_DIRECTORY, [PROGRAM_DIRECTORY], 1, None, None)
    if "crio" in by_name or not by_name and (host.exists(CRIO_CONFIG) or host.exists(CRIO_DROP_INS)):
        return _crio(host)
    paths = configs or [path for path in CONTAINERD_CONFIGS if host.exists(path)]
    return _containerd(host, paths[0] if paths else CONTAINERD_CONFIG)


def _containerd_configs(processes):
    """Configuration files of the containerd processes. Docker runs one with the default file besides that of k3s."""
    paths = {process.option("config", "c") or CONTAINERD_CONFIG
             for process in processes if process.name == "containerd"}
    return sorted(paths - {CONTAINERD_CONFIG} or paths)


def _cri_dockerd(process):
    """Mirantis/cri-dockerd network/cni: it skips an invalid file."""
    folder, programs = process.option("cni-conf-dir"), process.option("cni-bin-dir")
    return Runtime(process.status, "cri-dockerd", None, folder or CONFIG_DIRECTORY,
                   [part for part in (programs or PROGRAM_DIRECTORY).split(",") if part], 1, True, None)


def _containerd(host, path):
    status, keys = containerd_keys(host, path)
    found = {key[3]: value for key, value in sorted(keys.items())
             if len(key) == 4 and key[0] == "plugins" and key[1] in _PLUGINS and key[2] == "cni"}
    programs = found.get("bin_dirs") or found.get("bin_dir") or PROGRAM_DIRECTORY
    # containerd pkg/cri/server/cni_conf_syncer.go: one file, unless max_conf_num is another number.
    hidden = any(_is_hidden(keys, ("plugins", plugin, "cni")) for plugin in _PLUGINS)
    return _runtime(UNPARSED if hidden else status, "containerd", path if status == OK else None,
                    found.get("conf_dir") or CONFIG_DIRECTORY, [programs] if isinstance(programs, str) else programs,
                    found.get("max_conf_num", 1), False, None)


def containerd_keys(host, path):
    """(status, settings) of a configuration file of containerd and the files that it imports."""
    status, keys = read_keys(host, path)
    keys, imports = keys or {}, (keys or {}).get(("imports",), [])
    if not isinstance(imports, list):
        status, imports = UNPARSED, []
    for pattern in imports:
        for extra in _matching(host, posixpath.join(posixpath.dirname(path), pattern)):
            read, more = read_keys(host, extra)
            status = read if read not in (OK, ABSENT) else status
            keys.update(more or {})
    return status, keys


def _crio(host):
    status, keys, source = crio_keys(host)
    found = {key[2]: value for key, value in keys.items() if len(key) == 3 and key[:2] == ("crio", "network")}
    return _runtime(UNPARSED if _is_hidden(keys, ("crio", "network")) else status, "cri-o", source,
                    found.get("network_dir") or CONFIG_DIRECTORY, found.get("plugin_dirs") or [PROGRAM_DIRECTORY], 1,
                    True, found.get("cni_default_network") or None)


def crio_keys(host):
    """(status, settings, the file with the CNI settings) of cri-o: drop-ins are read after the file, by name; ocicni
    skips an invalid file."""
    status, keys = read_keys(host, CRIO_CONFIG)
    keys = keys or {}
    source, listed = CRIO_CONFIG if status == OK else None, _matching(host, CRIO_DROP_INS + "/*")
    for path in listed:
        read, more = read_keys(host, path)
        status = OK if (read, status) == (OK, ABSENT) else read if read not in (OK, ABSENT) else status
        if any(key[:2] == ("crio", "network") for key in more or {}):
            source = path
        keys.update(more or {})
    return status, keys, source


def _runtime(status, name, source, folder, programs, used, skips, network):
    """The `Runtime`; a value of a wrong type makes it `unparsed`, with the defaults instead."""
    wrong = [value for value, kind in ((folder, str), (programs, list), (used, int), (network or "", str))
             if not isinstance(value, kind)]
    if wrong:
        return Runtime(UNPARSED, name, source, CONFIG_DIRECTORY, [PROGRAM_DIRECTORY], 1, None, None)
    return Runtime(status, name, source, folder.rstrip("/"), [part.rstrip("/") for part in programs], used, skips,
                   network)


def _is_hidden(keys, table):
    """Whether the table, or a table around it, is written in a form that is not read, such as an inline table."""
    return any(table[:length] in keys for length in range(1, len(table) + 1))


def read_keys(host, path):
    """(status, settings or None) of a TOML file."""
    text = host.read_text(path, CONFIG_LIMIT)
    if not text.ok:
        return text.status, None
    from ..._parse.toml_keys import parse_toml_keys
    return OK, parse_toml_keys(text.text)


def _matching(host, pattern):
    """The files that match a pattern with at most one `*`, in its last part."""
    folder, base = posixpath.split(pattern)
    before, star, after = base.partition("*")
    if not star:
        return [pattern]
    names = [name for name in host.list_dir(folder)[1] if name.startswith(before) and name.endswith(after)]
    return [folder + "/" + name for name in names[:DROP_INS_LIMIT]]
