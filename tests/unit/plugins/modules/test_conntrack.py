# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module conntrack as Ansible runs it: announce, do, do again, undo, and one clear error; and real values in a
network namespace."""

import module_runs
import node_tree
import pytest
from conntrack_node import MAX, tracking
from hook_changes import content
from node_processes import CLONE_NEWNET, _libc, in_child, needs_mounts, needs_root, private_mounts

from ansible_collections.kubenode.netfilter.plugins.module_utils._change.conntrack import plan

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")
conntrack = pytest.importorskip("ansible_collections.kubenode.netfilter.plugins.modules.conntrack")
TIME_WAIT = "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_time_wait"


@pytest.fixture
def tree(tmp_path):
    return node_tree.unpack(tracking(), tmp_path)


def test_from_announcing_to_undoing(tree):
    before = content(tree)
    options = {"root": tree, "place": "live", "max": 524288, "timeouts": {"udp_timeout": 20}}
    status, announced = module_runs.run_module("conntrack", _ansible_check_mode=True, _ansible_diff=True, **options)
    assert status == 0 and announced["changed"] and content(tree) == before
    assert announced["diff"][-1] == {
        "before_header": "sysctls now", "after_header": "sysctls now",
        "before": "%s = 131072\nnet.netfilter.nf_conntrack_udp_timeout = 30\n" % MAX,
        "after": "%s = 524288\nnet.netfilter.nf_conntrack_udp_timeout = 20\n" % MAX}
    status, done = module_runs.run_module("conntrack", **options)
    assert {key: done[key] for key in ("changed", "files", "settings", "advice", "unfinished")} == {
        key: announced[key] for key in ("changed", "files", "settings", "advice", "unfinished")}
    assert not module_runs.run_module("conntrack", **options)[1]["changed"]
    assert module_runs.run_module("conntrack", root=tree, place="live", state="absent",
                                  lower=True)[1]["changed"] and content(tree) == before


def has_timeouts():
    try:
        with open(TIME_WAIT) as stream:
            return stream.read().strip() == "120"
    except OSError:
        return False


def in_own_network(work):
    def inside():
        private_mounts()
        _libc("unshare", CLONE_NEWNET)
        return work()
    return in_child(inside)


@needs_root
@needs_mounts
@pytest.mark.skipif(not has_timeouts(), reason="needs nf_conntrack with the timeouts it begins with")
def test_real_values_of_a_network_namespace():
    """Timeouts are every namespace's own. The limit is the node's, and to be set by its own namespace alone."""
    def run(**options):
        params = dict({name: spec.get("default") for name, spec in conntrack.plan.OPTIONS.items()}, place="live",
                      persist=False)
        params.update(options)
        try:
            return plan.run(params, False)
        except plan._errors.ChangeFailed as error:
            return {"refused": str(error)}

    def work():
        from node_processes import mount
        mount("none", "/var/lib", "tmpfs")
        first = run(timeouts={"tcp_timeout_time_wait": 30, "udp_timeout": 20}, sysctls=["net.ipv4.ip_forward"])
        with open(TIME_WAIT) as stream:
            now = stream.read().strip()
        again = run(timeouts={"tcp_timeout_time_wait": 30, "udp_timeout": 20}, sysctls=["net.ipv4.ip_forward"])
        refused = run(max=(1 << 20) + 1, timeouts={"tcp_timeout_time_wait": 31})
        with open(TIME_WAIT) as stream:
            kept = stream.read().strip()
        undone = run(state="absent", lower=True)
        with open(TIME_WAIT) as stream:
            return [first, now, again["changed"], refused, kept, undone, stream.read().strip()]

    first, now, changed, refused, kept, undone, after = in_own_network(work)
    assert first["changed"] and now == "30" and not changed and [row["failed"]
                                                                 for row in first["settings"]] == [False] * 3
    assert "is read-only here, as in containers and other network namespaces" in refused["refused"] and kept == "30"
    assert not undone.get("failed") and after == "120"
