# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How kubelet and kube-proxy are restarted, by what started them, and the end of one real process."""

import subprocess
import sys

from case_rows import cases
import node_tree
import pytest
from fake_tools import ToolNode, script
from node_manifests import DEBIAN, merged, process, running

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.service.restart import (
    end, plan_of_kube_proxy, plan_of_kubelet, restart)
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import Process

POD = "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podd0a1b2c3_1111_2222_3333_444455556666.slice" \
      "/cri-containerd-%s.scope\n" % ("ab" * 32)
UNIT = "0::/system.slice/kube-proxy.service\n"
LIVE = {"place": "live", "kernel_release": "6.1.0"}
KUBELET = process(400, "kubelet", ("/usr/bin/kubelet",))
# As systemd answers; what it is asked to restart is written down.
SYSTEMCTL = 'case "$1" in show) echo MainPID=%s;; *) echo "$@" >&2; exit %d;; esac'


def node(folder, cgroup, *manifests, comm="kube-proxy", main=500, code=0, root_user=True):
    tools = {"usr/bin/systemctl": script(SYSTEMCTL % (main, code))}
    tree = node_tree.unpack(merged(DEBIAN, running("6.1.0"), tools, process(500, comm, ("/usr/bin/" + comm,)),
                                   {"proc/500/cgroup": cgroup}, *manifests), folder)
    return ToolNode(str(tree), root_user)


@cases
def test_what_started_it_decides(cgroup, manifests, fields, method, unit, words, tmp_path):
    plan = plan_of_kube_proxy(node(tmp_path, cgroup, *manifests, **fields), LIVE)
    assert (plan.method, plan.unit) == (method, unit)
    assert plan.refused is None if words is None else words in plan.refused, plan.refused


def test_the_unit_of_kubelet_is_restarted(tmp_path):
    cgroup = {"proc/400/cgroup": "0::/system.slice/kubelet.service\n"}
    host = node(tmp_path, UNIT, KUBELET, cgroup)
    plan = plan_of_kubelet(host, LIVE)
    assert (plan.method, plan.unit, plan.pid, plan.refused) == ("unit", "kubelet.service", 400, None)
    alone = plan_of_kubelet(node(tmp_path / "alone", UNIT, KUBELET, {"proc/400/cgroup": "0::/\n"}), LIVE)
    assert alone.method is None and "restart the program that runs process 400" in alone.refused
    assert plan_of_kubelet(node(tmp_path / "none", UNIT), LIVE).refused == "no kubelet runs here"
    assert "run with become" in plan_of_kubelet(node(tmp_path / "user", UNIT, root_user=False), LIVE).refused


def test_nothing_where_none_runs_or_no_node_is(tmp_path):
    assert plan_of_kube_proxy(node(tmp_path, UNIT, comm="bash"), LIVE).refused == "no kube-proxy runs here"
    assert "not a live node" in plan_of_kube_proxy(node(tmp_path / "image", UNIT), {"place": "image"}).refused


def test_its_unit_is_restarted_and_a_failure_has_the_reason_of_systemd(tmp_path):
    host = node(tmp_path, UNIT)
    restart(host, plan_of_kube_proxy(host, LIVE))
    assert host.ran[-1] == "/usr/bin/systemctl restart -- kube-proxy.service"
    host = node(tmp_path / "failing", UNIT, code=1)
    with pytest.raises(_errors.ChangeFailed, match="systemctl restart of kube-proxy.service failed: restart --"):
        restart(host, plan_of_kube_proxy(host, LIVE))


def started(code):
    """A process that has set up its signals."""
    child = subprocess.Popen([sys.executable, "-c", code + "; print(1, flush=True); signal.pause()"],
                             stdout=subprocess.PIPE)
    child.stdout.readline()
    return child


def test_exactly_that_process_is_ended():
    host, child, other = Host("/"), started("import signal"), started("import signal")
    try:
        end(host, Process(host, child.pid, "python3"))
        assert child.wait() == -15 and other.poll() is None
        reused = Process(host, other.pid, "python3")
        reused.start_time = str(int(reused.start_time) + 1)
        with pytest.raises(_errors.ChangeFailed, match="ended during the look"):
            end(host, reused)
        assert other.poll() is None, "a process of the same number that began later gets no signal"
    finally:
        other.kill()
        other.wait()
        for each in (child, other):
            each.stdout.close()


def test_one_that_does_not_end_is_a_failure_and_is_not_killed():
    host, child = Host("/"), started("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    try:
        words = r"\(state [RS]\) did not end within 0 s after SIGTERM"
        with pytest.raises(_errors.ChangeFailed, match=words) as caught:
            end(host, Process(host, child.pid, "python3"), 0)
        assert caught.value.changed and child.poll() is None
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
