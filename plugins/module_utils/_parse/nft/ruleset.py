# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of iptables in the output of `nft list ruleset`, as lines of iptables-save. PRIVATE to the collection.

Sample:
    table ip nat {
        chain PREROUTING {
            type nat hook prerouting priority dstnat; policy accept;
             counter packets 12 bytes 720 jump KUBE-SERVICES
        }
        chain KUBE-SVC-NPX46M4PTMTKRN6Y {
            meta random & 2147483647 < 1073741824 counter packets 3 bytes 180 jump KUBE-SEP-EMZT26ULR4E3WUQT
        }
    }
Grammar: nft(8), and the translations of libxtables for nft (iptables extensions/*.txlate). nft prints no comment of
iptables, and only the name of a match that it does not know: `doubts` lists such a loss, or the rule counts as unread.
"""

import re

from ..iptables.save_header import ALL_BUILT_IN, BUILT_IN, SaveText
from .statements import without_quoted

FAMILIES = {"ip": "ipv4", "ip6": "ipv6"}
OPENED = re.compile(r"table (ip6?|inet|arp|bridge|netdev) (\S+) \{(?:\s*#.*)?\Z")
_CHAIN = re.compile(r"chain (\S+) \{(?:\s*#.*)?\Z")
_BASE = re.compile(r"type (?:filter|nat|route) hook (\w+) .*?;(?: policy (\w+);)?\Z")
_LED = re.compile(r"(?:^| )(?:jump|goto) ([^\s,;{}]+)")
_MASK = 0xffffffff
# 2^31: xt_statistic compares a number of 31 bits (Linux net/netfilter/xt_statistic.c).
_CHANCES = 1 << 31
# Matches without which the rest of a rule keeps its meaning; recent keeps a client at its endpoint.
_BESIDE = {"statistic": "-m statistic", "limit": "-m limit", "recent": None}


class _Unprinted(ValueError):
    """A rule that cannot be translated into iptables-save."""


def _not(mark):
    """nft prints `!=`, and `!` before a value of bits, such as a state of connections."""
    return "! " if mark and mark.strip() in ("!=", "!") else ""


def _address(found):
    _family, side, mark, value = found.groups()
    if "/" not in value:
        value += "/128" if ":" in value else "/32"
    return "%s-%s %s" % (_not(mark), side[0], value)


def _ports(found):
    protocol, side, mark, value = found.groups()
    if value.startswith("{"):
        many = ",".join(part.strip().replace("-", ":") for part in value.strip("{} ").split(","))
        return "-m multiport %s--%ss %s" % (_not(mark), side, many)
    return "-m %s %s--%s %s" % (protocol, _not(mark), side, value.replace("-", ":"))


def _states(found):
    """nft lists `--ctstate DNAT` of iptables as `ct status dnat` (xt_conntrack.h: both NATs are states there)."""
    option, mark, value = found.groups()
    values = [part.strip().upper().replace("-", "_") for part in value.strip("{} ").split(",")]
    of_state = option == "state" or set(values) <= {"DNAT", "SNAT"}
    return "-m conntrack %s--%s %s" % (_not(mark), "ctstate" if of_state else "ctstatus", ",".join(values))


def _mark_match(found):
    mask, operator, value = found.groups()
    mask, number = int(mask, 0) if mask else None, int(value, 0)
    if operator == "!=" and number == 0 and mask:
        return "-m mark --mark 0x%x/0x%x" % (mask, mask)
    negated = "! " if operator == "!=" else ""
    return "-m mark %s--mark 0x%x%s" % (negated, number, "/0x%x" % mask if mask is not None else "")


def _mark_set(found):
    operator, value = found.group(1), int(found.group(2), 0)
    if operator in ("and", "&"):
        return "-j MARK --set-xmark 0x0/0x%x" % (~value & _MASK)
    return "-j MARK --set-xmark 0x%x/0x%x" % (value, value if operator in ("or", "|") else 0)


def _mark_mask_set(found):
    kept, operator, value = int(found.group(1), 0), found.group(2), int(found.group(3), 0)
    return "-j MARK --set-xmark 0x%x/0x%x" % (value, ~kept & _MASK | (value if operator in ("or", "|") else 0))


def _reject(found):
    words = (found.group(1) or "").split()
    return "-j REJECT" + (" --reject-with tcp-reset" if words[:2] == ["tcp", "reset"] else "")


_N = r"(0x[0-9a-f]+|\d+)"
_PHRASES = (
    (r"counter(?: packets \d+ bytes \d+)?", ""),
    (r'comment "([^"]+)"', r'-m comment --comment "\1"'),
    (r"(?:meta l4proto|ip protocol|ip6 nexthdr) (!= )?([\w-]+)",
     lambda found: "%s-p %s" % (_not(found.group(1)), found.group(2))),
    (r"(ip6?) (saddr|daddr) (!= )?([0-9a-f.:]+(?:/\d+)?)", _address),
    (r'(?:meta )?([io])ifname (!= )?"([^"]+)"',
     lambda found: "%s-%s %s" % (_not(found.group(2)), found.group(1), found.group(3).replace("*", "+"))),
    (r"(tcp|udp|sctp|dccp|th) (sport|dport) (!= )?(\d+(?:-\d+)?|\{[^}]*\})", _ports),
    (r"ct (state|status) (!=? )?(\{[^}]*\}|[a-z,-]+)", _states),
    (r"(?:meta )?mark (?:&|and) %s (==|!=) %s" % (_N, _N), _mark_match),
    (r"(?:meta )?mark (?!set)()(!= |== )?%s" % _N, _mark_match),
    (r"meta random (?:&|and) 2147483647 < (\d+)",
     lambda found: "-m statistic --mode random --probability %.11f" % (float(found.group(1)) / _CHANCES)),
    (r"fib (s|d)addr(?: \. [io]if)? type (!= )?(\w+)", lambda found: "-m addrtype %s--%s-type %s"
     % (_not(found.group(2)), {"s": "src", "d": "dst"}[found.group(1)], found.group(3).upper())),
    (r"limit rate (?:over )?(\d+/\w+)(?: burst (\d+) packets)?", r"-m limit --limit \1"),
    (r"(?:meta )?mark set (?:meta )?mark (or|xor|and|[|^&]) %s" % _N, _mark_set),
    (r"(?:meta )?mark set (?:meta )?mark (?:and|&) %s (or|xor|[|^]) %s" % (_N, _N), _mark_mask_set),
    (r"(?:meta )?mark set %s" % _N, lambda found: "-j MARK --set-xmark 0x%x/0xffffffff" % int(found.group(1), 0)),
    (r"(jump|goto) (\S+)", lambda found: "-%s %s" % (found.group(1)[0], found.group(2))),
    (r"(accept|drop|return|queue)(?= |\Z)", lambda found: "-j " + found.group(1).upper()),
    (r"reject(?: with ((?:tcp reset|icmp\w*(?: type)? \S+)))?", _reject),
    (r"dnat (?:ip6? )?to (\S+)", r"-j DNAT --to-destination \1"),
    (r"snat (?:ip6? )?to (\S+)", r"-j SNAT --to-source \1"),
    (r"masquerade(?: to :(\S+))?((?: (?:fully-random|random|persistent))*)",
     lambda found: "-j MASQUERADE" + (" --random-fully" if "fully-random" in found.group(2) else "")),
    (r"redirect(?: to :(\d+(?:-\d+)?))?",
     lambda found: "-j REDIRECT" + (" --to-ports " + found.group(1) if found.group(1) else "")),
    (r'log(?: prefix "([^"]*)")?(?: level \w+| flags \w+)*',
     lambda found: "-j LOG" + (' --log-prefix "%s"' % found.group(1) if found.group(1) else "")),
    (r"notrack", "-j CT --notrack"))
_PHRASES = tuple((re.compile(form), put) for form, put in _PHRASES)
_XT = re.compile(r'xt (match|target) "?([\w-]+)"?')
_FINAL = ("LOG", "MASQUERADE", "REJECT")


def save_text_of(lines):
    """{(family, table): `SaveText`} of the tables ip and ip6 in these lines that iptables made."""
    found, tables = {}, _tables(lines)
    for (family, name), (chains, ended) in tables.items():
        if family in FAMILIES and name in BUILT_IN:
            found[FAMILIES[family], name] = _save_text(FAMILIES[family], name, chains, ended)
    return found


def tables_apart(lines):
    """[((family as nft names it, table), [line])], one for each table that begins in these lines."""
    found = []
    for line in lines:
        opened = OPENED.match(line)
        if opened:
            found.append((opened.groups(), []))
        if found:
            found[-1][1].append(line)
    return found


def _tables(lines):
    """{(family as nft names it, table): ([(chain, hook, policy, [rule])], its closing brace was there)}."""
    tables, table, chain, depth = {}, None, None, 0
    for line in lines:
        line = line.strip()
        opened, plain = OPENED.match(line), without_quoted(line)
        if table is None or (depth == 1 and opened):
            if opened:
                table, depth, chain = tables.setdefault((opened.group(1), opened.group(2)), [[], False]), 1, None
            continue
        if depth == 1 and _CHAIN.match(line):
            chain = [_CHAIN.match(line).group(1), None, None, []]
            table[0].append(chain)
        elif depth == 2 and chain is not None and line != "}" and line:
            _in_chain(chain, line)
        depth += plain.count("{") - plain.count("}")
        if depth == 0:
            table[1], table, chain = True, None, None
        elif depth == 1:
            chain = None
    return tables


def _in_chain(chain, line):
    base = _BASE.match(line)
    if base:
        chain[1], chain[2] = base.groups()
    elif not line.startswith("#"):
        chain[3].append(line)


def _save_text(family, name, chains, ended):
    """A table whose base chains are not those of iptables was not made by iptables, nor were its rules."""
    base = [chain for chain in chains if chain[1]]
    if any(chain[0] not in ALL_BUILT_IN or chain[0] != chain[1].upper() for chain in base):
        return None
    rules, unread, doubts = [], [], set()
    for chain, _hook, _policy, texts in chains:
        for text in texts:
            try:
                rules.append(_rule(chain, text, doubts))
            except _Unprinted:
                unread.append("-A %s %s" % (chain, text))
    # The kernel takes no jump to a chain that it lacks, so chains were left out of a listing that has one.
    led = {target for chain in chains for text in chain[3] for target in _LED.findall(without_quoted(text))}
    whole = ended and led <= {chain[0] for chain in chains}
    return SaveText(name, [(chain[0], (chain[2] or "accept").upper(), 0, 0) for chain in base],
                    [chain[0] for chain in chains if not chain[1]], rules, unread, whole, sorted(doubts), family)


def _rule(chain, text, doubts):
    """One rule as iptables-save prints it; adds details that nft does not print to `doubts`. Raises _Unprinted."""
    rest, parts, target, lost = text.strip(), [], None, []
    while rest:
        found = _XT.match(rest)
        if found:
            if found.group(1) == "match":
                lost.append(found.group(2))
            elif target is None and found.group(2) in _FINAL:
                target = "-j " + found.group(2)
            else:
                raise _Unprinted(text)
        else:
            found, put = _phrase(rest)
            if found is None or (target and put):
                raise _Unprinted(text)
            if put[:2] in ("-j", "-g"):
                target = put
            elif put:
                parts.append(put)
        rest = rest[found.end():].strip()
    parts += [part for part in [_lost_match(name, parts, target, text, doubts) for name in lost] if part]
    order = ["-s", "-d", "-i", "-o", "-p"]
    basic = sorted([part for part in parts if part.replace("! ", "")[:3].strip() in order],
                   key=lambda part: order.index(part.replace("! ", "")[:2]))
    matches = [part for part in parts if part not in basic]
    return " ".join(["-A " + chain] + basic + matches + ([target] if target else []))


def _phrase(rest):
    """(match, its form in iptables-save) of the beginning of the text; (None, "") where it is unknown."""
    for form, put in _PHRASES:
        found = form.match(rest)
        if found and (found.end() == len(rest) or rest[found.end()] == " "):
            return found, put(found) if callable(put) else found.expand(put)
    return None, ""


def _lost_match(name, parts, target, text, doubts):
    """The replacement for a match of which nft prints only the name; raises _Unprinted where the rule depends on it."""
    protocol = next((part[3:] for part in parts if part.startswith("-p ")), None)
    if name == "comment" or (name == protocol and (target or "").startswith("-j DNAT")):
        return None
    if name not in _BESIDE:
        raise _Unprinted(text)
    doubts.add("nft prints match %s without its arguments" % name)
    if name == "recent":
        return "-m recent " + ("--set" if (target or "").startswith("-j DNAT") else "--rcheck")
    return _BESIDE[name]
