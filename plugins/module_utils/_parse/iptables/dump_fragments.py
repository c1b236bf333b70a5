# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of iptables-save, and the output of iptables -S, put below their tables. PRIVATE to the collection."""

import re

from .save_header import ALL_BUILT_IN, BUILT_IN, MORE, SaveText, family_of, is_whole, table_of_chains, table_of_rule
from .save_rule import COUNTERS, read_rule

_POLICY = re.compile(r"-P (\S+) ([A-Z]+)(?: -c (\d+) (\d+))?\Z")
_NEW = re.compile(r"-N (\S+)\Z")
_COUNTERS = re.compile(r" -c \d+ \d+(?= -[jg] |\Z)")
_VERDICTS = ("ACCEPT", "DROP", "REJECT", "RETURN", "MASQUERADE")
FIRST = re.compile(r"-[PN] \S")


def without_ends(lines):
    """Lines of a dump that went through a filter: COMMIT proves nothing there, and any line may be missing."""
    found = []
    for line in lines:
        found += [MORE, line] if line.startswith("*") and found else [line] if line != "COMMIT" else []
    return found + [MORE]


def with_tables(lines, embedded):
    """Lines of iptables-save in which each fragment stands below the table that its chains belong to."""
    found, fragment, within = [], [], False
    for line in lines:
        within = within or line.startswith("*")
        if within or line.startswith("#"):
            found.append(line)
        elif line != "COMMIT":
            fragment.append(line)
        within = within and line != "COMMIT"
    return (_without_built_in(found) if embedded else found) + _fragments(fragment)


def _without_built_in(lines):
    """Input for iptables-restore always has COMMIT; only a whole table declares its built-in chains."""
    found, declared = [], False
    for line in lines:
        if line.startswith("*"):
            declared = False
        declared = declared or (line.startswith(":") and line[1:].split(" ")[0] in ALL_BUILT_IN)
        if line != "COMMIT" or declared:
            found.append(line)
    return found


def _fragments(lines):
    """Each line below its table; tables are in the order of their first lines. Lines that fit several tables go to the
    table of the lines before them or, without one, to the table of the lines after them."""
    tables, waiting, name, family = {}, [], None, None
    for line in lines:
        words = read_rule(COUNTERS.sub("", line))
        known = table_of_rule(words.chain, words.target) if words else table_of_rule(_declared(line), None)
        if line.startswith(":") and _declared(line) in ALL_BUILT_IN and any(_declared(other) == _declared(line)
                                                                            for other in waiting):
            name = _table_by_chains(waiting)
            tables.setdefault((name, family), []).extend(waiting)
            waiting = [line]
        elif known is None and (name is None or waiting or _begins(line, tables[name, family])):
            waiting.append(line)
        else:
            name, family = known or name, (family_of(words) if words else None) or family
            tables.setdefault((name, family), []).extend(waiting + [line])
            waiting = []
    if waiting:
        tables.setdefault((name or _table_by_chains(waiting), family), []).extend(waiting)
    # Lines without the line of their table were picked out of a dump: chains may be missing.
    return [line for (name, _family), own in _with_family(tables).items()
            for line in (["*" + name] if name else []) + own + [MORE]]


def _declared(line):
    return line[1:].split(" ")[0] if line.startswith(":") else ""


def _table_by_chains(lines):
    """The table of lines that fit several tables: by the built-in chains that are declared, or filter, the default."""
    chains = {_declared(line) if line.startswith(":") else COUNTERS.sub("", line).split(" ")[1] for line in lines}
    table = table_of_chains({_declared(line) for line in lines} & ALL_BUILT_IN)
    return table or ("filter" if chains & BUILT_IN["filter"] and not chains & {"PREROUTING", "POSTROUTING"} else None)


def _with_family(tables):
    """The groups; lines before the first address get the family of the first address."""
    found = {}
    for (name, family), lines in tables.items():
        first = next((other for other_name, other in tables if other_name == name and other), None)
        found.setdefault((name, family or first), []).extend(lines)
    return found


def _begins(line, before):
    """True if a dump prints `line` ahead of the last line of `before`: chains before rules, built-in ones first."""
    if not before or not before[-1].startswith("-A "):
        return False
    chain = line.split(" ")[1] if line.startswith("-A ") else ""
    return line.startswith(":") or (chain in ALL_BUILT_IN and before[-1].split(" ")[1] not in ALL_BUILT_IN)


# The output of `iptables -S`, translated into lines of iptables-save.
# Sample:
#     -P FORWARD DROP -c 12 3456
#     -N KUBE-FORWARD
#     -A FORWARD -m comment --comment "kubernetes forwarding rules" -c 0 0 -j KUBE-FORWARD
# Grammar: iptables/iptables.c list_rules(), iptables/nft.c nft_rule_list_save(). `-v` adds the counters.
def save_text_of(lines, table=None, cut=False):
    """`SaveText` of the lines of one listing. `table` is the table that the command names; `cut`: the last line has no
    line end."""
    policies, chains, rules = [], [], []
    for line in lines:
        policy, new = _POLICY.match(line), _NEW.match(line)
        if policy:
            policies.append((policy.group(1), policy.group(2), int(policy.group(3) or 0), int(policy.group(4) or 0)))
        elif new:
            chains.append(new.group(1))
        else:
            rules.append(_COUNTERS.sub("", line))
    names = [row[0] for row in policies]
    table = table or _table_by_rules(names, rules) or ("filter" if "FORWARD" in names else None)
    cut = cut and not _is_ended(lines[-1], chains)
    # Lines after the end of the text are unknown, and the last line itself may be cut.
    unread = [rules.pop()] if cut and rules else []
    whole = is_whole(table, set(names) & ALL_BUILT_IN) and not cut and not _breaks_off(chains, rules)
    return SaveText(table, policies, chains, rules, unread, whole, declared=bool(names))


def _is_ended(line, chains):
    """True if the last line has no line end but ends in a complete target."""
    words = read_rule(_COUNTERS.sub("", line))
    return (words is not None and not words.arguments and words.target is not None
            and (words.target in chains or words.target in _VERDICTS))


# The last rule of a chain of kube-proxy, and chains that have rules only where a Service has no endpoints or limits its
# clients (kubernetes pkg/proxy/iptables/proxier.go).
_LAST_OF_FORWARD = re.compile(r"-A KUBE-FORWARD (?!(?:.* )?-[ds] ).*state RELATED,ESTABLISHED .*-j ACCEPT\Z")
_OFTEN_EMPTY = frozenset(("KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL", "KUBE-SERVICES"))


def _breaks_off(chains, rules):
    """True if rules lead to chains whose own rules would follow: iptables prints rules in the order of their chains."""
    words = [found for found in map(read_rule, rules) if found]
    last = chains.index(words[-1].chain) + 1 if words and words[-1].chain in chains else 0
    after = set(chains[last:]) - (_OFTEN_EMPTY if rules[-1:] and _LAST_OF_FORWARD.match(rules[-1]) else set())
    return bool(words) and not after.isdisjoint(found.target for found in words)


def _table_by_rules(built_in, rules):
    """The table that the built-in chains or, where they do not decide, the rules belong to."""
    by_rules = (table_of_rule(words.chain, words.target) for words in map(read_rule, rules) if words)
    return table_of_chains(built_in) or next(filter(None, by_rules), None)
