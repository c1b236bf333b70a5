# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which backend the kube-proxy that runs here writes to, by the iptables it uses.

Used only where both backends hold its rules. At its first run a wrapper links itself to one backend
(kubernetes-sigs/iptables-wrappers)."""

from ..processes import find_processes
from .iptables_builds import build_of_process
from .iptables_files import backend_of

_BACKENDS = ("nft", "legacy")


def proxy_backend(host, kube_proxy):
    """nft or legacy; None where that is not known, as with a wrapper that has not run yet. `kube_proxy`: its
    section."""
    backend, root = None, kube_proxy["tools_root"]
    if kube_proxy["runs_in"] == "host":
        path = host.find_binary("iptables-restore")
        backend = backend_of(host, path) if path else None
    elif kube_proxy["runs_in"] == "container":
        mine = [process for process in find_processes(host, ("kube-proxy",))[1]
                if "/proc/%d/root" % process.pid == root]
        backend = build_of_process(mine[0], {})[1]["backend"] if mine else None
    return backend if backend in _BACKENDS else None
