# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All sections of one node in one look. PRIVATE to the collection."""

from .. import _errors, _host
from ._bounds import fitted
from ._place import system_tree_problem
from .cni import collect_cni
from .host import collect_host
from .iptables_backend import collect_iptables_backend
from .kernel_modules import collect_kernel_modules
from .kube_proxy import collect_kube_proxy
from .kubelet import collect_kubelet

# Section -> collector(host, node_host, modules, kernel). node_host itself is always read: the others depend on its place.
COLLECTORS = {
    "host": lambda host, node, modules, kernel: node,
    "kernel_modules": collect_kernel_modules,
    "iptables_backend": lambda host, node, modules, kernel: collect_iptables_backend(host, node),
    "kubelet": lambda host, node, modules, kernel: collect_kubelet(host, node),
    "kube_proxy": lambda host, node, modules, kernel: collect_kube_proxy(host, node),
    "cni": lambda host, node, modules, kernel: collect_cni(host),
}
SECTIONS = tuple(sorted(COLLECTORS))


def open_tree(root="/", place=None):
    """(Host, node_host) of a tree; commands are allowed in a live place only. Raises BadInput for what the caller got wrong."""
    if not root.startswith("/"):
        raise _errors.BadInput("root %r is no absolute path; give the whole path of the tree on the node" % root)
    host = _host.Host(root)
    problem = system_tree_problem(host)
    if problem:
        raise _errors.BadInput(problem)
    node = collect_host(host, place)
    host.commands = host.commands and node["place"] == "live"
    return host, node


def collect_sections(sections, root="/", place=None, modules=None, kernel=None):
    """C({"node_<section>": evidence}) for the sections asked for. Raises BadInput."""
    host, node = open_tree(root, place)
    return fitted(dict(("node_" + section, COLLECTORS[section](host, node, modules, kernel)) for section in sections))
