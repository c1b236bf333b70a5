# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before the fix chains vanish; after it, from the start of the kubelet unit on, none is ever missing."""

import json

import pytest

PARTS = ["files", "modules", "sys_module", "sysctls", "rules", "interfaces", "lock"]
SCRIPT = "/usr/local/sbin/maintain-node"
# What people run by hand still saves the rules of Kubernetes; no fix changes what a script writes.
SAVES = ("HOOK010", SCRIPT)
KUBELET_CHAINS = {"KUBE-IPTABLES-HINT", "KUBE-KUBELET-CANARY"}


def log(host, path):
    return [json.loads(line) for line in host.file(path).content_string.splitlines()]


def gaps(rows):
    return [row for row in rows if "missing" in row]


@pytest.mark.parametrize("part", PARTS)
def test_the_look_changed_nothing(snapshot, part):
    assert snapshot("audited")[part] == snapshot("hit")[part]


def test_before_the_fix_the_watcher_saw_chains_vanish(host):
    missing = {tuple(pair) for row in gaps(log(host, "/var/log/watch-chains.before")) for pair in row["missing"]}
    assert {table for table, _chain in missing} >= {"filter", "nat", "mangle"}


def test_the_hooks_were_found(findings):
    failed = {key: observed for key, observed in findings("hit", "fail").items() if key[0].startswith("HOOK")}
    told = " ".join("%s %s" % (subject, observed) for (_check, subject), observed in failed.items())
    assert SCRIPT in told
    assert "iptables.service" in told
    assert "ip4save" in told
    # docs/fixes.md counts on these.
    assert {"HOOK001", "HOOK004", "HOOK005"} <= {check for check, _subject in failed}


def test_the_node_that_was_hit_was_told_to_restart_kubelet(findings):
    before, after = (findings(label, "fail") for label in ("guarded", "restarted"))
    hit = {key for key in before if "kubelet" in key[1].lower() and key[0].startswith("HOOK")}
    assert hit
    assert not hit & set(after)


def hooks_left(findings, label):
    return {key[1] for key in findings(label, "fail") if key[0].startswith("HOOK") and key != SAVES}


def test_after_the_fix_no_hook_is_left(findings):
    assert not hooks_left(findings, "restarted")


def test_afterwards_only_what_the_maintenance_saved_again_is_told(findings):
    """The save stays in the script, so what it saves holds the chains of Kubernetes again."""
    assert all("/etc/systemd/scripts/ip" in subject for subject in hooks_left(findings, "rebooted"))


def test_the_script_lost_one_line_and_nothing_else(host, snapshot):
    lines = host.file(SCRIPT).content_string.splitlines()
    assert "systemctl restart iptables" not in " ".join(line for line in lines if not line.lstrip().startswith("#"))
    assert "    iptables-save > /etc/systemd/scripts/ip4save" in lines
    before, after = (snapshot(label)["files"] for label in ("hit", "fixed"))
    # Mode, owner and group; a script below /usr is not in the snapshot, the saved rules are.
    assert {path: row[1:4]
            for path, row in before.items()} == {path: row[1:4] for path, row in after.items() if path in before}
    assert host.file(SCRIPT).mode == 0o750


def test_after_the_fix_no_chain_was_ever_missing(host):
    rows = log(host, "/var/log/watch-chains")
    assert not gaps(rows)
    # Twice: around the maintenance, and from the boot on; each time it looked often at what a cluster has.
    assert [sorted(row) for row in rows].count(["began"]) == 2
    assert [row["chains"] for row in rows if row.get("looks") == 10]
    assert all(count >= len(KUBELET_CHAINS) for row in rows if row.get("looks") == 10 for count in row["chains"])


def test_the_maintenance_still_does_its_work_and_the_service_started(host):
    assert host.file("/etc/systemd/scripts/ip4save").contains("dport 22")
    assert host.run("systemctl is-active iptables").stdout.strip() == "active"
    assert host.run("iptables -S INPUT").stdout.count("--dport 22") == 1
