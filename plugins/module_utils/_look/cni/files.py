# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CNI configuration files of a node, as libcni and the container runtime take them."""

import collections
import stat

from ..._host.host import ABSENT, OK, UNPARSED

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
