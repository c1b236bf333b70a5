# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a table `kube-proxy` of nftables mode that do not depend on the Services. PRIVATE to the collection.

Names and hooks: kubernetes pkg/proxy/nftables/proxier.go from 1.29 to 1.36. The base chains for filtering moved behind
DNAT with kubernetes pull request 132456 (1.34), which patch releases of older versions adopted. So a table is compared
with the layout that it is nearest to, and the version decides only where the table itself does not. mark-for-masquerade
(gone in 1.36) and hairpin-connections (new in 1.36) are not anchors: the kernel keeps them as long as a rule needs
them.

Missing rules that kube-proxy's nftables mode always writes into its own chains.

Source: kubernetes pkg/proxy/nftables/proxier.go (setupNFTables) 1.30 to 1.36. Later versions write these chains at a
full sync only. A chain that no rule leads to is reported by the missing jump, or is not in use: mark-for-masquerade
remains empty for a while where 1.36 replaces an older version. So mark-for-masquerade is judged only where the rules of
all chains are known.
"""

import collections
import re

# base {name: (type, hook)}. chains: regular ones. sets: sets and maps. jumps {chain: {chain it must lead to}}.
Layout = collections.namedtuple("Layout", "base chains sets jumps")

_BASE = {
    "nat-prerouting": ("nat", "prerouting"), "nat-output": ("nat", "output"), "nat-postrouting": ("nat", "postrouting"),
    "filter-input": ("filter", "input"), "filter-forward": ("filter", "forward"), "filter-output": ("filter", "output")}
_CHAINS = ("services", "masquerading", "firewall-check", "reject-chain")
_SETS = ("service-ips", "service-nodeports", "no-endpoint-services", "no-endpoint-nodeports")
_JUMPS = {"nat-prerouting": {"services"}, "nat-output": {"services"}, "nat-postrouting": {"masquerading"}}

_CHECKS = ("service-endpoints-check", "nodeport-endpoints-check", "cluster-ips-check")
_CHECKED = ("cluster-ips", "firewall-ips")
_CHECK_JUMPS = {
    "filter-input": {"service-endpoints-check", "nodeport-endpoints-check"},
    "filter-forward": {"service-endpoints-check", "cluster-ips-check"}}


def _with(base, jumps):
    return Layout(dict(_BASE, **base), _CHAINS + _CHECKS, _SETS + _CHECKED, dict(dict(_JUMPS, **_CHECK_JUMPS), **jumps))


# What all releases share; 1.29 was an alpha and changed in its patch releases.
SHARED = Layout(_BASE, _CHAINS, _SETS, _JUMPS)
# 1.30 to 1.33.
BEFORE_DNAT = _with(
    {"filter-prerouting": ("filter", "prerouting"), "filter-output-post-dnat": ("filter", "output")},
    {"filter-prerouting": {"firewall-check"}, "filter-output": {"service-endpoints-check", "firewall-check"},
     "filter-output-post-dnat": {"cluster-ips-check"}})
# 1.34 and newer.
BEHIND_DNAT = _with(
    {"filter-prerouting-pre-dnat": ("filter", "prerouting"), "filter-output-pre-dnat": ("filter", "output")},
    {"filter-prerouting-pre-dnat": {"firewall-check"}, "filter-output-pre-dnat": {"firewall-check"},
     "filter-output": {"service-endpoints-check", "cluster-ips-check"}})


def layout_of(table, kubernetes):
    """The Layout a table (listing.Table) is to be compared with; `kubernetes` is (1, 34) or None."""
    candidates = [BEFORE_DNAT, BEHIND_DNAT]
    if kubernetes is not None and kubernetes >= (1, 34):
        candidates.reverse()  # max() takes the first of two layouts that fit equally well.
    nearest = max(candidates, key=lambda layout: _own_share(layout, table))
    if _own_share(nearest, table) > 0.5 or (kubernetes is not None and kubernetes >= (1, 31)):
        return nearest
    return SHARED


def _own_share(layout, table):
    """The share of this layout's own objects, without the shared ones, that exist."""
    own = (set(layout.base) | set(layout.chains)
           | set(layout.sets)) - set(SHARED.base) - set(SHARED.chains) - set(SHARED.sets)
    return sum(name in table.chains or name in table.sets for name in own) / float(len(own))


# {chain: (words of a rule that it always has, the effect of losing that rule)}
_ALWAYS = {
    "service-endpoints-check": ("vmap @no-endpoint-services", "Services without endpoints are not refused"),
    "nodeport-endpoints-check": ("vmap @no-endpoint-nodeports", "NodePorts without endpoints are not refused"),
    "firewall-check": ("vmap @firewall-ips", "loadBalancerSourceRanges are not enforced"),
    "cluster-ips-check": ("@cluster-ips", "ports of ClusterIPs that no Service has are not refused"),
    "reject-chain": ("reject", "Services without endpoints are not refused"),
    "mark-for-masquerade": ("", "no packet is marked, so no Service traffic is masqueraded")}
_ALL = re.compile(r"^(?:counter(?: packets \d+ bytes \d+)? )?masquerade(?: |$)")


def emptied_chains(table):
    """A generator of (chain, detail); `table` is a listing.Table."""
    for name in sorted(_ALWAYS):
        words, effect = _ALWAYS[name]
        chain = table.chains.get(name)
        # Only the first rules of a chain with very many rules are kept.
        if (chain is None or chain.rules is None or chain.rules > len(chain.texts)
                or any(words in text for text in chain.texts)):
            continue
        if _is_reached(table, name):
            yield name, "%s: %s" % (effect, "no rule has %s" % words if chain.rules else "the chain has no rule")


def marked_masquerade(text):
    """Whether a rule masquerades packets with the mark; 1.36 has another rule for endpoints that reach themselves."""
    return "masquerade" in text and "@hairpin-connections" not in text


def masquerades_all(table):
    """The masquerade rule that takes every packet, as the return without the mark before it is gone; or None."""
    texts = table.chains["masquerading"].texts if "masquerading" in table.chains else ()
    place = next((index for index, text in enumerate(texts) if _ALL.match(text)), None)
    return None if place is None or any(text.endswith(" return") for text in texts[:place]) else texts[place]


def unlisted_addresses(table):
    """The ClusterIPs of service-ips where the set of ClusterIPs is empty: kube-proxy adds each ClusterIP to both."""
    listed, served = table.sets.get("cluster-ips"), table.sets.get("service-ips")
    if listed is None or served is None or listed.elements or not listed.complete:
        return set()
    # External addresses lead to the chain of external traffic.
    return {element.key[0] for element in served.elements if (element.target or "").startswith(("service-", "local-"))}


def _is_reached(table, name):
    """Whether a rule leads to a chain, directly or through a map."""
    if any(name in chain.targets for chain in table.chains.values()):
        return True
    maps = {holder for holder in table.sets if any(element.target == name for element in table.sets[holder].elements)}
    return any(text.endswith("vmap @" + holder) for holder in maps for chain in table.chains.values()
               for text in chain.texts)
