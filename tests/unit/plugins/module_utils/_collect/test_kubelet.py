# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kubelet."""

import pytest

import node_tree
from node_manifests import DEBIAN, merged, process, running
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect.node import collect_sections


def look(manifest, tmp_path, place="live"):
    tree = node_tree.unpack(merged(DEBIAN, running("6.1.0"), manifest), tmp_path)
    return collect_sections(["kubelet"], tree, place)["node_kubelet"]


@pytest.mark.parametrize("comm, distribution", [
    ("kubelet", "kubelet"), ("k3s-server", "k3s"), ("k3s-agent", "k3s"), ("rke2", "rke2"), ("k0s", "k0s"), ("kubelite", "microk8s")])
def test_who_is_the_kubelet(comm, distribution, tmp_path):
    section = look(process(700, comm, [comm]), tmp_path)
    assert (section["running"], section["distribution"], section["collected"]["processes"]) == (True, distribution, "ok")


def test_the_distribution_counts_before_its_child(tmp_path):
    assert look(merged(process(10, "kubelet", []), process(700, "rke2", [])), tmp_path)["distribution"] == "rke2"


def test_none_runs(tmp_path):
    section = look({"usr/bin/kubelet": node_tree.executable()}, tmp_path)
    assert (section["running"], section["distribution"], section["installed"]) == (False, None, "/usr/bin/kubelet")
    # The tree is none that runs: nothing in it is asked for its version.
    assert (section["version"], section["version_source"], section["collected"]["version"]) == (None, None, "denied")


def test_nothing_runs_in_an_image(tmp_path):
    section = look(process(700, "kubelet", []), tmp_path, "image")
    assert (section["running"], section["distribution"], section["collected"]) == (False, None, {"processes": "absent", "version": "absent"})


def test_processes_that_may_not_be_seen(tmp_path):
    assert look({"proc": node_tree.DIRECTORY}, tmp_path)["running"] in (False, None)
