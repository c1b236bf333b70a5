# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence node_iptables_chains from the rules that were read."""

import re
import time

from ..._rules.observation import NAME_LIMIT, cut
from ..bounds import fitted_chains, size_limit
from ..kube.kube_proxy import collect_kube_proxy
from ..kube.kubelet import collect_kubelet
from .nftables import read_nftables
from .rule_sets import SAVE_LIMIT, SAVE_SECONDS
from .setting import UNTOLD, mode_of, situation_of

_NOTICES_LIMIT = 20
# Observations that the first sync of a kube-proxy removes. kube-proxy creates its own chains one by one, empty, before
# it writes all rules at once (kubernetes pkg/proxy/iptables/proxier.go, syncProxyRules).
_OF_FIRST_SYNC = ("chains_missing", "anchor_missing", "canary_missing", "emptied_chain", "unrepaired")
# What answers.answer() returns for a kernel without rules.
_NOTHING = {
    "observations": [], "observed": {}, "left_out": {}, "owners": [], "services": None, "rules_per_service": None,
    "service_rows": [], "service_rows_left_out": 0,
    "networks": {"services": None, "services_left_out": 0, "endpoints": None, "endpoints_left_out": 0, "shared": []},
    "digest": {"services": None, "endpoints": None, "service_count": None, "endpoint_count": None}}
# iptables-save -c; the rules of KUBE-* chains and the jumps to them.
_COUNTED = re.compile(rb"^\[(\d{1,20}):\d{1,20}\] -A (?:KUBE-|.* -j KUBE-)", re.M)
_LINE_LIMIT = 64 * 1024


def section_of(host, node, rules, options, kube_proxy, kubelet):
    """The evidence dict of `rules` (Rules), without its footprint; `options`, `kube_proxy` and `kubelet` as in
    collect_iptables_chains()."""
    if rules.source == "files":
        # A bundle may contain the configuration of kube-proxy, but not the processes that ran.
        kube_proxy, kubelet = (kube_proxy if node["place"] == "bundle" else None), None
        if node["place"] == "bundle" and not (kube_proxy or {}).get("version"):
            options = dict(options, kubernetes_version=host.declared().get("kubernetes_version"))
    else:
        kube_proxy, kubelet = kube_proxy or collect_kube_proxy(host, node), kubelet or collect_kubelet(host, node)
        mode = mode_of(rules, options, kube_proxy)[0]
        read_nftables(host, rules, options["deep"],
                      mode == "nftables" or (mode is None and kube_proxy.get("running") is not False))
    situation = situation_of(host, rules, options, kube_proxy, kubelet)
    if rules.source == "files" and situation.mode is None and situation.mode_source != UNTOLD:
        rules.miss("files", None, "%s, so the required chains are not known; give proxy_mode" % situation.mode_source)
    if rules.source == "files" and situation.mode == "nftables" and rules.nftables is None:
        rules.miss("files", None,
                   "none of them lists the tables of kube-proxy's nftables mode; add what nft list ruleset prints")
    section = dict(_section(rules, situation), **_answers(host, rules, situation, options))
    section["uncovered"] = []
    if rules.source == "files":
        from .dump_forms import uncovered  # Not needed on a node.
        section["uncovered"] = uncovered(rules, situation)
    section["expected"] = []
    if rules.source == "live":
        from .expected import expected_rows
        section["expected"] = expected_rows(host, node, rules)
    section["starting"] = _put_off(section, (kube_proxy or {}).get("starting") or _never_wrote(kube_proxy or {}))
    section["counters"] = sample_counters(host, rules, options["window_seconds"]) if options["window_seconds"] else None
    return fitted_chains(section, size_limit(options))


def _never_wrote(kube_proxy):
    """Why chains of kube-proxy do not exist although none was lost, or None."""
    rows = kube_proxy.get("sync") or []
    failures = sum((row["restore_failures"] or 0) + (row["nftables_failures"] or 0) for row in rows)
    if not failures or not all(row["never_synced"] for row in rows):
        return None
    return "kube-proxy has never written its rules since its start: each of %d syncs failed" % failures


