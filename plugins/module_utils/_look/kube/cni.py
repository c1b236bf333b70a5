# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_cni: which network plugin this node uses, and which networks it is in. PRIVATE to the collection."""

from ..._host.host import ABSENT, UNPARSED
from ..._parse.kube.cni_config import parse_cni_config
from .cluster_ranges import node_networks, service_ranges

DIRECTORY = "/etc/cni/net.d"
ENDINGS = (".conf", ".conflist", ".json")
PLUGINS_LIMIT = 16

# Plugin type of the network configuration -> name of the network.
NETWORKS = {
    "flannel": "flannel", "calico": "calico", "cilium-cni": "cilium", "weave-net": "weave", "aws-cni": "aws",
    "azure-vnet": "azure", "antrea": "antrea", "ovn-k8s-cni-overlay": "ovn",
}
# kube-router configures the bridge plugin; its file name tells (cloudnativelabs/kube-router daemonset manifests).
FILE_NAMES = {"10-kuberouter.conf": "kube-router", "10-kuberouter.conflist": "kube-router"}


def collect_cni(host, node):
    """The evidence dict. Container runtimes use the first file by name (containernetworking libcni ConfFiles)."""
    status, names = host.list_dir(DIRECTORY)
    files = [name for name in names if name.endswith(ENDINGS)]
    section = {
        "schema": 1, "collected": {"net_d": status, "routes": ABSENT}, "file": None, "plugins": [], "name": None,
        "node_networks": [], "service_ranges": [], "service_ranges_source": None,
    }
    if node["place"] == "live":
        section["collected"]["routes"], section["node_networks"] = node_networks(host)
        section["service_ranges"], section["service_ranges_source"] = service_ranges(host)
    if not files:
        return section
    text = host.read_text(DIRECTORY + "/" + files[0])
    plugins = parse_cni_config(text.text) if text.ok else None
    section["file"] = DIRECTORY + "/" + files[0]
    if plugins is None:
        section["collected"]["net_d"] = text.status if not text.ok else UNPARSED
        return section
    section["plugins"] = [plugin[:64] for plugin in plugins[:PLUGINS_LIMIT]]
    section["name"] = FILE_NAMES.get(files[0]) or next((NETWORKS[plugin] for plugin in plugins if plugin in NETWORKS),
                                                       "other")
    return section
