# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of other programs in the chains of kube-proxy's own nftables tables. PRIVATE to the collection.

kube-proxy's chains end a packet in few places (kubernetes pkg/proxy/nftables/proxier.go 1.29 to 1.36): reject-chain,
cluster-ips-check, the chains firewall-HASH of sourceRanges, and a return in masquerading.
"""

import re

from ..._parse.nft.rules import without_quoted

_ENDING = re.compile(r"(?:^| )(accept|drop|reject|return|redirect|dnat|notrack|queue)(?: |$)")
_CLEARING = re.compile(r"(?:^| )mark set (?:0x[0-9a-f]+|\d+)(?: |$)")
_KINDS = {"drop": "unexpected_drop", "reject": "unexpected_drop", "notrack": "untracked"}
# The rules by which kube-proxy itself ends a packet: chain, rule.
_OWN = {
    "reject-chain": re.compile(r"reject( with|$)"),
    "cluster-ips-check": re.compile(r'@cluster-ips (counter .* )?reject|drop comment "Drop traffic to unallocated '
                                    r'ClusterIPs"'),
    "masquerading": re.compile(r"^(?:meta )?(?:mark|bitwise|cmp).* return$")}


def foreign_rules(table):
    """A generator of (kind, chain, text, detail) of rules that are not kube-proxy's."""
    for name in sorted(table.chains):
        if "/" in name and (name.startswith("firewall-")
                            or (name.startswith("endpoint-") and not table.chains[name].endpoints)):
            # Chains of sourceRanges refuse packets; an endpoint's chain without a translation is unsound anyhow.
            continue
        for text in table.chains[name].texts:
            plain = without_quoted(text).replace("ct status dnat", "")
            ending = _ENDING.search(plain)
            if ending and not ("/" in name
                               and ending.group(1) == "dnat") and not (name in _OWN and _OWN[name].search(text)):
                kind = _KINDS.get(ending.group(1), "anchor_shadowed")
                yield kind, name, text, "this rule is not kube-proxy's: %s in a chain of its table" % ending.group(1)
            elif _CLEARING.search(plain):
                yield "mark_cleared", name, text, "this rule is not kube-proxy's: it clears the mark for masquerading"