def _put_off(section, starting):
    """`starting`, why chains of kube-proxy may not exist, if any of them is missing, otherwise None. Observations
    about missing chains are removed then."""
    if not starting or not any(kind in section["observed"] for kind in _OF_FIRST_SYNC):
        return None
    section["observations"] = [row for row in section["observations"] if row["kind"] not in _OF_FIRST_SYNC]
    for key in ("observed", "left_out"):
        section[key] = {kind: count for kind, count in section[key].items() if kind not in _OF_FIRST_SYNC}
    return starting


def _section(rules, situation):
    rows = [_row(found) for found in rules.rule_sets]
    return {"schema": 1, "collected": rules.collected, "unread": rules.unread, "source": rules.source,
            "read_at": rules.read_at, "mode": situation.mode, "mode_source": situation.mode_source,
            "kubernetes": "%d.%d" % situation.setting.kubernetes if situation.setting.kubernetes else None,
            "kubernetes_source": situation.kubernetes_source, "rule_sets": rows,
            "rules": sum(row["rules"] for row in rows), "notices": rules.notices[:_NOTICES_LIMIT]}


def _answers(host, rules, situation, options):
    """The answers about the rules. If there are no rules, and no program that should have written some, the code for
    the questions is not compiled."""
    if (situation.mode is None and not rules.nftables and not rules.native and not rules.unread
            and not any(found.tables for found in rules.rule_sets)):
        return dict(_NOTHING, digest=dict(_NOTHING["digest"], read_at=rules.read_at))
    from .answers import answer
    return answer(host, rules, situation, options)


def _row(found):
    counts = {name: table.rule_counts() for name, table in found.tables.items()}
    kube = {cut(name, NAME_LIMIT): sum([count for chain, count in counts[name].items() if chain[:5] == "KUBE-"])
            for name in counts}
    policies = {cut("%s/%s" % (name, chain), NAME_LIMIT): cut(held.policy, NAME_LIMIT)
                for name, table in found.tables.items() for chain, held in table.chains.items() if held.policy}
    return {"family": found.family, "backend": found.backend, "source": found.source, "version": found.version,
            "tables": sorted(cut(name, NAME_LIMIT) for name in found.tables),
            "rules": sum(sum(chains.values()) for chains in counts.values()),
            "chains": sum(len(chains) for chains in counts.values()), "kube_rules": sum(kube.values()),
            "kube_rules_by_table": {name: count for name, count in kube.items() if count}, "policies": policies,
            "unreadable": sorted(found.unreadable)}


def sample_counters(host, rules, seconds):
    """`{"seconds", "moved", "packets"}` between two readings of all sets of `rules`, or None where one failed."""
    commands = [rules.commands[source] + ["-c"] for source in sorted(rules.commands)]
    if not commands:
        return None
    begun = time.monotonic()
    before = [_packets(host, command) for command in commands]
    time.sleep(max(0.0, seconds - (time.monotonic() - begun)))
    after = [_packets(host, command) for command in commands]
    if None in before + after:
        return None
    # kube-proxy replaces its rules with counters at zero: then only the packets since that moment are known.
    packets = sum(late - early if late >= early else late for early, late in zip(before, after))
    return {"seconds": round(time.monotonic() - begun, 1), "moved": before != after, "packets": packets}


def _packets(host, command):
    total = _Total()
    done = host.stream(command, total.feed, SAVE_SECONDS, SAVE_LIMIT)
    return total.close() if done.ok else None


class _Total:
    """Adds counters up, line by line."""

    def __init__(self):
        self._held, self._packets = b"", 0

    def feed(self, chunk):
        whole, newline, rest = (self._held + chunk).rpartition(b"\n")
        self._held = rest[:_LINE_LIMIT]
        self._packets += sum(int(packets) for packets in _COUNTED.findall(whole + newline))

    def close(self):
        """All packets, of the last line too."""
        self.feed(b"\n")
        return self._packets
