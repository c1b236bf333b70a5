# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pod and container of a process, from /proc/PID/cgroup."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.cgroup_pod import Place, parse_cgroup

UID = "a5c1f8d5-1919-434d-add7-4afaafdaef89"
BARS = UID.replace("-", "_")
STATIC = "c9b2a5f0d31e4b7a8f60e1d2c3b4a596"
ID = "5eed917563583925ffdbd40a64efb2aaffe58638e57add8becaf460fe74f5b1c"
OTHER = "9" * 64


@pytest.mark.parametrize(
    "path, uid, container", [
        ("/kubepods/burstable/pod%s/%s" % (UID, ID), UID, ID),
        ("/kubepods/pod%s/%s" % (UID, ID), UID, ID),
        ("/kubepods/besteffort/pod%s/%s" % (STATIC, ID), STATIC, ID),
        ("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/cri-containerd-%s.scope" % (BARS, ID),
         UID, ID),
        ("/kubepods.slice/kubepods-pod%s.slice/crio-%s.scope" % (BARS, ID), UID, ID),
        ("/kubepods.slice/kubepods-pod%s.slice/crio-%s.scope/container" % (STATIC, ID), STATIC, ID),
        ("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod%s.slice/docker-%s.scope" % (BARS, ID), UID,
         ID),
        ("/system.slice/containerd.service/kubepods-burstable-pod%s.slice:cri-containerd:%s" % (BARS, ID), UID, ID),
        ("/../../kubepods.slice/kubepods-pod%s.slice/cri-containerd-%s.scope" % (BARS, ID), UID, ID),
        # A node that is a container itself, and a pod that runs containers of its own.
        ("/docker/%s/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod%s.slice/cri-containerd-%s.scope"
         % (OTHER, BARS, ID), UID, ID),
        ("/kubepods/pod%s/%s/docker/%s" % (UID, ID, OTHER), UID, ID),
        # CRI-O's monitor is not in the container.
        ("/kubepods.slice/kubepods-pod%s.slice/crio-conmon-%s.scope" % (BARS, ID), UID, None),
        ("/kubepods.slice/kubepods-pod%s.slice" % BARS, UID, None),
        ("/docker/" + ID, None, ID),
        ("/docker/%s/docker/%s" % (OTHER, ID), None, ID),
        ("/system.slice/docker-%s.scope" % ID, None, ID),
        ("/machine.slice/libpod-%s.scope/container" % ID, None, ID),
    ])
@pytest.mark.parametrize("form", ["0::%s\n", "12:freezer:%s\n11:cpu,cpuacct:/\n1:name=systemd:%s\n0::/\n",
                                  "3:cpuset:/\n2:memory:%s"])
def test_names_of_groups(path, uid, container, form):
    assert parse_cgroup(form.replace("%s", path)) == Place(uid, container)


@pytest.mark.parametrize(
    "text", [
        "0::/\n", "0::/system.slice/kubelet.service\n", "0::/user.slice/user-0.slice/session-1.scope\n", "",
        "no line\n", "1:x\n", "0::/kubepods.slice\n", "0::/kubepods/podx/" + ID[:40] + "\n", "0::/mypod%s\n" % UID,
        "0::/kubepods/pod%s0/x\n" % UID, "0::/x/%s0\n" % ID, "0::/machine.slice/libpod-conmon-%s.scope\n" % ID,
    ])
def test_no_container(text):
    assert parse_cgroup(text) is None


def test_the_line_that_tells_most():
    assert parse_cgroup("3:pids:/docker/%s\n2:cpu:/kubepods/pod%s\n1:memory:/kubepods/pod%s/%s\n"
                        % (OTHER, UID, UID, ID)) == Place(UID, ID)


@given(st.text())
@example("0::/pod" + "a" * 32)
def test_any_text_gives_a_sound_place_or_none(text):
    place = parse_cgroup(text)
    assert place is None or (place != Place(None, None) and len(place.container_id or ID) == 64
                             and len(place.pod_uid or UID) in (32, 36))


@given(st.uuids(), st.integers(0, 2 ** 256 - 1), st.booleans(), st.text(alphabet="abc/.-_:", max_size=20))
def test_what_kubelet_writes_is_read_back(uid, number, systemd, before):
    container = "%064x" % number
    path = ("/kubepods-pod%s.slice/cri-containerd-%s.scope" % (str(uid).replace("-", "_"), container)
            if systemd else "/kubepods/pod%s/%s" % (uid, container))
    assert parse_cgroup("0::/%s%s\n" % (before, path)) == Place(str(uid), container)
