# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the xtables lock matters on a node: only legacy iptables takes it. PRIVATE to the collection.

The nft variants of iptables and nft itself never take it, because the kernel serialises their changes (iptables
xshared.c is called from legacy sources only).
"""

from ..._host.host import ABSENT, OK
from ..backends.iptables_files import backend_of

NAMES = ("/proc/net/ip_tables_names", "/proc/net/ip6_tables_names")
PROGRAMS = ("iptables", "iptables-restore", "ip6tables", "ip6tables-restore")


def lock_matters(host):
    """(true, false or null, why). The lists of tables belong to the network namespace of this look, and reading them
    creates no table."""
    lists = [host.read_text(path) for path in NAMES]
    tables = sorted(set(" ".join(text.text for text in lists).split()))
    if tables:
        return (True,
                "legacy tables exist (%s): every legacy iptables that touches them takes the lock" % ", ".join(tables))
    kinds = {_kind(host, program) for program in PROGRAMS} - {None}
    if "legacy" in kinds:
        return True, "iptables of the node is legacy: its next command takes the lock"
    if any(text.status not in (OK, ABSENT) for text in lists):
        return None, "the list of legacy tables could not be read"
    if "unknown" in kinds:
        return None, "no legacy table exists, and the file does not show which backend the iptables of the node uses"
    return False, "no legacy table exists and %s: nft writers take no lock" % ("iptables of the node is nft"
                                                                               if kinds else "the node has no iptables")


def _kind(host, program):
    status, path = host.binary(program)
    if not path:
        return None if status == ABSENT else "unknown"
    kind = backend_of(host, path)
    return "unknown" if kind == "wrapper" else kind
