# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What targets do, and which of them are not chains. PRIVATE to the collection."""

VERDICTS = frozenset(("ACCEPT", "DROP", "REJECT", "RETURN"))
REFUSALS = frozenset(("DROP", "REJECT"))
TRANSLATIONS = frozenset(("DNAT", "MASQUERADE", "NETMAP", "REDIRECT", "SNAT"))

# After these the rest of the chain is not reached. NFQUEUE and QUEUE hand the packet to a program.
TERMINAL = VERDICTS | TRANSLATIONS | frozenset(("NFQUEUE", "QUEUE", "TPROXY"))

# Targets of iptables (extensions/ of its source), of older kernels, and of xtables-addons; none of them is a chain.
EXTENSIONS = TERMINAL | frozenset(
    (
        "AUDIT", "CHECKSUM", "CLASSIFY", "CLUSTERIP", "CONNMARK", "CONNSECMARK", "CT", "DNPT", "DSCP", "ECN", "HL",
        "HMARK", "IDLETIMER", "LED", "LOG", "MARK", "MIRROR", "NFLOG", "NOTRACK", "RATEEST", "SAME", "SECMARK", "SET",
        "SNPT", "SYNPROXY", "TCPMSS", "TCPOPTSTRIP", "TEE", "TOS", "TRACE", "TTL", "ULOG", "FLOWOFFLOAD", "FULLCONENAT",
        "ROUTE", "NETFLOW", "IMQ", "ACCOUNT", "CHAOS", "DELUDE", "DHCPMAC", "DNETMAP", "ECHO", "IPMARK", "LOGMARK",
        "PROTO", "RAWDNAT", "RAWSNAT", "STEAL", "SYSRQ", "TARPIT", "mark", "dnat", "snat", "redirect", "arpreply",
        "mangle"))
