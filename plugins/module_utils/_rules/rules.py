# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers for questions about one rule. PRIVATE to the collection.

What targets do, and which of them are not chains.

Rules that end their chain: no rule behind them is reached.

Addresses and networks of rules as numbers, to compare many of them.
"""

import functools
import ipaddress
import re

from .others.owners import CNI, KUBERNETES, owner_of

_PORT = re.compile(r"^(\d{1,5})(?::(\d{0,5}))?$")


def match_options(rule, match):
    """The options of one match of the rule, `[(option, [values], negated)]`; empty if it does not use that match."""
    return [option for name, options in rule.matches if name == match for option in options]


def uses(rule, match):
    """True if the rule uses that match, even without an option."""
    return any(name == match for name, _options in rule.matches)


def states(rule):
    """The connection states that the rule is limited to; an empty set if it has no such limit, or a negated list."""
    found = set()
    for match in ("conntrack", "state"):
        for option, values, negated in match_options(rule, match):
            if option in ("--ctstate", "--state") and not negated:
                found.update(state for value in values for state in value.split(","))
    return found


def is_limit(rule):
    """True if the rule applies only beyond a number of connections or a rate, and so to none of the first packets."""
    over = ("--connlimit-above", "--hashlimit-above")
    under = ("--connlimit-upto", "--hashlimit-upto")
    return any(option in (under if negated else over) and values[:1] != ["0"]
               for match in ("connlimit", "hashlimit") for option, values, negated in match_options(rule, match))


def to_local(rule):
    """True if the rule is limited to destinations that are addresses of the node."""
    return any(option == "--dst-type" and "LOCAL" in values and not negated
               for option, values, negated in match_options(rule, "addrtype"))


def port_ranges(rule):
    """The destination ports the rule is limited to, `[(first, last)]`; None if it names no
    port or excludes ports."""
    return _ranges(rule, False)


def all_but_ports(rule):
    """The destination ports that a rule excludes, where it matches all others; None where it excludes no port."""
    return _ranges(rule, True)


def _ranges(rule, but):
    for _name, options in rule.matches:
        for option, values, negated in options:
            if option in ("--dport", "--dports", "--ports", "--destination-port", "--destination-ports"):
                return [_range(text) for value in values for text in value.split(",")
                        if _PORT.match(text)] if negated is but else None
    return None


def _range(text):
    first, last = _PORT.match(text).groups()
    return int(first), int(first) if last is None else int(last or 65535)


def plain_value(rule, option):
    """The value of `-s`, `-d`, `-i`, `-o` or `-p` unless it is absent or negated."""
    value, negated = rule.options.get(option, (None, False))
    return None if negated else value


VERDICTS = frozenset(("ACCEPT", "DROP", "REJECT", "RETURN"))
REFUSALS = frozenset(("DROP", "REJECT"))
TRANSLATIONS = frozenset(("DNAT", "MASQUERADE", "NETMAP", "REDIRECT", "SNAT"))

# After these the rest of the chain is not reached. NFQUEUE and QUEUE hand the packet to a program, which reinjects it
# behind the hook.
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


# Deeper than the jumps that a kernel follows in nft tables (NFT_JUMP_STACK_SIZE, 16); only an edited dump is deeper.
_DEPTH_LIMIT = 30


def ends_chain(rule):
    """True for a rule that takes every packet out of its chain."""
    return not rule.has_match and (rule.goto or rule.target in TERMINAL)


def takes_all(table, rule):
    """True for a rule of a built-in chain that no packet gets past: it ends the chain, or jumps without a match to
    another program's chain from which no packet returns. Refusals in such a chain are reported on their own."""
    return ends_chain(rule) or (_is_plain_jump(table, rule) and _keeps_all(table, rule.target, {}, 0))


def _is_plain_jump(table, rule):
    """True for a rule that sends all packets to another program's chain."""
    return (not rule.has_match and rule.target in table.chains
            and owner_of(rule.target, table.name) not in KUBERNETES + CNI)


def _keeps_all(table, name, known, depth):
    """`known`: {chain: answer}. Each chain is asked once: chains may jump to each other many times, or lead back to
    themselves, and those keep nothing."""
    if name not in known:
        known[name] = False
        known[name] = depth < _DEPTH_LIMIT and _keeps(table, name, known, depth)
    return known[name]


def _keeps(table, name, known, depth):
    for rule in table.chains[name].rules:
        if rule.target == "RETURN" or (rule.goto and rule.has_match):
            return False  # After a goto the packet returns to the caller of this chain.
        if not rule.has_match and rule.target in TERMINAL:
            return rule.target not in REFUSALS
        if _is_plain_jump(table, rule) and _keeps_all(table, rule.target, known, depth + 1):
            return True
        if rule.goto:
            return False
    return False


_LENGTH = re.compile(r"\d{1,3}\Z")


def number_of(address):
    """The address as a number; None for a text that is not an address."""
    try:
        return int(ipaddress.ip_address(address))
    except ValueError:
        return None


@functools.lru_cache(maxsize=1024)
def range_of(network):
    """(first, last) number of the value of `-s` or `-d`; None for an invalid address, and for a mask with holes."""
    address, slash, length = network.partition("/")
    number, bits = number_of(address), 128 if ":" in address else 32
    if number is None or (slash and (not _LENGTH.match(length) or int(length) > bits)):
        return None
    rest = bits - int(length or bits)
    first = number >> rest << rest
    return first, first + (1 << rest) - 1


def within(address, network):
    """True if an address is in a network, None if either is not known."""
    found, number = range_of(network), None if address is None else number_of(address)
    return None if found is None or number is None else found[0] <= number <= found[1]
