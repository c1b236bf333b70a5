# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems of the tables of kube-proxy's nftables mode. PRIVATE to the collection.

kube-proxy writes each family in one transaction, so a partial state never comes from kube-proxy itself. It has no
canary in nftables mode: from 1.31 on it does not notice `nft flush ruleset` until a Service changes, and then repairs
that family only (seen with 1.31 to 1.36). kube-proxy empties a chain that it no longer needs and deletes it with a
later sync (kernels before 6.2 refuse to delete it at once). So empty chains that no rule refers to are normal, and only
a chain that still has rules can be an orphan.

Rules of other programs in the chains of kube-proxy's own nftables tables.

kube-proxy's chains end a packet in few places (kubernetes pkg/proxy/nftables/proxier.go 1.29 to 1.36): reject-chain,
cluster-ips-check, the chains firewall-HASH of sourceRanges, and a return in masquerading.
"""

import collections
import re

from ..._parse.nft.kube_tables import NAME, leads_nowhere, lost_addresses
from ..._parse.nft.statements import without_quoted
from ..observation import observe
from .layout import emptied_chains, layout_of, marked_masquerade, masquerades_all, unlisted_addresses
from .service_chains import judge_service_chains

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


ADDRESSES_SHOWN = 5
NFT_FAMILY = {"ipv4": "ip", "ipv6": "ip6"}

_Where = collections.namedtuple("_Where", "family backend")
# A rule that ends the evaluation of every packet: no match, at most a counter or a comment.
_BARE = re.compile(r"^(?:counter(?: packets \d+ bytes \d+)? )?(accept|drop|reject|return)(?: with [a-z0-9 -]+)?(?: "
                   r"comment \".*\")?$")


def ask_nftables(found, setting):
    """All observations of `found`, the KubeTables of a node; `setting` gives the mode and the version.

    Empty where the tables could not be read. The caller sorts them (observation.merged).
    """
    if not found.looked:
        return []
    rows = list(_missing_tables(found, setting))
    for family in sorted(found.tables):
        if setting.mode in ("iptables", "ipvs"):
            rows.append(_seen("other_mode", family, "", "table %s %s" % (NFT_FAMILY[family], NAME),
                              len(found.tables[family].chains),
                              "a table of nftables mode, but kube-proxy runs in %s mode" % setting.mode))
            continue
        rows += _unjudged(found, family)
        # The lost part of a truncated dump may hold the objects that would be reported as missing.
        for question in _OF_ANY if family in found.cut else _OF_ANY + (_anchors, _emptied, _dangling, _service_chains,
                                                                       _addresses):
            rows += question(found, family, setting)
    return rows


def _seen(kind, family, chain, text="", count=1, detail=""):
    return observe(kind, _Where(family, "nft"), "%s %s" % (NFT_FAMILY[family], NAME), chain, text, count, detail)


def _missing_tables(found, setting):
    """anchor_missing: a whole table. kube-proxy makes one for each family that the node has, whatever the families of
    the cluster (cmd/kube-proxy/app/server_linux.go platformCheckSupported); after `nft flush ruleset` 1.31 and newer
    restore only one of them."""
    if setting.mode != "nftables":
        return
    has_ipv6 = found.ipv6 if found.ipv6 is not None else any(name == "ip6" for name, _table in found.others)
    for family, other in (("ipv4", "ipv6"), ("ipv6", "ipv4")):
        if family not in found.tables and (found.ipv4 if family == "ipv4" else has_ipv6):
            there = ", while the one of %s does" % other if other in found.tables else ""
            yield _seen("anchor_missing", family, "", "table %s %s" % (NFT_FAMILY[family], NAME), 1,
                        "kube-proxy runs in nftables mode, but this table does not exist%s: no Service of this family "
                        "works" % there)


def _anchors(found, family, setting):
    table, layout = found.tables[family], layout_of(found.tables[family], setting.kubernetes)
    if "dormant" in table.flags:
        yield _seen("anchor_missing", family, "", "flags dormant", 1,
                    "the table is dormant: none of its base chains sees a packet")
    for name, (kind, hook) in sorted(layout.base.items()):
        chain = table.chains.get(name)
        if chain is None:
            yield _seen("anchor_missing", family, name, "", 1, "this base chain does not exist")
        elif (chain.type, chain.hook) != (kind, hook):
            is_now = "type %s hook %s" % (chain.type, chain.hook) if chain.is_base else "no base chain"
            yield _seen("anchor_missing", family, name, is_now, 1,
                        "this chain must be of type %s at hook %s" % (kind, hook))
    for name in layout.chains:
        if name not in table.chains:
            yield _seen("anchor_missing", family, name, "", 1, "this chain does not exist")
    for name in layout.sets:
        if name not in table.sets and (family, name) not in found.unread:
            yield _seen("anchor_missing", family, "", name, 1, "this map or set does not exist")
    for name, target in _lost_jumps(table, layout):
        yield _seen("anchor_missing", family, name, "", 1, "no rule of this chain jumps to %s" % target)


def _lost_jumps(table, layout):
    """(chain, target that none of its rules leads to) of chains whose rules are known."""
    for name in sorted(layout.jumps):
        chain = table.chains.get(name)
        if chain is not None and chain.rules is not None:
            for target in sorted(layout.jumps[name] - set(chain.targets)):
                yield name, target
    services, masquerading = table.chains.get("services"), table.chains.get("masquerading")
    if services is not None and services.rules is not None:
        for name in ("service-ips", "service-nodeports"):
            if not any("vmap @%s" % name in text for text in services.texts):
                yield "services", "@" + name
    if masquerading is not None and masquerading.rules is not None and not any(marked_masquerade(text)
                                                                               for text in masquerading.texts):
        yield "masquerading", "masquerade"


def _shadowed(found, family, setting):
    """anchor_shadowed: a rule for all packets stands before the rule that jumps to the next chain."""
    table = found.tables[family]
    wanted = {name: ["jump " + target for target in targets]
              for name, targets in layout_of(table, setting.kubernetes).jumps.items()}
    wanted["services"] = ["vmap @service-ips", "vmap @service-nodeports"]
    wanted["masquerading"] = ["masquerade"]
    for name in sorted(wanted):
        texts = table.chains[name].texts if name in table.chains else ()
        bare = next((index for index, text in enumerate(texts) if _BARE.match(text)), None)
        hidden = [words for words in wanted[name] if bare is not None and any(words in text for text in texts[bare:])
                  and not any(words in text for text in texts[:bare])]
        if hidden:
            yield _seen("anchor_shadowed", family, name, texts[bare], 1,
                        "this rule ends the chain before %s" % ", ".join(sorted(hidden)))


def _refusals(found, family, _setting):
    """unexpected_drop: a policy, a rule for all packets, or a Service that is both served and refused."""
    table = found.tables[family]
    for name, chain in sorted(table.chains.items()):
        if chain.policy == "drop":
            yield _seen("unexpected_drop", family, name, "policy drop", 1,
                        "kube-proxy's base chains have the policy accept")
        for text in chain.texts if name != "reject-chain" else ():
            if _BARE.match(text) and _BARE.match(text).group(1) in ("drop", "reject"):
                yield _seen("unexpected_drop", family, name, text, 1, "this rule refuses all packets")
    for served, refused in (("service-ips", "no-endpoint-services"), ("service-nodeports", "no-endpoint-nodeports")):
        if served in table.sets and refused in table.sets:
            keys = {element.key for element in table.sets[served].elements}
            # A Service of policy Local without an endpoint here is in both maps, with the verdict drop.
            for element in table.sets[refused].elements:
                if element.key in keys and element.verdict == "goto":
                    yield _seen("unexpected_drop", family, "", " . ".join(element.key), 1,
                                "this key is both in %s and in %s" % (served, refused))


def _foreign(found, family, _setting):
    """Rules with a match that end packets in kube-proxy's own chains; _shadowed() and _refusals() judge the others."""
    for kind, chain, text, detail in foreign_rules(found.tables[family]):
        if not _BARE.match(text):
            yield _seen(kind, family, chain, text, 1, detail)


