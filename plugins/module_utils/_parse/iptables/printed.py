# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of `iptables -S`, translated into lines of iptables-save. PRIVATE to the collection.

Sample:
    -P FORWARD DROP -c 12 3456
    -N KUBE-FORWARD
    -A FORWARD -m comment --comment "kubernetes forwarding rules" -c 0 0 -j KUBE-FORWARD
Grammar: iptables/iptables.c list_rules(), iptables/nft.c nft_rule_list_save(). `-v` adds the counters.
"""

import re

from .fragment_table import ALL_BUILT_IN, is_whole, table_of_chains, table_of_rule
from .save_header import SaveText
from .save_rule import read_rule

_POLICY = re.compile(r"-P (\S+) ([A-Z]+)(?: -c (\d+) (\d+))?\Z")
_NEW = re.compile(r"-N (\S+)\Z")
_COUNTERS = re.compile(r" -c \d+ \d+(?= -[jg] |\Z)")
_VERDICTS = ("ACCEPT", "DROP", "REJECT", "RETURN", "MASQUERADE")
FIRST = re.compile(r"-[PN] \S")


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
    table = table or _table_by_rules(names, rules) or (table_of_chains(names)
                                                       if names else None) or ("filter" if "FORWARD" in names else None)
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


def _breaks_off(chains, rules):
    """True if rules lead to chains whose own rules would come after the last line: iptables prints rules in the order
    of their chains."""
    words = [found for found in map(read_rule, rules) if found]
    last = chains.index(words[-1].chain) + 1 if words and words[-1].chain in chains else 0
    return bool(words) and not set(chains[last:]).isdisjoint(found.target for found in words)


def _table_by_rules(built_in, rules):
    """The table that the rules belong to, where the built-in chains do not decide."""
    if table_of_chains(built_in):
        return table_of_chains(built_in)
    for text in rules:
        words = read_rule(text)
        found = table_of_rule(words.chain, words.target) if words else None
        if found:
            return found
    return None
