# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The systemd of this machine verifies drop-ins for the units of a tree, and its result is the same as that of reading
the files."""

import os

import hook_nodes
import node_tree
import pytest
from node_tree import merged

from ansible_collections.kubenode.netfilter.plugins.module_utils._change.hooks.unit import complaints
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units.units import Units


FOLDERS = ("etc/systemd/system", "usr/lib/systemd/system")
BEFORE = "[Unit]\nBefore=kubelet.service\n[Service]\nExecStop=\n"


def node(tmp_path, *lines):
    unit = hook_nodes.service("fw.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=/bin/true",
                              "ExecStop=/bin/false", unit=lines, enabled=True)
    tree = node_tree.unpack(merged(hook_nodes.SYSTEMD, hook_nodes.KUBEADM, unit), tmp_path)
    return Units(Host(tree), {"place": "image"}), ":".join(os.path.join(tree, folder) for folder in FOLDERS)


def asked(units, texts, unit_path):
    """(complaints of systemd, complaints from the files alone, as where systemd cannot be asked)."""
    return complaints(Host("/"), units, texts, unit_path), complaints(Host("/", commands=False), units, texts)


def test_a_sound_drop_in_is_taken(tmp_path):
    units, unit_path = node(tmp_path)
    assert asked(units, {"fw.service": BEFORE}, unit_path) == ([], [])


@pytest.mark.parametrize("lines", [("After=kubelet.service",), ("After=late.target", "Wants=late.target")])
def test_a_cycle_is_told(tmp_path, lines):
    late = hook_nodes.unit("late.target", "[Unit]", "After=kubelet.service")
    node_tree.unpack(late, tmp_path)
    units, unit_path = node(tmp_path, *lines)
    for said in asked(units, {"fw.service": BEFORE}, unit_path):
        assert said and "ordering cycle" in said[0] and len(said) <= 3


def test_a_cycle_that_was_there_before_is_not_laid_to_our_charge(tmp_path):
    node_tree.unpack(hook_nodes.service("other.service", "ExecStart=/bin/true", enabled=True,
                                        unit=("After=kubelet.service", "Before=containerd.service")), tmp_path)
    node_tree.unpack({"etc/systemd/system/containerd.service.d/o.conf": "[Unit]\nBefore=kubelet.service\n"}, tmp_path)
    units, unit_path = node(tmp_path)
    assert asked(units, {"fw.service": "[Service]\nExecStop=\n"}, unit_path) == ([], [])


def test_what_systemd_cannot_read_is_told(tmp_path):
    units, unit_path = node(tmp_path)
    said = complaints(Host("/"), units, {"fw.service": "[Service]\nExecStart=relative path\nNonsense=1\n"}, unit_path)
    assert said and all("zz-kubenode-netfilter.conf" in line for line in said)
    assert not any("/tmp" in line for line in said)
