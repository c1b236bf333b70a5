# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Service of a chain of kube-proxy's iptables mode, from the comments of rules. PRIVATE to the collection.

All chains of one port of a Service end in the same hash (kubernetes pkg/proxy/iptables/proxier.go portProtoHash()); the
chain of an endpoint has a hash of its own, and the chain that jumps to it identifies the Service. Above 1000 endpoints
only KUBE-SERVICES and KUBE-NODEPORTS have comments.
"""

import re

from .chain_hash import PROTOCOLS, chain_hash

_CHAIN = re.compile(r"\bKUBE-(?:SVC|SVL|EXT|FW|XLB|SEP)-([A-Z2-7]{16})\b")
_NAME_LIMIT = 143
_NAMES = 10


def with_names(rows, rule_sets):
    """The observations, which should be few; `detail` of a Service's chain begins with the name of the Service."""
    known = {}
    return [_named(row, rule_sets, known) for row in rows]


def _named(row, rule_sets, known):
    found = _CHAIN.search(row["chain"]) or _CHAIN.search(row["text"]) if row["table"] == "nat" else None
    if found is None:
        return row
    place = (row["family"], row["backend"])
    if place not in known:
        known[place] = [table for table in (rule_set.tables.get("nat") for rule_set in rule_sets
                                            if (rule_set.family, rule_set.backend) == place) if table]
    names = [name for name in (_name(table, found) for table in known[place]) if name]
    return dict(row, detail="%s: %s" % (names[0][:_NAME_LIMIT], row["detail"])) if names else row


def _name(table, found):
    """The name of the Service of a chain, or None."""
    services, chain, ending = table.services, found.group(0), found.group(1)
    if chain.startswith("KUBE-SEP-"):
        leading = next((name for name, (_chances, endpoints) in services.balancing.items() if chain in endpoints), None)
        if leading is None:
            return None
        ending = leading[-len(ending):]
    comments = [jump[5] for jump in services.jumps if jump[5] and jump[4].endswith(ending)]
    comments += [title for name, title in services.titles.items() if name.endswith(ending)]
    names = sorted({comment.partition(" ")[0] for comment in comments})
    # A rule may lead to the chain of another Service: the name of the chain proves which one it is.
    proven = [name for name in names[:_NAMES] for protocol in PROTOCOLS
              if names[1:] and chain_hash(name, protocol) == ending]
    return next(iter(proven + names), None)
