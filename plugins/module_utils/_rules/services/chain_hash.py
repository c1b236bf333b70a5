# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hashes at the end of the names of kube-proxy's chains. PRIVATE to the collection.

kubernetes pkg/proxy/iptables/proxier.go portProtoHash() and servicePortEndpointChainName().
"""

import base64
import hashlib

# Bytes of a hash that 16 characters of base32 hold, and those characters.
_BYTES, HASH_LENGTH = 10, 16
PROTOCOLS = ("tcp", "udp", "sctp")
_LAST_PORT = 65535


def chain_hash(*words):
    """The hash at the end of the name of a chain, made of these words."""
    return chain_hashes(["".join(words)])


def chain_hashes(texts):
    """The hashes of several names, joined in the same order."""
    digests = [hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()[:_BYTES] for text in texts]
    return base64.b32encode(b"".join(digests)).decode("ascii")


def endpoint_text(endpoint):
    """An endpoint, (address, port, ...), as kube-proxy writes it into a hash."""
    return ("[%s]:%d" if ":" in endpoint[0] else "%s:%d") % endpoint[:2]


def port_of_hash(ending, service, protocol, address):
    """The port for which the hash of the Service's endpoint `address:port` is `ending`, or None."""
    try:
        wanted = base64.b32decode(ending)
    except ValueError:
        return None
    # The common start of all candidates is hashed once and no hash is encoded, so a search takes a tenth of a second.
    begin = hashlib.sha256((service + protocol + endpoint_text((address, 0))[:-1]).encode("utf-8", "backslashreplace"))
    for port in range(1, _LAST_PORT + 1):
        candidate = begin.copy()
        candidate.update(b"%d" % port)
        if candidate.digest()[:_BYTES] == wanted:
            return port
    return None