def _emptied(found, family, _setting):
    for chain, detail in emptied_chains(found.tables[family]):
        yield _seen("emptied_chain", family, chain, "", 1, detail)
    masquerade = masquerades_all(found.tables[family])
    if masquerade:
        yield _seen("lost_match", family, "masquerading", masquerade, 1,
                    "masquerades every packet the node forwards or sends: no rule before it returns packets without "
                    "the mark")
    addresses = unlisted_addresses(found.tables[family])
    if addresses:
        yield _seen("anchor_missing", family, "", "set cluster-ips", 1,
                    "the set cluster-ips is empty, and service-ips has %s: %s" % (
                        "a ClusterIP" if len(addresses) == 1 else "%d ClusterIPs" % len(addresses),
                        "ports of ClusterIPs that no Service has are not refused"))


def _dangling(found, family, _setting):
    for target, holder in sorted(leads_nowhere(found.tables[family]).items()):
        yield _seen("dangling_jump", family, target, "", 1, "%s jumps to this chain, which does not exist" % holder)


def _service_chains(found, family, _setting):
    """Problems in the chains of Services: only where the rules of all chains are known."""
    if found.deep.get(family) is not None:
        return
    for kind, chain, text, detail, count in judge_service_chains(found.tables[family]):
        yield _seen(kind, family, chain, text, count, detail)


def _unjudged(found, family):
    """unjudged_table: nothing is reported about the chains of Services of a table that was not read completely."""
    reason = found.deep.get(family) if family not in found.cut else None
    if reason is not None:
        yield _seen("unjudged_table", family, "", "", 1,
                    "the rules inside the chains of Services are not judged: %s" % reason)


def _addresses(found, family, _setting):
    table = found.tables[family]
    lost = lost_addresses(table)
    if lost and (found.deep.get(family) is not None or table.sets["service-ips"].elements):
        yield _seen("half_repaired", family, "", lost[0], len(lost),
                    "cluster-ips has %s that neither service-ips nor no-endpoint-services has: %s" % (
                        "a ClusterIP" if len(lost) == 1 else "%d ClusterIPs" % len(lost),
                        ", ".join(lost[:ADDRESSES_SHOWN]) + (", ..." if lost[ADDRESSES_SHOWN:] else "")))


_OF_ANY = (_shadowed, _refusals, _foreign)
