# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that break traffic of Services without a refusal, and legitimate ones. PRIVATE to the collection."""

from ..kube_proxy.mark_values import changed_mark, mark_value
from ..rules import plain_value
from ..tables import rules_of, table_of


def untracks(rule_set, rule, lacks=None):
    """True for a rule of table raw that exempts packets from conntrack.

    False for the rules of NodeLocal DNSCache (kubernetes/dns cmd/node-cache): it listens on the virtual address of the
    cluster's DNS, on an interface of the node, and therefore accepts packets to it in INPUT. True for rules that it
    left behind: `lacks(address)` tells whether certainly no interface has that address. A dump may lack table filter.
    """
    if rule.target != "NOTRACK" and rule.value("--notrack") is None:
        return False
    destination, filters = plain_value(rule, "-d"), table_of(rule_set, "filter")
    if destination and lacks is not None and lacks(destination.partition("/")[0]):
        return True
    if filters is None and rule_set.source != "live" and destination and (
            destination.partition("/")[2] in ("", "128" if ":" in destination else "32")):
        return False
    return not destination or not any(other.target == "ACCEPT" and plain_value(other, "-d") == destination
                                      for other in rules_of(filters, "INPUT"))


def clears(rule, mark):
    """True for a rule that clears a bit of this `mark`. The mark of a new connection has no bits of kube-proxy: it is
    saved before kube-proxy marks the packet, if at all (Linux net/netfilter/xt_connmark.c)."""
    if rule.target == "CONNMARK":
        mask = mark_value([rule.value("--nfmask") or "0xffffffff"])
        return any(option == "--restore-mark" for option, _values, _negated in rule.arguments) and (
            mask is not None and bool(mask[0] & mark))
    changed = changed_mark(mark, rule)
    return changed is not None and changed & mark != mark


def is_between_pods(rule):
    """True for the RETURN by which Flannel up to 0.20 does not masquerade between pods; it names both networks."""
    return rule.target == "RETURN" and bool(rule.options.get("-s")) and bool(rule.options.get("-d"))
