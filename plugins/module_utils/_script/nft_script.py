# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an nft script removes from tables of other programs. PRIVATE to the collection.

Sample:
    flush ruleset
    define t = nat
    table inet site { chain input { type filter hook input priority 0; } }
    delete table ip $t; flush chain ip filter FORWARD
    include "/etc/nftables.d/*.nft"
Grammar: nftables src/parser_bison.y, scanner.l. A statement ends with its line or a semicolon; the content of braces is
added, never removed. The default family is ip.
"""

import bisect
import itertools
import re

from .._rules.others.owners import CNI, KUBERNETES, owner_of
from .._rules.tables import BUILT_IN, NAMES
from .effect import CERTAIN, EVERY, IPV4, IPV6, LIKELY, Effect, Run

_FAMILIES = {"ip": IPV4, "ip6": IPV6, "inet": "inet", "arp": "arp", "bridge": "bridge", "netdev": "netdev"}
ALL_FAMILIES = (IPV4, IPV6, "inet", "arp", "bridge")
# Tables of kube-proxy and of network plugins. Those of iptables-nft have the names and families of iptables.
_OTHERS_TABLE = re.compile(r"(?:kube-proxy|kube-router|calico|cali-|flannel-|cni[-_]|cilium)")
_TOKEN = re.compile(r'#[^\n]*|"[^"]*"?|\\\r?\n|[{};\n]|[^\s{};"#\\]+|\S')
_TAKES_AWAY = ("flush", "delete", "destroy")
_NAME = re.compile(r"[A-Za-z_][\w-]*\Z")
EFFECTS_LIMIT, STATEMENTS_LIMIT, TOKENS_LIMIT = 1000, 100000, 200000
BLOCKS_LIMIT = 16       # nested in each other; the grammar of nft has five levels
TABLES_LIMIT = 100      # of one file, apart from each other


def read_nft_script(text):
    """What the statements of a text remove: `[Effect]`, each with its place in the text."""
    line = _lines(text)
    return [Effect(line(start), (start, end), " ".join(text[start:end].replace("\\\n", " ").split()), *what)
            for start, end, what in taken_away(text)]


def read_nft_includes(text):
    """The files and patterns of `include` lines: `[Run]`."""
    line = _lines(text)
    return [Run(line(start), words[1].strip('"'), (), "source", (start, end))
            for start, end, words in itertools.islice(_statements(text), STATEMENTS_LIMIT)
            if words[0] == "include" and len(words) > 1]


def _lines(text):
    ends = [found.start() for found in re.finditer("\n", text)]
    return lambda place: bisect.bisect_left(ends, place) + 1


def taken_away(text):
    """`[(start, end, fields of an Effect after its command)]` of a text."""
    found, defined, adds = [], {}, False
    for start, end, words in _statements(text):
        words = [defined.get(word, word) for word in words]
        if words[0] == "define" and len(words) > 3:
            defined["$" + words[1]] = words[3]
        elif words[0] in _TAKES_AWAY and len(words) > 1 and len(found) < EFFECTS_LIMIT:
            what = _judge(words[0], words[1], words[2:])
            if what:
                found.append((start, end) + what)
        elif words[0] in ("table", "add", "create", "insert"):
            adds = True
    return [(start, end, (sort, families, tables, chains, None, None, None, "replaced" if adds else "no", sure))
            for start, end, sort, families, tables, chains, sure in found]


def _statements(text):
    """A generator of (start, end, words) of each statement outside of braces, and of the words before a brace."""
    words, start, end, depth = [], 0, 0, 0
    for token in _TOKEN.finditer(text):
        word = token.group(0)
        if word[0] == "#" or word[0] == "\\":
            continue
        if word in ("{", "}", ";", "\n"):
            if words and depth == 0:
                yield start, end, words
            words = []
            depth = max(0, depth + (word == "{") - (word == "}"))
        elif depth == 0:
            start, end = (start if words else token.start()), token.end()
            words.append(word)
    if words:
        yield start, end, words


def own_tables(text):
    """([`inet site`], [`ip nat`]): tables that a text defines, apart from those whose name iptables, kube-proxy or a
    network plugin uses: their rules would be deleted with such a table."""
    own, shared = [], []
    for _start, _end, words in itertools.islice(_statements(text), STATEMENTS_LIMIT):
        words = words[1:] if words[0] in ("add", "create") else words
        if words[:1] != ["table"]:
            continue
        family, name = words[1:3] if len(words) > 2 else ("ip", "".join(words[1:]))
        if family in _FAMILIES and name not in _FAMILIES and _NAME.match(name):
            is_shared = _OTHERS_TABLE.match(name) or name in NAMES and family in ("ip", "ip6")
            those, table = shared if is_shared else own, "%s %s" % (family, name)
            if len(those) < TABLES_LIMIT and table not in those:
                those.append(table)
    return own, shared


def forward_drops(text):
    """[whether it accepts any new connection] of each chain at hook forward whose policy is drop."""
    chains, opened = [], set()
    for words, block in _blocks(text):
        if words[:2] == ["add", "rule"] or words[:2] == ["insert", "rule"]:
            opened.update(words if _accepts(words) else ())
        elif block is not None and ["policy", "drop"] in block and any(
                pair == ("hook", "forward") for each in block for pair in zip(each, each[1:])):
            chains.append((words[-1] if words else "", any(_accepts(each) for each in block)))
    return [accepts or name in opened for name, accepts in chains]


def _blocks(text):
    """(words, None) of statements at the top, and (words before its brace, [words of each statement]) of each block."""
    stack, words = [], []
    for token in itertools.islice(_TOKEN.finditer(text), TOKENS_LIMIT):
        word = token.group(0)
        if word[0] in "#\\":
            continue
        if word not in ("{", "}", ";", "\n"):
            words.append(word)
            continue
        if word == "{":
            # Braces within a rule hold a set; what follows them belongs to the same rule.
            if len(stack) >= BLOCKS_LIMIT:
                return
            stack.append((words, []))
            words = []
            continue
        if words and stack:
            stack[-1][1].append(words)
        elif words:
            yield words, None
        words = []
        if word == "}" and stack:
            before, inner = stack.pop()
            yield before, inner
            is_rule = before and not {"table", "chain"} & set(before[:2]) and before[0] not in ("set", "map")
            if is_rule:
                # In place: a rule may have any number of sets.
                before.extend(each for block in inner for each in block)
                words = before
    if words and not stack:
        yield words, None


def _accepts(words):
    if "ct" in words and "state" in words and "new" not in " ".join(words):
        return False
    return any(word in ("accept", "jump", "goto", "vmap", "queue") for word in words)


def _judge(verb, sort, words):
    """(sort, families, tables, chains, confidence) of `verb sort words...`, or None if no other loses anything."""
    if sort == "ruleset":
        family = _FAMILIES.get(words[0]) if words else None
        return "ruleset", (family,) if family else ALL_FAMILIES, EVERY, EVERY, CERTAIN
    family = _FAMILIES.get(words[0], None) if words else None
    family, words = (family, words[1:]) if family else (IPV4, words)
    if not words or sort not in ("table", "chain", "rule", "set", "map", "element"):
        return None
    table, chain = words[0].strip('"'), (words[1:2] or [""])[0]
    others = _OTHERS_TABLE.match(table) is not None
    known = others or table.startswith(("$", "\0")) or (table in NAMES and family in (IPV4, IPV6))
    if not known or (sort == "rule" and not others):
        return None
    sure = CERTAIN if table[0] not in "$\0" else LIKELY
    if sort == "table":
        return "table", (family,), (table,) if sure == CERTAIN else EVERY, EVERY, sure
    if others:
        return "table", (family,), (table,), (chain,), sure
    if sort == "chain" and (chain in BUILT_IN and verb == "flush" or owner_of(chain, table) in KUBERNETES + CNI):
        return ("flush" if verb == "flush" else "delete", (family,), (table,) if sure == CERTAIN else EVERY, (chain,),
                sure)
    return None
