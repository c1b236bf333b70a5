# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dumps do not cover: tables, families and backends that a check rests on and that none of them shows. PRIVATE to
the collection.

A dump of one table, family or backend shows nothing about the others; nothing is concluded from their absence.
"""

import re

from ..._rules.backends import BACKENDS
from ..._rules.kube_proxy.proxy import has_proxy
from ..._rules.nft.kube_tables import NFT_FAMILY
from .nftables import TABLE

_TABLES = ("filter", "nat", "mangle")
# Of names of files: iptables-nft-save.txt, ip6tables_legacy.txt.
_NAMED = re.compile(r"(?:ip6?tables|xtables).*?(?<![a-z])(nft|legacy)(?![a-z])")
MAY_HOLD = "both backends may hold rules"


def take_name(rules, source, rule_sets):
    """Gives the rule sets of a file the backend in its name; where their header shows the other one, neither counts."""
    found = _NAMED.search(source.lower())
    for each in rule_sets if found else ():
        if each.backend and each.backend != found.group(1):
            rules.misnamed.add(source)
        each.backend = found.group(1) if each.backend in (None, found.group(1)) else None


def uncovered(rules, situation):
    """[{subject, table, evidence}]: `table` is the name of a table of iptables, `forward` for table filter beside
    nftables mode, `family` for a table of kube-proxy, or `backend`."""
    if not rules.rule_sets and not rules.nftables:
        return []
    # Tables of another backend or family than that of kube-proxy show nothing of its own.
    held = [found for found in rules.rule_sets if has_proxy(found)] or rules.rule_sets
    known = {name for found in held for name in list(found.tables) + found.unreadable}
    nftables = rules.nftables.tables if rules.nftables else {}
    if nftables and situation.mode == "nftables":
        rows = [] if "filter" in known else [_row("table filter", "forward")]
        rows += [_row("table %s %s" % (NFT_FAMILY[family], TABLE), "family") for family in sorted(NFT_FAMILY)
                 if family not in nftables and family not in rules.nftables.cut]
    else:
        rows = [_row("table " + name, name) for name in _TABLES if name not in known]
    doubt = backend_doubt(rules)
    return rows + ([dict(_row("the rules of the other backend", "backend"), evidence=doubt)] if doubt else [])


def backend_doubt(rules):
    """Why the dumps do not show the rules of both backends, or None."""
    if not rules.rule_sets:
        return "no dump shows rules of iptables"
    unclear = next((found.source for found in rules.rule_sets if found.backend not in BACKENDS), None)
    if unclear and rules.misnamed:
        return "by its name %s is of the other backend than by its header, so %s" % (sorted(rules.misnamed)[0][:64],
                                                                                      MAY_HOLD)
    if unclear:
        return "the backend of the rules in %s is not known" % unclear[:64]
    shown = sorted({found.backend for found in rules.rule_sets})
    there = any(row["kind"] == "legacy_tables_present" for row in rules.notices) and "legacy" not in shown
    return None if shown[1:] else "the dumps show the rules of the %s backend only%s" % (
        shown[0], ", and iptables printed that legacy tables exist" if there else "")


def _row(subject, table):
    return {"subject": subject, "table": table, "evidence": "no dump shows it"}
