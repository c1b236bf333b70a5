# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the kernels of a tree support an iptables backend."""

from ..modules.look import Look
from ..modules.state import AVAILABLE, UNKNOWN

# The modules that kube-proxy's chains need from each backend. Since Linux 6.17 the legacy tables have an option of
# their own, which is off by default (CONFIG_NETFILTER_XTABLES_LEGACY).
_MODULES = {"nft": ("nf_tables", "nft_compat"),
            "legacy": ("ip_tables", "iptable_filter", "iptable_nat", "iptable_mangle")}
_TABLES = "/proc/net/ip_tables_names"


def kernel_lacks(host, node, backend):
    """Why a backend would not work, as half a sentence, or None. A tree without a kernel lacks nothing."""
    if backend == "legacy" and node["place"] == "live" and len(host.read_text(_TABLES).text.split()) > 2:
        return None  # The running kernel holds such tables.
    look = Look(host, node)
    if not look.kernels and node["place"] != "live":
        return None
    for name in _MODULES[backend]:
        row = look.module(name)
        for releases, state, why in [([look.judged], row["state"], row["evidence"])] + [
                (group["releases"], group["state"], group["evidence"]) for group in row["kernels"]
                if node["place"] != "live"]:
            if state not in AVAILABLE:
                return ("support in kernel %s is unknown (%s: %s)" if state == UNKNOWN
                        else "kernel %s lacks %s (%s)") % (releases[0], name, why)
    return None
