# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the container runtime of a node looks for CNI configurations and plugins."""

import collections
import posixpath

from ..._host.host import ABSENT, OK, UNPARSED
from ..agents import of_this_network
from ..processes import find_processes

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
