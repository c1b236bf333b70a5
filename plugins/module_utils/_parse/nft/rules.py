# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single lines of a chain in `nft list`: its hook, the targets of its rules. PRIVATE to the collection.

Samples:
    type filter hook prerouting priority dstnat - 10; policy accept; numgen random mod 2 vmap { 0 : goto
    endpoint-A-ns/web/tcp/__10.244.0.5/80, 1 : goto endpoint-B-ns/web/tcp/__10.244.0.6/80 } meta l4proto tcp dnat to
    [fd00::5]:80 meta l4proto tcp dnat ip to numgen random mod 2 map { 0 : 10.244.0.5 . 80, 1 : 10.244.0.6 . 80 }
`dnat ip addr . port to` is how nftables 1.1 writes the last one. Names of priorities: nftables src/rule.c std_prios.
"""

import re

PRIORITIES = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}

_BASE = re.compile(r"^type (\w+) hook (\w+)(?: devices? .*?)? priority (?:(-?\d+)|(\w+)(?: ([+-]) (\d+))?);(?: policy "
                   r"(\w+);)?")
_QUOTED = re.compile('"[^"]*"')
_TARGET = re.compile(r"(?:^|[ ;])(?:jump|goto) ([^\s,;{}]+)")
_TO_ONE = re.compile(r"(?:^| )dnat (?:ip6? )?to (\[[^\]\s]+\]:\d+|[\d.]+:\d+)(?: |$)")
_TO_MANY = re.compile(r"(?:^| )dnat (?:ip6? )?(?:addr \. port )?to numgen \w+ mod \d+(?: offset \d+)? map \{ "
                      r"([^{}]*)\}")
_SHARED = re.compile(r"numgen \w+ mod (\d+)(?: offset \d+)? (?:vmap|map) \{ ([^{}]*)\}")
_MANY = re.compile(r" : (\S+) \. (\d+)")


def base_chain(line):
    """(type, hook, priority, policy) of the first line of a base chain; or None. An unknown priority becomes None."""
    found = _BASE.match(line)
    if not found:
        return None
    kind, hook, number, name, sign, distance, policy = found.groups()
    if number is not None:
        priority = int(number)
    elif name in PRIORITIES:
        priority = PRIORITIES[name] + int((sign or "+") + (distance or "0"))
    else:
        priority = None
    return kind, hook, priority, policy


def without_quoted(line):
    """The rule without the texts in quotation marks: comments, log prefixes, names of interfaces."""
    return _QUOTED.sub('""', line) if '"' in line else line


def leads_to(plain):
    """(chains that it jumps or goes to, addresses with ports that it translates to) of a rule without quoted parts."""
    targets = tuple(_TARGET.findall(plain)) if "jump " in plain or "goto " in plain else ()
    if " dnat " not in " " + plain:
        return targets, ()
    one, many = _TO_ONE.search(plain), _TO_MANY.search(plain)
    if many:
        return targets, tuple(_with_port(*pair) for pair in _MANY.findall(many.group(1)))
    return targets, (one.group(1),) if one else ()


def balances(elements):
    """Like leads_to(), for the text between the braces of a map that balances."""
    return tuple(_TARGET.findall(elements)), tuple(_with_port(*pair) for pair in _MANY.findall(elements))


def share_of(plain):
    """(modulus, number of elements) of the map by which a rule without quoted parts balances, or None."""
    shared = _SHARED.search(plain) if "numgen " in plain else None
    return (int(shared.group(1)), shared.group(2).count(" : ")) if shared else None


def _with_port(address, port):
    return ("[%s]:%s" if ":" in address else "%s:%s") % (address, port)
