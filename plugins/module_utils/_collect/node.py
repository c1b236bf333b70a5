# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All sections of one node in one look. PRIVATE to the collection."""

from ._bounds import fitted
from ._tree import open_tree
from .cni import collect_cni
from .host import collect_host
from .iptables_backend import collect_iptables_backend
from .kernel_modules import collect_kernel_modules
from .kube_proxy import collect_kube_proxy
from .kubelet import collect_kubelet

# Section -> collector(host, node, modules, kernel); node is what _identity.identify() tells, on which all of them depend.
COLLECTORS = {
    "host": lambda host, node, modules, kernel: collect_host(host, node),
    "kernel_modules": collect_kernel_modules,
    "iptables_backend": lambda host, node, modules, kernel: collect_iptables_backend(host, node),
    "kubelet": lambda host, node, modules, kernel: collect_kubelet(host, node),
    "kube_proxy": lambda host, node, modules, kernel: collect_kube_proxy(host, node),
    "cni": lambda host, node, modules, kernel: collect_cni(host),
}
SECTIONS = tuple(sorted(COLLECTORS))


def collect_from(host, node, sections, modules=None, kernel=None):
    """C({"node_<section>": evidence}) for the sections asked for. Raises BadInput."""
    return dict(("node_" + section, COLLECTORS[section](host, node, modules, kernel)) for section in sections)


def collect_sections(sections, root="/", place=None, modules=None, kernel=None):
    """The same for a tree that is still to be opened, as it is returned to the user."""
    host, node = open_tree(root, place)
    return fitted(collect_from(host, node, sections, modules, kernel))
