# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An IP family that lost all chains of kube-proxy, beside the other one that has them. PRIVATE to the collection.

Whatever the families of the cluster, kube-proxy makes 12 or 13 chains in each family that iptables can write to (seen
with 1.21, 1.30 and 1.36; kubernetes cmd/kube-proxy/app/server_linux.go createProxier(), which both modes share). Up to
1.20 it creates them in the cluster's family only.
"""

from ..backends import FAMILIES
from ..observation import observe
from ..setting import proxy_since
from ..tables import chains_of, table_of
from .proxy import has_proxy, proxy_chains

_SINCE = (1, 21)
# Chains of table filter that only versions which write to both families create.
_NEWER = ("KUBE-NODEPORTS", "KUBE-NODE-PORT", "KUBE-PROXY-FIREWALL")
_TABLES = ("mangle", "nat", "filter")
_TITLES = {"ipv4": "IPv4", "ipv6": "IPv6"}


def ask_families(rule_sets, setting_by):
    """anchor_missing, once for a family that was flushed."""
    held = {rule_set.family: rule_set for rule_set in rule_sets if has_proxy(rule_set)}
    for family, other in zip(FAMILIES, reversed(FAMILIES)):
        if family in held or other not in held or not _writes_both(held[other], setting_by(held[other])):
            continue
        mine = [rule_set for rule_set in rule_sets if rule_set.family == family]
        backends = [rule_set.backend for rule_set in rule_sets if rule_set.family == other and has_proxy(rule_set)]
        usable = [rule_set for rule_set in mine
                  if rule_set.backend in backends and _is_usable(rule_set, setting_by(rule_set))]
        if usable and all(chains_of(rule_set, name) is not None for rule_set in mine for name in _TABLES):
            yield observe("anchor_missing", usable[0], "nat", "KUBE-SERVICES",
                          detail="all %s chains of kube-proxy were deleted; its %d %s chains exist" % (
                              _TITLES[family], len(proxy_chains(held[other])), _TITLES[other]))


def _writes_both(rule_set, setting):
    since, filters = proxy_since(setting, _SINCE), table_of(rule_set, "filter")
    return setting.mode in ("iptables", "ipvs") and (since or (
        since is None and filters is not None and any(chain in filters.chains for chain in _NEWER)))


def _is_usable(rule_set, setting):
    """True where kube-proxy can write: table nat exists, or no table exists at all because nft deleted them. Without
    IPv6 in the kernel no IPv6 table exists either. A legacy table exists as long as its kernel module is loaded."""
    return "nat" in rule_set.tables or (rule_set.backend == "nft" and rule_set.source == "live" and not rule_set.tables
                                        and (rule_set.family == "ipv4" or setting.ipv6 is True))
