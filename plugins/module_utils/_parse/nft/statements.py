# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rule of `nft list table`, split into its conditions and its statements. PRIVATE to the collection.

Samples:
    iifname != "lo" ip daddr 10.96.0.0/12 tcp dport { 80, 443 } counter packets 0 bytes 0 drop
    ct state vmap { established : accept, invalid : drop }
    ip saddr . tcp dport @blocked log prefix "blocked: " reject with icmpx admin-prohibited
Grammar: nft(8). An unknown expression becomes a condition without a key: whether it holds is unknown.

Single lines of a chain in `nft list`: its hook, the targets of its rules.

Samples:
    type filter hook prerouting priority dstnat - 10; policy accept; numgen random mod 2 vmap { 0 : goto
    endpoint-A-ns/web/tcp/__10.244.0.5/80, 1 : goto endpoint-B-ns/web/tcp/__10.244.0.6/80 } meta l4proto tcp dnat to
    [fd00::5]:80 meta l4proto tcp dnat ip to numgen random mod 2 map { 0 : 10.244.0.5 . 80, 1 : 10.244.0.6 . 80 }
`dnat ip addr . port to` is how nftables 1.1 writes the last one. Names of priorities: nftables src/rule.c std_prios.

nftables rules from the kernel's netlink attributes, printed like `nft list chain`, as far as kube-proxy's own chains
need.

Numbers: Linux include/uapi/linux/netfilter/nf_tables.h. An expression that matches packets is printed by its name only,
to show that the rule is not for every packet.

Elements of nftables sets and maps as `nft list` prints them.

Sample:
    elements = { 10.96.0.23 . tcp . 80 comment "default/empty" : goto reject-chain,
                 192.0.2.7 timeout 3h expires 2h59m56s }
