# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a boot starts, what starts units later, and in which order: on trees of units like those of nodes."""

import pytest

import node_tree
import unit_trees
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units import order
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units.units import Units

ETC, VENDOR = unit_trees.ETC + "/", unit_trees.VENDOR + "/"
BOOT = {VENDOR + name: text for name, text in unit_trees.BOOT.items()}
BOOT[VENDOR + "default.target"] = node_tree.link("multi-user.target")
BOOT[VENDOR + "network-online.target"] = "[Unit]\nAfter=network.target\n"
KUBELET = "[Unit]\nWants=network-online.target\nAfter=network-online.target\n[Service]\nExecStart=/usr/bin/kubelet\n"
IPTABLES = "[Service]\nType=oneshot\nExecStart=/sbin/restore\nExecStop=/sbin/flush\n[Unit]\n"
# The unit that sets up the network pulls in network.target; otherwise `network.target` orders nothing.
NETWORK = {VENDOR + "networking.service": "[Service]\nExecStart=/sbin/ifup\n[Unit]\nAfter=network-pre.target\n"
                                          "Before=network.target\nWants=network.target\n",
           ETC + "multi-user.target.wants/networking.service": node_tree.link("../networking.service")}
WANTED = {VENDOR + "kubelet.service": KUBELET,
          ETC + "multi-user.target.wants/kubelet.service": node_tree.link("/usr/lib/systemd/system/kubelet.service")}
ENABLED = {ETC + "multi-user.target.wants/iptables.service": node_tree.link("/usr/lib/systemd/system/iptables.service")}


@pytest.fixture
def units(tmp_path):
    def made(*manifests):
        return Units(Host(node_tree.unpack(node_tree.merged(BOOT, NETWORK, *manifests), tmp_path)), {"place": "image"})
    return made


@pytest.mark.parametrize(
    "manifest, expected", [
        ({}, False),
        (ENABLED, True),
        ({ETC + "multi-user.target.d/x.conf": "[Unit]\nWants=iptables.service\n"}, True),
        ({ETC + "kubelet.service.d/x.conf": "[Unit]\nRequires=other.service\n",
          VENDOR + "other.service": "[Unit]\nBindsTo=iptables.service\n"}, True),
        ({ETC + "kubelet.service.d/x.conf": "[Unit]\nRequisite=iptables.service\nAfter=iptables.service\n"}, False),
        ({ETC + "rescue.target.wants/iptables.service": node_tree.link("../iptables.service")}, False),
        (dict(ENABLED, **{ETC + "iptables.service": node_tree.MASKED}), False),
        ({ETC + "multi-user.target.wants/iptables.service": node_tree.MASKED}, False),
        (dict(ENABLED, **{ETC + "default.target": node_tree.link("/usr/lib/systemd/system/basic.target")}), False),
    ], ids=["nobody", "link", "drop-in", "through others", "requisite", "another target", "masked", "masked link",
            "another default"])
def test_what_a_boot_starts(units, manifest, expected):
    found = units(WANTED, {VENDOR + "iptables.service": IPTABLES}, manifest)
    assert found.starts_at_boot("iptables.service") is expected


def test_without_a_default_target_nothing_can_be_told(units):
    assert units({VENDOR + "default.target": None, VENDOR + "a.service": IPTABLES}).starts_at_boot("a.service") is None


def test_what_starts_a_unit_later(units):
    found = units({
        VENDOR + "a.service": IPTABLES, VENDOR + "a.timer": "[Timer]\nOnCalendar=daily\nOnBootSec=5\nPersistent=yes\n",
        VENDOR + "b.timer": "[Timer]\nUnit=a.service\nUnit=c.service\nOnCalendar=\n",
        VENDOR + "p.path": "[Path]\nPathChanged=/x\nUnit=a.service\n",
        VENDOR + "s.socket": "[Socket]\nListenStream=22\nAccept=yes\n", VENDOR + "s@.service": IPTABLES,
        VENDOR + "t@.timer": "[Timer]\nUnit=a.service\n",
        ETC + "timers.target.wants/t@x.timer": node_tree.link("../t@.timer"),
        ETC + "m.timer": node_tree.MASKED, ETC + "gone.timer": node_tree.link("/gone")})
    assert [tuple(each) for each in found.activated_by("a.service")] == [
        ("p.path", "path", ("PathChanged=/x",)), ("a.timer", "timer", ("OnCalendar=daily", "OnBootSec=5")),
        ("b.timer", "timer", ()), ("t@x.timer", "timer", ())]
    assert [each.name for each in found.activated_by("s@.service")] == ["s.socket"]
    assert found.activated_by("s.service") == found.activated_by("m.service") == found.activated_by("c.service") == []


