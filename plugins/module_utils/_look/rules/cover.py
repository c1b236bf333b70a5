# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dumps do not cover: tables, families and backends that a check rests on and that none of them shows.

A dump of one table, family or backend shows nothing about the others; nothing is concluded from their absence."""

import re

from ..._rules.backends import BACKENDS
from ..._rules.kube_proxy.proxy import has_proxy
from ..._rules.nft.kube_tables import NFT_FAMILY
from .nftables import TABLE

_TABLES = ("filter", "nat", "mangle")
# Of names of files: iptables-nft-save.txt, ip6tables_legacy.txt.
_NAMED, _BACKEND = re.compile(r"ip6?tables|xtables"), re.compile(r"(?<![a-z])(?:nft|legacy)(?![a-z])")
MAY_HOLD = "both backends may hold rules"


def take_name(rules, source, rule_sets):
    """Gives the rule sets of a file the backend in its name; where their header shows the other one, neither counts."""
    named = _NAMED.search(source.lower())
    found = set(_BACKEND.findall(source.lower(), named.end())) if named else ()
    # A name with both shows what a file with both dumps holds.
    for each in rule_sets if len(found) == 1 else ():
        backend, = found
        if each.backend and each.backend != backend:
            rules.misnamed.add(source)
        each.backend = backend if each.backend in (None, backend) else None


def uncovered(rules, situation):
    """[{subject, table, evidence}]: `table` is the name of a table of iptables, `forward` for table filter beside
    nftables mode, `family` for a table of kube-proxy, or `backend`."""
    if not rules.rule_sets and not rules.nftables:
        return []
    shown = _shown(rules.rule_sets)
    nftables = rules.nftables.tables if rules.nftables else {}
    if nftables and situation.mode == "nftables":
        rows = [] if any("filter" in names for names in shown.values()) else [_row("table filter", "forward")]
        rows += [_row("table %s %s" % (NFT_FAMILY[family], TABLE), "family") for family in sorted(NFT_FAMILY)
                 if family not in nftables and family not in rules.nftables.cut
                 # A listing of all tables shows that it does not exist.
                 and not getattr(rules.nftables, family)]
    else:
        rows = [_row("table %s%s" % (name, _of_family(family, shown)), name) for name in _TABLES
                for family in sorted(shown, key=str) if name not in shown[family]]
    doubt = backend_doubt(rules)
    return rows + ([dict(_row("the rules of the other backend", "backend"), evidence=doubt)] if doubt else [])


def _shown(rule_sets):
    """{family: names of the tables of iptables that the dumps show}. kube-proxy has the same tables in both families,
    so a table of one of them shows nothing of the other one; other programs may use one family only, which has no name
    here then. Tables of another backend than that of kube-proxy show nothing of its own."""
    held = [found for found in rule_sets if has_proxy(found)]
    shown = {}
    for found in held or rule_sets:
        shown.setdefault(found.family if held else None, set()).update(list(found.tables) + found.unreadable)
    # Some forms of a listing do not show the family.
    anywhere = shown.pop(None, set())
    return {family: names | anywhere for family, names in shown.items()} or {None: anywhere}


def _of_family(family, shown):
    return " of %s" % family.replace("ip", "IP") if len(shown) > 1 else ""


def backend_doubt(rules):
    """Why the dumps do not show the rules of both backends, or None."""
    if not rules.rule_sets:
        return "no dump shows rules of iptables"
    unclear = next((found.source for found in rules.rule_sets if found.backend not in BACKENDS), None)
    if unclear and rules.misnamed:
        return "by its name %s is of the other backend than by its header, so %s" % (
            sorted(rules.misnamed)[0][:64], MAY_HOLD)
    if unclear:
        return "the backend of the rules in %s is not known" % unclear[:64]
    shown = {None: set()}
    for found in rules.rule_sets:
        shown.setdefault(found.family, set()).add(found.backend)
    if any(len(backends | shown[None]) > 1 for backends in shown.values()):
        return None
    backends = sorted(set().union(*shown.values()))
    if backends[1:]:
        return "no family has dumps of both backends"
    there = any(row["kind"] == "legacy_tables_present" for row in rules.notices) and "legacy" not in backends
    return "the dumps show the rules of the %s backend only%s" % (
        backends[0], ", and iptables printed that legacy tables exist" if there else "")


def _row(subject, table):
    return {"subject": subject, "table": table, "evidence": "no dump shows it"}
