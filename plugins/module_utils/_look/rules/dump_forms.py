# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dumps that are not plain iptables-save: other listings, pieces, logs.

They are read a second time as a whole, because only the whole text shows their form. Plain dumps do not get here.

What dumps do not cover: tables, families and backends that a check rests on and that none of them shows.

A dump of one table, family or backend shows nothing about the others; nothing is concluded from their absence.
"""

import re

from ..._errors import BadInput
from ..._host.host import OK, UNPARSED
from ..._rules.backends import BACKENDS
from ..._rules.kube_proxy.proxy import has_proxy
from ..._rules.nft.kube_tables import NFT_FAMILY
from .nft_native import CALICO, may_be_judged
from .nftables import TABLE

NAME_LIMIT = 80
_WHOLE_NAME = re.compile(r"list[-_ ]ruleset")


def is_plain(sets):
    """True for rule sets of a text that is pure iptables-save output, so that no other form has to be detected."""
    return any(found.tables or found.unreadable for found in sets) and not any(
        found.notices.get(kind) for found in sets
        for kind in ("unreadable_line", "no_table_line", "chain_declared_late"))


def read_other_forms(host, path, rules, source):
    """[RuleSet] of the text; `rules` (Rules) gets the nft tables, what a form does not print, and the name of one
    without rules."""
    from ..._parse.iptables.dump_forms import TEXT_LIMIT, read_forms
    chunks = []
    host.stream_file(path, chunks.append, TEXT_LIMIT)
    found = read_forms(b"".join(chunks).decode("utf-8", "backslashreplace"), source)
    for table, doubt in found.doubts:
        # Without a table nothing of the text is known.
        rules.miss(source, None if table else OK, doubt if table else "%s: %s" % (source, doubt), table)
    if found.other_lines:
        rules.notices.append({"source": source, "kind": "unreadable_line", "count": found.other_lines, "line": None,
                              "text": ""})
    if found.nft:
        _take_nft(rules, source, found.nft, found.nft_whole)
        _take_native(rules, found.nft)
    if found.nft and not found.rule_sets:
        rules.listings.append(source)
    elif not found.rule_sets and any(table is None for table, _doubt in found.doubts):
        rules.collected[source] = OK
    elif not found.rule_sets and rules.of_tree:
        # One text of a bundle that no reader takes costs no other file its verdict.
        rules.miss(source, UNPARSED, "%s contains no rules that can be read" % source)
    elif not found.rule_sets:
        raise BadInput("src %s contains no rules; give what iptables-save, iptables -S, iptables -L -n -v or nft list "
                       "ruleset printed" % path)
    return found.rule_sets


def _take_nft(rules, source, text, whole):
    """Tables of kube-proxy's nftables mode; of a table that breaks off, only the part that was read is judged. `whole`:
    whether the command before the text lists the whole rule set, None without a command; then the name of the file may
    be that of the command."""
    from ..._parse.nft.kube_tables import FAMILIES, read_kube_tables
    found = read_kube_tables(lambda _arguments: text, True)
    known = rules.nftables.tables if rules.nftables is not None else {}
    if not set(found.tables) - set(known):
        return
    for family in sorted(set(found.tables) - set(known)):
        if not found.tables[family].complete:
            found.cut.add(family)
            name = next(name for name in FAMILIES if FAMILIES[name] == family)
            rules.miss(source, None, "the end of table %s %s is missing in this listing" % (name, TABLE), TABLE)
    rules.collected.setdefault(source, OK)
    # A family without any other table may not have been listed, and the missing end of a listing that breaks off may
    # contain the other table.
    shown = {name for name, _table in found.others}
    if whole or whole is None and _WHOLE_NAME.search(source):
        shown = FAMILIES
    found.ipv4, found.ipv6 = (whole is not False and not found.cut and name in shown for name in ("ip", "ip6"))
    if rules.nftables is None:
        rules.nftables = found
    else:
        _add(rules.nftables, found)


def _add(known, found):
    """Adds the table of the other family, from another listing."""
    for family in set(found.tables) - set(known.tables):
        known.tables[family], known.deep[family] = found.tables[family], found.deep.get(family)
        known.cut.update({family} & found.cut)


def _take_native(rules, text):
    """The listings of tables that are neither kube-proxy's nor those of iptables, for when all Services are known."""
    from ..._parse.nft.ruleset import tables_apart
    for (family, name), lines in tables_apart(text.split("\n")):
        if may_be_judged(family, name) or name == CALICO:
            rules.native.setdefault((family, name), []).append("\n".join(lines + [""]))


def without_repeats(rule_sets):
    """([RuleSet], [(source, table, doubt)]) without tables that occur a second time because one node's rules were saved
    in several forms or twice. A table of iptables-save, which prints its version, has precedence; a complete table has
    precedence over one that breaks off. Of two tables from different times one is judged, and which is later is
    unknown."""
    held, doubts = {}, []
    for found in sorted(rule_sets, key=lambda rules: (rules.version is None, rules.backend is None)):
        for name in sorted(found.tables):
            table = found.tables[name]
            alike = [row for row in held.setdefault((found.family, name), []) if _is_alike(found, table, *row)]
            if not alike:
                held[found.family, name].append((found, table))
                continue
            other, first = alike[0]
            if table.complete and not first.complete:
                del other.tables[name]
                held[found.family,
                     name] = [row for row in held[found.family, name] if row is not alike[0]] + [(found, table)]
                continue
            del found.tables[name]
            if table.complete and found.version and other.version and table.rule_counts() != first.rule_counts():
                doubts.append((other.source, name, "%s has table %s from another time, so only one is judged; give "
                                                   "a bundle that was taken at one time" % (
                                                       found.source[:NAME_LIMIT], name[:NAME_LIMIT])))
    return [found for found in rule_sets if found.tables or found.unreadable], doubts


def _is_alike(found, table, other, other_table):
    """True for a table of the same backend; where that is not known of both, for one with the same rules or a
    listing."""
    if found.backend and other.backend:
        return found.backend == other.backend
    return found.version is None or table.rule_counts() == other_table.rule_counts()


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
