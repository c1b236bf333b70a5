# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same rule twice, where repetition has no meaning. PRIVATE to the collection."""

from .._versions import within
from .._parse.iptables.ruleset import fingerprint
from .._parse.iptables.save_rule import read_rule, repeats_with_reason
from .observation import ROWS_LIMIT, observe
from .others.owners import CNI, KUBERNETES, owner_of
from .tables import BUILT_IN, readable, rules_behind, rules_of

_FINDS_NONE = "; iptables %s (nf_tables) does not find existing rules with -C, so each sync adds one"
_OF_AGENT = "; the agent that owns this chain does not find its rule again, so each sync adds one"
_MARKING = frozenset(("MARK", "CONNMARK"))


def ask_duplicates(rule_set, setting):
    """duplicate_rule of one rule set; `count` is the number of copies too many."""
    for name, table in readable(rule_set):
        noted = set()
        for chain, text, times in sorted(table.duplicates()):
            noted.add((chain, text))
            words = read_rule(text)
            if repeats_with_reason(words) or _of_a_pod(name, chain, text) or _without_comment(name, chain, text):
                continue
            # kube-proxy and kubelet write each rule once.
            own = owner_of(chain, name) in KUBERNETES
            again = _with_the_same_mark(table, chain, text) if _of_marks(words) and not own else times - 1
            if again:
                why = (_FINDS_NONE % rule_set.version if own and _finds_none(rule_set)
                       else _OF_AGENT if owner_of(chain, name) in CNI else "")
                detail = "the same rule exists %d times%s" % (times, why)
                yield observe("duplicate_rule", rule_set, name, chain, text, again, detail)
        for chain, copies in sorted(table.repeated_more.items()):
            if not _of_a_pod(name, chain, "KUBE-POD-FW-"):
                yield observe("duplicate_rule", rule_set, name, chain, "", copies, None)
        yield from _repeated_jumps(rule_set, name, table, noted)


def _finds_none(rule_set):
    """Whether iptables is a build whose -C fails, so that each sync adds rules (Debian 10;
    kubernetes-sigs/iptables-wrappers)."""
    return rule_set.backend == "nft" and within(rule_set.version, "1.8.0", "1.8.3") is True


def _of_marks(words):
    """True for a rule that matches or sets the mark of a packet."""
    return words.target in _MARKING or any(match in ("mark", "connmark") for match, _options in words.matches)


def _with_the_same_mark(table, chain, text):
    """How many copies of a mark rule follow an earlier copy with no rule between them that may change the mark."""
    again, seen, changed = 0, False, False
    for rule in table.chains[chain].rules:
        if rule.text == text:
            again += seen and not changed
            seen, changed = True, False
        elif not changed:
            changed = rule.target in _MARKING or any(
                each.target in _MARKING for each in rules_behind(table.chains, rule.target))
    return again


def _of_a_pod(table, chain, text):
    """kube-router writes a pod's rules once for each direction (pkg/controllers/netpol/pod.go), and users may repeat
    rules in their policies, as they do in those of Azure NPM. Its own rules on ClusterIPs and NodePorts exist once
    (network_policy_controller.go ensureTopLevelChains)."""
    return chain.startswith("AZURE-NPM-") or owner_of(chain, table) == "kube_router" and (
        not chain.startswith("KUBE-ROUTER-") or "KUBE-POD-FW-" in text)


def _without_comment(table, chain, text):
    """Cilium gives each rule a comment, and some rules differ in it alone (pkg/datapath/iptables, `(nodeport)`); nft
    list of iptables before 1.8.8 prints no comments."""
    return owner_of(chain, table) == "cilium" and "--comment" not in text


def _repeated_jumps(rule_set, name, table, noted):
    """Jumps from a built-in chain to the same chain that have the same matches and differ only in their comment."""
    for chain in BUILT_IN:
        once, again, more = set(), {}, 0
        for rule in _distinct_jumps(table, chain, noted):
            key = (rule.target, rule.goto, repr(sorted(rule.options.items())), repr(rule.matches))
            # Of a jump that occurs once only the fingerprint is kept: a firewall may have a hundred thousand of them.
            if fingerprint(key) not in once:
                once.add(fingerprint(key))
            elif repeats_with_reason(rule.words()):
                continue
            elif key in again or len(again) < ROWS_LIMIT:
                text, copies = again.get(key, (rule.text, 0))
                again[key] = text, copies + 1
            else:
                more += 1
        for key in sorted(again):
            text, copies = again[key]
            yield observe("duplicate_rule", rule_set, name, chain, text, copies,
                          "jumps to %s %d times, with different comments" % (key[0][:64], copies + 1))
        if more:
            yield observe("duplicate_rule", rule_set, name, chain, "", more, None)


def _distinct_jumps(table, chain, noted):
    """The rules of a chain that jump to another chain, without the rules in `noted`, which are already reported as
    repeated. Where not all repeated rules were kept, only the first copy of each rule."""
    seen = set() if chain in table.repeated_more else None
    for rule in rules_of(table, chain):
        if rule.target in table.chains and (chain, rule.text) not in noted and (seen is None
                                                                                or fingerprint(rule.text) not in seen):
            yield rule
            if seen is not None:
                seen.add(fingerprint(rule.text))