@pytest.mark.parametrize("said, expected", [
    ("", False),
    ("Before=kubelet.service\n", True),
    ("Before=network-pre.target\nWants=network-pre.target\n", True),
    # No unit starts these targets, so they order nothing.
    ("Before=network-pre.target\n", False),
    ("Before=eta.target\n", False),
    ("Before=network.target\nWants=network.target\n", True),
    ("After=kubelet.service\n", False),
    ("Before=basic.target\nDefaultDependencies=no\n", True),
    ("WantedBy=multi-user.target\n", False),
])
def test_who_waits_for_whom(units, said, expected):
    found = units(WANTED, ENABLED, {VENDOR + "iptables.service": IPTABLES + said,
                                    VENDOR + "eta.target": "[Unit]\nBefore=kubelet.service\n"})
    assert order.ordered_before(found, "iptables.service", "kubelet.service") is expected
    assert order.ordered_before(found, "kubelet.service", "iptables.service") is (said == "After=kubelet.service\n")


def test_units_that_a_boot_does_not_start_are_ordered_as_if_it_did(units):
    found = units({VENDOR + "kubelet.service": KUBELET,
                   VENDOR + "iptables.service": IPTABLES + "Before=network-pre.target\nWants=network-pre.target\n"})
    assert not found.starts_at_boot("iptables.service")
    assert order.ordered_before(found, "iptables.service", "kubelet.service")
    assert order.ordered_before(found, "basic.target", "kubelet.service")
    assert not order.ordered_before(found, "gone.service", "kubelet.service")
    assert not order.ordered_before(found, "kubelet.service", "kubelet.service")


def test_a_target_comes_after_what_it_wants(units):
    found = units(WANTED, ENABLED, {VENDOR + "iptables.service": IPTABLES,
                                    VENDOR + "late.service": IPTABLES + "After=multi-user.target\n",
                                    ETC + "multi-user.target.wants/late.service": node_tree.link("../late.service")})
    assert order.ordered_before(found, "iptables.service", "late.service")
    assert not order.ordered_before(found, "late.service", "multi-user.target")


def test_a_drop_in_is_tried_out(units):
    found = units(WANTED, ENABLED, {VENDOR + "iptables.service": IPTABLES, VENDOR + "t@.service": IPTABLES,
                                    VENDOR + "u.service": IPTABLES})
    no_stop = "[Service]\nExecStop=\n"
    tried = found.with_drop_ins({"iptables.service": no_stop + "[Unit]\nBefore=kubelet.service\n",
                                 "t@.service": no_stop})
    assert [line.key for line in tried.unit("iptables.service").exec_lines()] == ["ExecStart"]
    assert [line.key for line in tried.unit("t@x.service").exec_lines()] == ["ExecStart"]
    assert tried.unit("u.service").values("Service", "ExecStop")
    assert order.ordered_before(tried, "iptables.service", "kubelet.service")
    assert [line.key for line in found.unit("iptables.service").exec_lines()] == ["ExecStart", "ExecStop"]
    assert not order.ordered_before(found, "iptables.service", "kubelet.service")


@pytest.mark.parametrize("drop_ins, expected",
                         [
                             ({}, []),
                             ({"iptables.service": "[Unit]\nBefore=kubelet.service\n"}, []),
                             ({"iptables.service": "[Unit]\nBefore=kubelet.service\nAfter=kubelet.service\n"},
                              ["iptables.service", "kubelet.service", "iptables.service"]),
                             ({"iptables.service": "[Unit]\nBefore=sysinit.target\n"},
                              ["basic.target", "iptables.service", "sysinit.target", "basic.target"]),
                             ({"iptables.service": "[Unit]\nBefore=iptables.service\n"}, []),
                             ({"t@.service": "[Unit]\nBefore=sysinit.target\n"}, []),
                         ])
def test_cycles(units, drop_ins, expected):
    found = units(WANTED, ENABLED, {VENDOR + "iptables.service": IPTABLES, VENDOR + "t@.service": IPTABLES})
    cycle = order.cycle_with(found, drop_ins)
    assert sorted(set(cycle)) == sorted(set(expected)) or set(cycle) < set(expected)
    assert bool(cycle) == bool(expected)
    changed = found.with_drop_ins(drop_ins)
    assert all(order.ordered_before(changed, earlier, later) for earlier, later in zip(cycle, cycle[1:]))
