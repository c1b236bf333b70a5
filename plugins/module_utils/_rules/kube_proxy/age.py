# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether kube-proxy is older than 1.20; older versions write other jumps and rules. PRIVATE to the collection.

Where the version is not known the rules decide: only kube-proxy up to 1.19 jumps from INPUT to KUBE-SERVICES, and only
up to 1.18 one rule of KUBE-POSTROUTING both matches the mark and masquerades (kubernetes pkg/proxy/iptables/proxier.go,
pkg/proxy/ipvs/proxier.go).
"""

from ..rules import uses
from ..setting import proxy_since
from ..tables import table_of

# Chains that only newer versions create: beside them a jump that remained after an upgrade proves nothing.
_NEWER = (("filter", ("KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL", "KUBE-NODE-PORT")), ("nat", ("KUBE-EXT-", "KUBE-SVL-")))
_1_20 = (1, 20)


def is_before_1_20(rule_set, setting):
    """True if the version or the rules prove it; False if it is not known."""
    newer = proxy_since(setting, _1_20)
    return not newer if newer is not None else _looks_old(rule_set)


def writes(rule_set, setting, since, until):
    """Whether kube-proxy writes what exists from version `since` on and before `until` (either may be None); None if
    that is not known."""
    ended = None if until is None else proxy_since(setting, until)
    if until is not None and ended is not False:
        return ended is None and is_before_1_20(rule_set, setting)
    written = True if since is None else proxy_since(setting, since)
    return False if written is None and since >= _1_20 and is_before_1_20(rule_set, setting) else written


def masquerades_by_mark(rule):
    """True for the one rule of KUBE-POSTROUTING up to 1.18."""
    return rule.target == "MASQUERADE" and uses(rule, "mark")


def _looks_old(rule_set):
    if any(chain.startswith(names) for name, names in _NEWER
           for chain in getattr(table_of(rule_set, name), "chains", ())):
        return False
    return (any(rule.target == "KUBE-SERVICES" for rule in _rules(rule_set, "filter", "INPUT"))
            and not any(rule.target == "KUBE-EXTERNAL-SERVICES"
                        for rule in _rules(rule_set, "filter", "FORWARD"))) or any(
                            masquerades_by_mark(rule) for rule in _rules(rule_set, "nat", "KUBE-POSTROUTING"))


def _rules(rule_set, name, chain):
    table = table_of(rule_set, name)
    return table.chains[chain].rules if table is not None and chain in table.chains else ()
