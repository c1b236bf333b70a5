# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Endpoints that kube-proxy has programmed and that no rule of their Service leads to any more. PRIVATE to the collection.

Without the first of its n rules a Service balances fairly between n-1 endpoints: only the chain of the one that was forgotten tells.
Whose it is, its name proves (kubernetes pkg/proxy/iptables/proxier.go servicePortEndpointChainName()).
"""

import base64
import hashlib

from .endpoints import balancing_of, endpoint_of
from .observation import observe

# So many chains are asked whose they are.
_LIMIT = 50
_DETAIL = "no rule of the Service leads to its endpoint %s any more"


def ask_shares(rule_set, table, unreached):
    """wrong_probability of the Service, or orphan_chain where it is not known, of KUBE-SEP chains in C(unreached); also of endpoints
    that only returning clients are led to."""
    found = list(_returning(rule_set, table))
    sound = [(name, endpoint_of(table, name)[0]) for name in unreached[:_LIMIT]]
    owners = _owners(table) if sound else {}
    for name, endpoint in sound:
        if endpoint is not None:
            service = next((service for service in owners if name == "KUBE-SEP-" + _hash(service[0], service[1], _text(endpoint))), None)
            if service is None:
                found.append(observe("orphan_chain", rule_set, "nat", name, detail="a sound endpoint that no rule leads to"))
            elif owners[service]:
                found.append(_share(rule_set, owners[service], name, endpoint))
    return found


def _returning(rule_set, table):
    for chain, endpoints in sorted(table.services.affinity.items()):
        balanced = set([endpoint for _chance, endpoint in balancing_of(table, chain)])
        for name in endpoints:
            endpoint = endpoint_of(table, name)[0]
            if name not in balanced and endpoint is not None:
                yield _share(rule_set, chain, name, endpoint)


def _share(rule_set, chain, name, endpoint):
    return observe("wrong_probability", rule_set, "nat", chain, "-A %s -j %s" % (chain, name), 1, _DETAIL % _text(endpoint))


def _owners(table):
    """{(namespace/name:port, protocol): the chain that balances, None if it is not there} of the Services whose names comments tell."""
    owners = {}
    for name, protocol in set([((jump[5] or "").partition(" ")[0], jump[2]) for jump in table.services.jumps]):
        chains = [prefix + _hash(name, protocol) for prefix in ("KUBE-SVC-", "KUBE-SVL-", "KUBE-XLB-")]
        owners[name, protocol] = next((chain for chain in chains if chain in table.chains), None)
    return owners


def _hash(*words):
    return base64.b32encode(hashlib.sha256("".join(words).encode("utf-8", "backslashreplace")).digest()).decode("ascii")[:16]


def _text(endpoint):
    address, port = endpoint[:2]
    return ("[%s]:%d" if ":" in address else "%s:%d") % (address, port)