nft breaks lines only after commas (nftables src/expression.c); a comment may contain any character except a quotation
mark.
"""

import collections
import re
import struct

# keys: ("ip daddr", "tcp dport"), empty where it was not understood. values: [(word for each key)], or the name of a
# set with @. The key "limit" stands for conditions that hold for some packets of any connection: rates, counts, flags.
Condition = collections.namedtuple("Condition", "keys negated values")
# action: accept, drop, reject, return, continue, jump, goto, dnat, redirect, notrack, queue, mark, vmap. argument:
# chain, expression, or the (keys, [(values, verdict, chain)] or the name of a map) of vmap.
Statement = collections.namedtuple("Statement", "action argument")
Rule = collections.namedtuple("Rule", "conditions statement text")

_NAME = r'"[^"]*"|[^\s,{}"]+'
_KEY = (r"fib [sd]addr(?: \. \w+)* "
        r"\w+|(?:ip6?|tcp|udp|udplite|sctp|dccp|th|meta|ct|icmp|icmpv6|igmp|ether|arp|vlan|rt|ah|esp|socket) [\w-]+"
        r"|exthdr \w+|iifname|oifname|iifgroup|oifgroup|iiftype|oiftype|iif|oif|mark|skuid|skgid|pkttype")
_KEYS = r"(?P<keys>(?:%s)(?: \. (?:%s))*)" % (_KEY, _KEY)
_CONDITION = re.compile(
    _KEYS + r"(?P<mask> (?:&|and) [^\s{}]+)?(?P<mark> (?:==|!=|<=|>=|<|>))? (?P<values>@\S+|\{ "
            r"[^{}]*\}|(?:%s)(?:,(?:%s))*)" % (_NAME, _NAME))
_MAP = re.compile(_KEYS + r" vmap (?P<values>@\S+|\{ [^{}]*\})")
_PASSED_OVER = re.compile(
    r'(?:counter(?: packets \d+ bytes \d+| name \S+)?|comment "[^"]*"|log(?: prefix "[^"]*"| level \w+| flags \w+| '
    r'group \d+| snaplen \d+)*|(?:ct|meta) (?!mark)\w+ set \S+|ct mark set (?:meta )?(?:mark|\S+)(?: (?:&|\||\^|and|or|'
    r'xor) \S+)*|flow (?:add|offload) \S+|tcp option maxseg size set \S+|(?:add|update) @\S+ \{[^{}]*\})(?= |$)')
_LIMIT = re.compile(r"(?:limit rate|ct count|meter|quota|tcp flags) .*?(?= "
                    r"(?:accept|drop|reject|return|jump|goto|counter|log|comment)|$)")
_MARK = re.compile(r"(?:meta )?mark set (.+?)(?= (?:accept|drop|return|counter|log|comment|jump|goto|masquerade|ct "
                   r"mark)|$)")
_ACTION = re.compile(r"(accept|drop|return|continue|notrack|queue|reject|dnat|redirect|snat|masquerade|jump|goto)(?: "
                     r"(.*))?$")
_BLOCK = re.compile(r"^\{ (.*) \}$")


def parse_rule(text):
    """[Rule] of one line: one for each statement that has an effect."""
    rest, conditions, rules = text.strip(), [], []
    while rest:
        passed, limit, mark, mapped, action = (form.match(rest)
                                               for form in (_PASSED_OVER, _LIMIT, _MARK, _MAP, _ACTION))
        if passed:
            end = passed.end()
        elif limit:
            conditions, end = conditions + [Condition(("limit",), False, [])], limit.end()
        elif mark:
            rules.append(Rule(conditions, Statement("mark", mark.group(1)), text))
            end = mark.end()
        elif mapped:
            rules.append(Rule(conditions, Statement("vmap", (_keys(mapped), _elements(mapped.group("values")))), text))
            end = mapped.end()
        elif action:
            rules.append(Rule(conditions, Statement(action.group(1), (action.group(2) or "").split(" ")[0]), text))
            end = len(rest)
        else:
            found = _CONDITION.match(rest)
            if found:
                conditions, end = conditions + [_condition(found)], found.end()
            else:
                conditions, end = conditions + [Condition((), False, [])], len(rest.split(" ", 1)[0])
        rest = rest[end:].strip()
    return rules


def _keys(found):
    return tuple(key[5:] if key.startswith("meta ") else key
                 for key in re.split(r" \. (?!(?:iif|oif|mark|saddr|daddr)\b(?! ?name))", found.group("keys")))


def _condition(found):
    if found.group("mask") or (found.group("mark") or "").strip() in ("<", ">", "<=", ">="):
        return Condition((), False, [])
    return Condition(_keys(found), "!=" in (found.group("mark") or ""), _values(found.group("values")))


def _values(text):
    if text.startswith("@"):
        return text
    block = _BLOCK.match(text)
    return [tuple(word.strip('"') for word in part.strip().split(" . "))
            for part in (block.group(1).split(",") if block else text.split(","))]


def _elements(text):
    if text.startswith("@"):
        return text
    rows = []
    for part in _BLOCK.match(text).group(1).split(","):
        key, _colon, verdict = part.strip().partition(" : ")
        words = verdict.split(" ")
        rows.append((tuple(word.strip('"') for word in key.split(" . ")), words[0], words[1] if words[1:] else None))
    return rows


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


_VERDICTS = {0: "drop", 1: "accept", -1: "continue", -3: "jump", -4: "goto", -5: "return"}
_STATEMENTS = {"masq": "masquerade", "redir": "redirect", "reject": "reject", "notrack": "notrack"}


def rule_text(expressions, attributes_of):
    """The words of a rule; `expressions` [(name, {attribute: bytes})], `attributes_of(bytes)`: nested ones."""
    words = [_words(name, attributes, attributes_of) for name, attributes in expressions]
    return " ".join(word for word in words if word)


def _words(name, attributes, attributes_of):
    if name in _STATEMENTS:
        return _STATEMENTS[name]
    if name == "comment":
        return 'comment "%s"' % attributes[1].rstrip(b"\0").decode("utf-8", "replace").replace('"', "'")
    if name == "counter":
        return "counter packets %d bytes %d" % (_count(attributes.get(2)), _count(attributes.get(1)))
    if name == "nat":
        return "dnat" if _number(attributes.get(1)) == 1 else "snat"
    if name == "lookup":
        # For a verdict map, NFTA_LOOKUP_DREG is register 0, the verdict.
        text = attributes.get(1, b"").rstrip(b"\0").decode("utf-8", "replace")
        return ("vmap @%s" if _number(attributes.get(3)) == 0 else "@%s") % text
    if name == "immediate":
        if _number(attributes.get(1)) != 0:
            return ""
        verdict = dict(attributes_of(dict(attributes_of(attributes.get(2, b""))).get(2, b"")))
        chain = verdict.get(2, b"").rstrip(b"\0").decode("utf-8", "replace")
        return " ".join([_VERDICTS.get(_number(verdict.get(1)), "verdict")] + ([chain] if chain else []))
    return name


def _count(value):
    return struct.unpack("!Q", value)[0] if value is not None and len(value) == 8 else 0


def _number(value):
    return struct.unpack("!i", value)[0] if value is not None and len(value) == 4 else None


# key: the words between the dots. verdict: goto, jump, drop, accept, ..., or None. target: the chain.
Element = collections.namedtuple("Element", "key verdict target comment")

_COMMENT = re.compile("comment \"([^\"]*)\"")
_ELEMENT_KEY = re.compile(r"^([^\s\"]+(?: \. [^\s\"]+)*)(?: +(?:timeout|expires|counter|quota|limit|last) [^\"]*)?$")
_VERDICT = re.compile(r"^(goto|jump) (\S+)$|^(drop|accept|return|continue)$")


def parse_element(text):
    """The `Element`, or None. The value of a map without verdicts is ignored."""
    comment = _COMMENT.search(text)
    if comment:
        text = text[:comment.start()] + text[comment.end():]
    before, colon, value = text.partition(" : ")
    key, verdict = _ELEMENT_KEY.match(before.strip()), _VERDICT.match(value.strip())
    if not key or '"' in value or (colon and not value.strip()):
        return None
    return Element(
        tuple(key.group(1).split(" . ")),
        (verdict.group(1) or verdict.group(3)) if verdict else None,
        verdict.group(2) if verdict else None,
        comment.group(1) if comment else None)


class ElementReader:
    """Takes the lines after `elements = {`, passes each Element to `take`, and is `done` at the closing brace."""

    def __init__(self, take):
        self.done, self._take = False, take

    def line(self, text):
        """Takes a line; returns the texts that are not elements."""
        *pieces, last = split_at_commas(text.rstrip())
        self.done = last.endswith("}")
        unread = []
        for piece in pieces + [last[:-1] if self.done else last]:
            element = parse_element(piece.strip())
            if element is not None:
                self._take(element)
            elif piece.strip():
                unread.append(piece)
        return unread


def split_at_commas(text):
    """The parts between commas outside of quoted comments; at least one."""
    if '"' not in text:
        return text.split(",")
    parts, current = [], []
    for index, piece in enumerate(text.split('"')):
        if index % 2:
            current.append('"%s"' % piece)
            continue
        first, *others = piece.split(",")
        current.append(first)
        for other in others:
            parts.append("".join(current))
            current = [other]
    return parts + ["".join(current)]
