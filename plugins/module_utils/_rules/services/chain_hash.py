# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hashes that names of kube-proxy's chains end in. PRIVATE to the collection.

kubernetes pkg/proxy/iptables/proxier.go portProtoHash() and servicePortEndpointChainName().
"""

import base64
import hashlib

# Bytes of a hash that 16 characters of base32 hold, and those characters.
_BYTES, HASH_LENGTH = 10, 16
PROTOCOLS = ("tcp", "udp", "sctp")


def chain_hash(*words):
    """The end of the name of a chain that is made of these words."""
    return chain_hashes(["".join(words)])


def chain_hashes(texts):
    """The ends of several names, one behind the other."""
    digests = [hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()[:_BYTES] for text in texts]
    return base64.b32encode(b"".join(digests)).decode("ascii")


def endpoint_text(endpoint):
    """An endpoint, (address, port, ...), as kube-proxy writes it into a hash."""
    return ("[%s]:%d" if ":" in endpoint[0] else "%s:%d") % endpoint[:2]
