# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the nodes of a cluster serve the same? By the digests of meaning of their rules. PRIVATE to the collection.

Nodes are read one after the other, and a cluster lives meanwhile. A node I(differs) only if the others read the same
before and after it; else the cluster may have changed in between, and it counts as I(moving) until somebody looks
again.
"""

PARTS = ("services", "endpoints")


def compare(digests):
    """`{part: {"most", "hosts", "differs", "moving", "unknown"}}` for `{host: digest or None}`; None where less than
    two are known.

    `most` is the digest of most hosts (of those read last, where two are even), `hosts` how many have it.
    """
    known = {part: {host: digest for host, digest in digests.items() if digest and digest[part]} for part in PARTS}
    return {part: _compared(part, known[part], len(digests) - len(known[part])) for part in PARTS}


def _compared(part, known, unknown):
    if len(known) < 2:
        return None
    groups = {}
    for host, digest in known.items():
        groups.setdefault(digest[part], []).append((digest["read_at"] or "", host))
    most = max(groups, key=lambda value: (len(groups[value]), max(groups[value]), value))
    times = [read_at for read_at, _host in groups[most]]
    others = sorted((host, read_at) for value, readings in groups.items() if value != most
                    for read_at, host in readings)
    return {
        "most": most, "hosts": len(times), "unknown": unknown,
        "differs": [host for host, read_at in others if min(times) <= read_at <= max(times)],
        "moving": [host for host, read_at in others if not min(times) <= read_at <= max(times)],
    }
