# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Missing rules that kube-proxy's nftables mode always writes into its own chains. PRIVATE to the collection.

Source: kubernetes pkg/proxy/nftables/proxier.go (setupNFTables) 1.30 to 1.36. Later versions write these chains at a
full sync only. A chain that no rule leads to is reported by the missing jump, or is not in use: mark-for-masquerade
remains empty for a while where 1.36 replaces an older version. So mark-for-masquerade is judged only where the rules of
all chains are known.
"""

import re

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
