# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same rule twice, where repetition has no meaning. PRIVATE to the collection."""

from .._parse.iptables_save_rule import read_rule
from .observation import observe
from .owners import owner_of
from .tables import BUILT_IN, readable

# With these the second copy counts, draws or limits anew.
_MEANT = frozenset(("connlimit", "hashlimit", "limit", "nfacct", "quota", "quota2", "rateest", "recent", "statistic"))


def ask_duplicates(rule_set, setting):
    """duplicate_rule of one rule set; C(count) is the number of copies too many."""
    found = []
    for name, table in readable(rule_set):
        repeated = sorted(table.duplicates())
        for chain, text, times in repeated:
            if not _is_meant(name, chain, text):
                found.append(observe("duplicate_rule", rule_set, name, chain, text, times - 1, "the same rule is there %d times" % times))
        found += _repeated_jumps(rule_set, name, table, set((chain, text) for chain, text, _times in repeated))
    return found


def _is_meant(table, chain, text):
    words = read_rule(text)
    if words is None or words.target is None or any(match in _MEANT for match, _options in words.matches):
        return True  # A rule without a target only counts packets.
    # kube-router writes a pod's rules once for each direction (pkg/controllers/netpol/pod.go); user chains of policies are the user's.
    return owner_of(chain, table) == "kube_router"


def _repeated_jumps(rule_set, name, table, told):
    """Jumps of a built-in chain to the same chain under the same matches that differ in their comment only."""
    for chain in BUILT_IN:
        seen = {}
        for rule in table.chains[chain].rules if chain in table.chains else ():
            if rule.target in table.chains and (chain, rule.text) not in told:
                key = (rule.target, rule.goto, repr(sorted(rule.options.items())), repr(rule.matches))
                seen.setdefault(key, []).append(rule)
        for key in sorted(seen, key=repr):
            rules = seen[key]
            if len(rules) > 1 and not any(_is_meant(name, chain, rule.text) for rule in rules):
                yield observe("duplicate_rule", rule_set, name, chain, rules[1].text, len(rules) - 1,
                              "jumps to %s %d times, with different comments" % (rules[0].target[:64], len(rules)))
