# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether kubelet waits for what flushes at boot, whether that has started, and what counts as one finding."""

import pytest

from case_rows import cases
import node_tree
from hook_nodes import AZURE, DEBIAN, NETWORK, SYSTEMD, service
from node_tree import executable, merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.files import by_file
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.order import unordered, waiting
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.units import HookUnits

FLUSH = "ExecStart=/usr/sbin/iptables -F"


def look(manifest, tmp_path, states=None):
    """(rows, units) of a tree; `states` is what a running systemd would say."""
    host = Host(node_tree.unpack(manifest, tmp_path))
    rows = collect_flush_hooks(host, {"place": "image"})["hooks"]
    units = HookUnits(host, {"place": "live"})
    units.all.active = lambda names: {name: (states or {}).get(name, "inactive") for name in names}
    units.ask_active([row["unit"] for row in rows if row["unit"]])
    return rows, units


@cases
def test_order(lines, expected, tmp_path):
    rows, units = look(merged(DEBIAN, service("fw.service", "Type=oneshot", FLUSH, enabled=True, unit=lines)), tmp_path)
    assert [(row["unit"], row["before"], row["path"]) for row in unordered(rows, units)] == [
        (name, "kubelet.service", "/usr/lib/systemd/system/" + name) for name in expected]


def test_what_does_not_start_at_boot_needs_no_order(tmp_path):
    rows, units = look(merged(DEBIAN, service("fw.service", FLUSH)), tmp_path)
    assert rows and unordered(rows, units) == []


def test_without_a_kubelet_there_is_nobody_to_wait(tmp_path):
    rows, units = look(merged(SYSTEMD, service("fw.service", FLUSH, enabled=True)), tmp_path)
    assert rows and unordered(rows, units) == []


@pytest.mark.parametrize("kubelet", ["k3s.service", "rke2-server.service", "k0sworker.service"])
def test_other_kubelets(kubelet, tmp_path):
    tree = merged(SYSTEMD, NETWORK, service(kubelet, "ExecStart=/usr/bin/true", enabled=True),
                  service("fw.service", FLUSH, enabled=True))
    rows, units = look(tree, tmp_path)
    assert [row["before"] for row in unordered(rows, units)] == [kubelet]


@cases
def test_waiting(states, expected, tmp_path):
    rows, units = look(AZURE, tmp_path, states)
    assert [(row["unit"], row["state"], row["active"]) for row in waiting(rows, units)] == expected


@cases
def test_who_does_not_start_does_not_wait(change, tmp_path):
    rows, units = look(merged(AZURE, change), tmp_path)
    assert waiting(rows, units) == []


def test_a_running_unit_is_live_although_it_is_disabled(tmp_path):
    rows, units = look(merged(DEBIAN, service("fw.service", FLUSH)), tmp_path, {"fw.service": "active"})
    assert units.runs("fw.service") == (True, "fw.service is active")
    assert units.runs("nftables.service") == (False, "nftables.service is disabled and inactive")
    assert units.runs("no.service") == (False, "no.service does not exist")


def test_a_live_place_that_does_not_answer_tells_nothing(tmp_path):
    host = Host(node_tree.unpack(DEBIAN, tmp_path))
    assert HookUnits(host, {"place": "live"}).runs("nftables.service") == (
        None, "nftables.service is disabled, and whether it is active is not known")
    assert HookUnits(host, {"place": "image"}).runs("nftables.service")[0] is False


SCRIPT = executable("#!/bin/sh\niptables -F\niptables -t nat -F\nip6tables -X\n")


@pytest.mark.parametrize(
    "files, automatic, early", [
        ({"etc/rc.local": SCRIPT}, True, False), ({"etc/cron.daily/fw": SCRIPT}, True, None),
        ({"etc/network/if-up.d/fw": SCRIPT}, True, True),
        ({"etc/network/interfaces": "auto e\niface e inet dhcp\n pre-up iptables -F\n"}, False, True),
    ])
def test_what_runs_by_itself(files, automatic, early, tmp_path):
    rows, units = look(merged(DEBIAN, files), tmp_path)
    found = [row for row in by_file(rows, units) if row["unit"] != "nftables.service"]
    assert [(row["automatic"], row["before_kubelet"]) for row in found] == [(automatic, early)]


def test_the_commands_of_a_script_are_one_finding(tmp_path):
    rows, units = look(merged(DEBIAN, {"etc/rc.local": SCRIPT}), tmp_path)
    row = by_file([row for row in rows if row["path"] == "/etc/rc.local"], units)
    assert len(row) == 1 and (row[0]["commands"], row[0]["lines"], row[0]["tables"], row[0]["families"]) == (
        3, [2, 3, 4], ["filter", "nat"], ["ipv4", "ipv6"])


def test_what_a_unit_does_at_boot_is_said_of_the_unit(tmp_path):
    rows, units = look(merged(DEBIAN, service("fw.service", "Type=oneshot", FLUSH, enabled=True)), tmp_path)
    assert [(row["automatic"], row["triggers"]) for row in by_file(rows, units) if row["unit"] == "fw.service"] == [
        (False, ["boot", "start", "restart"])]
