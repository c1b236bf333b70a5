# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which service of systemd a process belongs to, by its cgroup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd.cgroup_unit import parse_cgroup_unit

V1 = "12:memory:/kubepods\n1:name=systemd:%s\n0::%s\n"


@pytest.mark.parametrize("text, unit", [
    ("0::/system.slice/kubelet.service\n", "kubelet.service"),
    ("0::/system.slice/k3s.service\n", "k3s.service"),
    ("0::/system.slice/rke2-server.service/deeper\n", "rke2-server.service"),
    ("0::/system.slice/snap.microk8s.daemon-kubelite.service\n", "snap.microk8s.daemon-kubelite.service"),
    ("0::/podruntime.slice/runtime.slice/kubelet.service\n", "kubelet.service"),
    ("0::/kubelet.service\n", "kubelet.service"),
    (V1 % ("/system.slice/kubelet.service", "/"), "kubelet.service"),
    (V1 % ("/system.slice/k3s-agent.service", "/system.slice/other.service"), "k3s-agent.service"),
    ("0::/system.slice/system-k3s.slice/k3s@a.service\n", "k3s@a.service"),
    ("0::/system.slice/_cpu.service\n", "cpu.service"),
    # None of the system's own services.
    ("", None), ("0::/\n", None), ("0::/init.scope\n", None), ("0::/system.slice/docker-0123.scope\n", None),
    ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/k3s-rootless.service\n", None),
    ("0::/user.slice/user-0.slice/session-3.scope\n", None),
    ("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-01.scope\n", None),
    ("0::/system.slice/a b;c.service\n", None), ("no colon", None),
])
def test_unit(text, unit):
    assert parse_cgroup_unit(text) == unit


@given(st.text())
def test_any_text(text):
    for whole in (text, "0::" + text, "1:name=systemd:/" + text + ".service"):
        unit = parse_cgroup_unit(whole)
        assert unit is None or (unit.endswith(".service") and "/" not in unit and not unit.startswith("user@"))
