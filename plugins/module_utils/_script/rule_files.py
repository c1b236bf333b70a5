# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of rules that a service loads, and what a script writes into them. PRIVATE to the collection.

A script that writes such a file changes no rule by that: the rules are lost when the file is loaded.

Contents of a saved rule set, and what loading it destroys.

A snapshot of a node's rules contains chains of Kubernetes and of the network plugin: loaded at boot, it brings back
Services and pods that no longer exist. It is read here and never passed to a tool of the node (iptables-legacy-restore
--test creates the tables it names).
"""

import collections
import re

from .._rules.others.owners import CNI, KUBERNETES, OTHER, count_owners, owner_of
from .._rules.tables import NAMES
from .nft_script import forward_drops, taken_away

DROP, COPY = "policy drop in its forward chain", "all rules of the node, those of Kubernetes too"
# Debian, RHEL, Arch, Alpine; iptables-persistent; iptables-services; SPECS/iptables of Azure Linux and Photon; Gentoo
# and Flatcar.
NFTABLES = "nftables.service"
LOADERS = {
    "/etc/nftables.conf": NFTABLES, "/etc/nftables.nft": NFTABLES, "/etc/sysconfig/nftables.conf": NFTABLES,
    "/etc/iptables/rules.v4": "netfilter-persistent.service", "/etc/iptables/rules.v6": "netfilter-persistent.service",
    "/etc/iptables/iptables.rules": "iptables.service", "/etc/iptables/ip6tables.rules": "ip6tables.service",
    "/etc/sysconfig/iptables": "iptables.service", "/etc/sysconfig/ip6tables": "ip6tables.service",
    "/etc/systemd/scripts/ip4save": "iptables.service", "/etc/systemd/scripts/ip6save": "iptables.service",
    "/var/lib/iptables/rules-save": "iptables-restore.service",
    "/var/lib/ip6tables/rules-save": "ip6tables-restore.service"}
# The main file includes them, on nodes that have them. `?` stands for a name that is not shown (Streams).
_INCLUDED = re.compile(r"/etc/nftables(?:\.d)?/(?:[\w.?-]+/)*[\w.?-]+\.(?:nft|conf|rules)\Z")
# What the save command of a service writes.
SAVED_BY = {
    "netfilter-persistent": ("/etc/iptables/rules.v4", "/etc/iptables/rules.v6"),
    "iptables": ("/etc/sysconfig/iptables",), "ip6tables": ("/etc/sysconfig/ip6tables",)}
_IPTABLES_DROP = re.compile(r"(?m)^[ \t]*:FORWARD[ \t]+DROP\b")
_IPTABLES_ACCEPTS = re.compile(r"(?m)^[ \t]*-[AI][ \t]+FORWARD\b(?!.*ESTABLISHED)(?!.*-j[ \t]+(?:DROP|REJECT|LOG)\b)"
                               r".*-[jg]")


def loader_of(path):
    """The unit that loads a file of rules, None for any other file."""
    return LOADERS.get(path) or (NFTABLES if _INCLUDED.match(path) else None)


def harmful_rules(text):
    """What a load of these rules does to those of Kubernetes, in a few words each."""
    statements = [text[start:end] for start, end, _what in taken_away(text)]
    found = []
    for statement in statements:
        words = " ".join(statement.split())
        found += [words] if words not in found else []
    # A policy beside a flush is reported as it is; alone it may be meant for a chain that accepts what pods need.
    drops = forward_drops(text)
    iptables = _IPTABLES_DROP.search(text) is not None
    if drops if found else False in drops or iptables and not _IPTABLES_ACCEPTS.search(text):
        found.append(DROP)
    return tuple(found)


IPTABLES, NFT = "iptables", "nft"
# Larger files are reported without being read.
SIZE_LIMIT = 16 * 1024 * 1024
_TABLE = re.compile(r"(?m)^[ \t]*\*(%s)[ \t]*\r?$" % "|".join(NAMES))
# iptables-restore accepts every command of iptables (iptables/iptables-restore.c): users write -F in a file that is
# loaded with --noflush.
_LINE = re.compile(r"(?m)^[ \t]*(?:\*(?P<table>\w+)|(?P<command>(?P<what>-F|--flush|-X|--delete-chain)(?:[ "
                   r"\t]+(?P<chain>[\w-]+))?))[ \t]*\r?$")
_NFT_TABLE = re.compile(r"(?m)^[ \t]*(?:(?:add|create)[ \t]+)?table[ \t]+(?:(ip6?|inet|arp|bridge|netdev)[ "
                        r"\t]+)?([\w-]+)[ \t]*\{?")
_NFT_CHAIN = re.compile(r"(?m)^[ \t]*(?:(?:add|create)[ \t]+)?chain[ \t]+(?:(?:ip6?|inet)[ \t]+[\w-]+[ \t]+)?([\w-]+)[ "
                        r"\t]*\{?")

# `tables` and `chains` by name, `owners` {owner: chains and rules}, `kubernetes` how much of it is of Kubernetes.
Saved = collections.namedtuple("Saved", "format family tables owners rules kubernetes")
# A command in a saved file that empties or deletes `chain` (None: every one) of `table`.
Command = collections.namedtuple("Command", "line text sort table chain")


def is_saved(text):
    """The format of a saved rule set, or None for any other text."""
    if _TABLE.search(text):
        return IPTABLES
    return NFT if _NFT_TABLE.search(text) and _NFT_CHAIN.search(text) else None


def family_of(path):
    """ipv4 or ipv6 by the name of a file: `rules.v6`, `ip6tables`, `ip6save`, `before6.rules`."""
    name = path.rsplit("/", 1)[-1]
    return "ipv6" if "6" in name or "/ip6tables/" in path else "ipv4"


def read_saved(text, family=None):
    """`Saved` of a text, or None where it is no saved rule set. `family` is used if the text does not show one."""
    form = is_saved(text)
    if form is None:
        return None
    return _read_iptables(text, family) if form == IPTABLES else _read_nft(text)


def _read_iptables(text, family):
    from .._parse.iptables.save import SaveReader
    reader = SaveReader("text", family)
    reader.feed(text.encode("utf-8", "surrogatepass"))
    tables, owners, rules = set(), collections.Counter(), 0
    for found in reader.close():
        family = found.family or family
        tables.update(name for name in found.tables if name in NAMES)
        for row in count_owners(found):
            owners[row["owner"]] += row["rules"] + row["chains"]
            rules += row["rules"]
    return _saved(IPTABLES, family, tables, owners, rules)


def _read_nft(text):
    tables = set(_NFT_TABLE.findall(text))
    owners = collections.Counter(owner_of(chain) for chain in _NFT_CHAIN.findall(text))
    # kube-proxy's nftables mode: table kube-proxy of ip and ip6 (kubernetes pkg/proxy/nftables).
    if any(name == "kube-proxy" for _family, name in tables):
        owners["kube_proxy"] += 1
    families = {family for family, _name in tables}
    family = "ipv6" if families == {"ip6"} else "ipv4" if families <= {"ip", ""} else None
    return _saved(NFT, family, {name for _family, name in tables}, owners, 0)


def _saved(form, family, tables, owners, rules):
    owners = {owner: number for owner, number in owners.items() if number}
    kubernetes = sum(number for owner, number in owners.items() if owner in KUBERNETES + CNI)
    return Saved(form, family, sorted(tables), owners, rules, kubernetes)


def flushing_commands(text):
    """[Command] of a file for iptables-restore that destroy rules which --noflush would keep. The file may flush its
    own chains."""
    found, table = [], None
    for match in _LINE.finditer(text):
        if match.group("table"):
            table = match.group("table")
        elif table in NAMES and _is_foreign(match.group("chain"), table):
            sort = "flush" if "f" in match.group("what").lower() else "delete"
            found.append(Command(text.count("\n", 0, match.start("command")) + 1, match.group("command"), sort, table,
                                 match.group("chain")))
    return found


def _is_foreign(chain, table):
    """Whether emptying `chain` hits Kubernetes: all chains, a built-in one, or one of Kubernetes."""
    return (chain is None or chain.isupper() and "-" not in chain and owner_of(chain, table) == OTHER
            or owner_of(chain, table) in KUBERNETES + CNI)
