# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A full table drops connections, which is told; after the fix none is dropped, and at the next boot every value is the
one that was told."""

import re

import pytest

PARTS = ["files", "modules", "sys_module", "sysctls", "rules", "interfaces", "lock"]
MAX, BUCKETS, FORWARD = "net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_buckets", "net.ipv4.ip_forward"
BRIDGE = ["net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"]
UDP = "net.netfilter.nf_conntrack_udp_timeout"

# (check, subject) of what prepare set up on each node. With 732 MB, 65536 is the most that the policy allows.
BROKEN = {
    "node61": {("CTRACK001", "the table"), ("CTRACK003", "the table"), ("CTRACK004", "nf_conntrack_max"),
               ("CTRACK011", MAX), ("CTRACK016", FORWARD)},
    "node612": {("CTRACK004", "nf_conntrack_max"), ("CTRACK011", MAX), ("CTRACK011", UDP)},
    "node72": {("CTRACK004", "nf_conntrack_max"), ("CTRACK013", "/etc/modprobe.d/site.conf:2"), ("CTRACK015", FORWARD)},
}
# Bridges of pods, on nodes where nothing has loaded br_netfilter.
UNLOADED = {"node61": BRIDGE, "node612": [], "node72": BRIDGE}
LIMIT = 65536
KUBE_PROXY = {"node61": "1.30.4", "node612": "1.34.1", "node72": "1.38.2"}
OWN = "etc/%s/zz-kubenode-netfilter.conf"
OWN_FILES = {OWN % "sysctl.d", OWN % "modules-load.d", OWN % "modprobe.d", "etc/modules-load.d/kubenode-netfilter.conf"}
YIELDING = {"etc/sysctl.d/zz-site.conf": "net.netfilter.nf_conntrack_max = 8192",
            "etc/ufw/sysctl.conf": "net/netfilter/nf_conntrack_max=4096"}


def of_connections(rows):
    return {key: observed for key, observed in rows.items() if key[0].startswith("CTRACK")}


def changed(snapshot, before, after):
    """Files with another content, mode or owner."""
    rows = [{path: entry[:4] for path, entry in snapshot(label)["files"].items()} for label in (before, after)]
    return {path for path in set(rows[0]) | set(rows[1]) if rows[0].get(path) != rows[1].get(path)}


@pytest.mark.parametrize("part", PARTS)
def test_the_look_changed_nothing(snapshot, part):
    assert snapshot("audited")[part] == snapshot("broken")[part]


def test_findings_name_exactly_what_is_wrong(findings, node):
    found = set(of_connections(findings("broken", "fail")))
    # Whether a packet is dropped just during the look at the full table is up to the packets.
    assert found - ({("CTRACK019", "the table")}
                    if node == "node61" else set()) == BROKEN[node] | {("CTRACK014", key) for key in UNLOADED[node]}


def test_a_full_table_makes_nothing_unknown_that_does_not_rest_on_the_version(findings):
    """The kernel drops the question for kube-proxy's version, too, which matters in ipvs mode only."""
    unknown = findings("broken", "unknown")
    assert not of_connections(unknown) and not [check for check, _subject in unknown if check in ("KMOD015", "IPVS004")]


def test_real_connections_filled_the_table_and_were_dropped(findings, node):
    failed = findings("broken", "fail")
    full = {check: failed[check, "the table"] for check in ("CTRACK001", "CTRACK003") if (check, "the table") in failed}
    assert bool(full) == (node == "node61")
    if full:
        assert full["CTRACK001"] == "1024 of 1024 entries, 100.0 %"
        assert int(re.match(r"since boot: (\d+) packets dropped", full["CTRACK003"]).group(1)) >= 100


def test_modules_that_are_not_loaded_on_demand_are_loaded_by_the_role(findings, node):
    """docs/fixes.md counts on this."""
    failed = [{check for check, _subject in findings(label, "fail")} for label in ("broken", "safe")]
    assert ("KMOD003" in failed[0]) == bool(UNLOADED[node]) and "KMOD003" not in failed[1]


def test_what_is_safe_touches_no_file_of_others(snapshot):
    assert changed(snapshot, "broken", "safe") <= OWN_FILES


def test_a_limit_that_others_undo_is_still_reported_then(findings, node):
    failed = set(of_connections(findings("safe", "fail")))
    assert failed == {"node61": {("CTRACK007", MAX)}, "node612": {("CTRACK006", MAX), ("CTRACK012", MAX)},
                      "node72": set()}[node]


def test_where_others_have_to_yield_one_line_of_each_does(host, node, snapshot):
    differing = changed(snapshot, "safe", "fixed") - OWN_FILES
    assert differing == (set(YIELDING) if node == "node612" else set())
    for path in differing:
        lines = host.file("/" + path).content_string.splitlines()
        assert [line for line in lines if line.endswith(YIELDING[path]) and line.startswith("#")]
        assert YIELDING[path] not in lines
        assert snapshot("fixed")["files"][path][1:4] == snapshot("broken")["files"][path][1:4]


def test_only_what_kube_proxy_undoes_is_left(findings, node):
    failed = of_connections(findings("again", "fail"))
    assert set(failed) == ({("CTRACK007", MAX)} if node == "node61" else set())
    assert not of_connections(findings("again", "unknown"))


def test_no_connection_was_dropped_any_more(host, findings, node):
    assert ("CTRACK003", "") in findings("again", "pass")
    kept = host.file("/var/lib/kube-proxy/dropped")
    assert kept.exists == (node == "node61")
    if kept.exists:
        before, after = map(int, kept.content_string.split())
        assert before >= 100
        assert after == before


def test_sysctl_d_brought_every_value_right_after_the_boot(host, seen):
    wanted = dict(line.split(" = ") for line in host.file("/" + OWN % "sysctl.d").content_string.splitlines()
                  if " = " in line)
    wanted = {key: int(value) for key, value in wanted.items()}
    assert wanted[MAX] == LIMIT
    early = seen("early-sysctls")
    assert {key: early.get(key) for key in wanted} == wanted
    # br_netfilter is loaded early as well, which turns them on.
    assert [early.get(key) for key in BRIDGE] == [1, 1]


def test_a_line_that_came_too_early_counts_now(seen, node):
    assert seen("early-sysctls")[UDP] == (45 if node == "node612" else 30)


@pytest.mark.parametrize("stage", ["at_boot", "after_kube_proxy"])
def test_the_boot_brought_what_was_told(node, seen, told, stage):
    known = {key: row[stage] for key, row in told.items() if row[stage] is not None}
    assert {MAX, BUCKETS, FORWARD} <= set(known)
    now = seen("boot-sysctls" if stage == "at_boot" else "after-" + KUBE_PROXY[node])
    assert {key: now.get(key) for key in known} == known


def test_kube_proxy_put_the_limit_back_and_the_report_had_said_so(findings, node, seen, told):
    assert seen("after-"
                + KUBE_PROXY[node])[MAX] == told[MAX]["after_kube_proxy"] == (16384 if node == "node61" else LIMIT)
    failed = set(of_connections(findings("rebooted", "fail")))
    assert failed == ({("CTRACK007", MAX)} if node == "node61" else set())
