# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role harden_conntrack, really run on trees: a node that is taken for live has its sysctls in files."""

import json
import pathlib
import sys

import fleets
import node_tree
import pytest
from conntrack_changes import OPTIONS, SYSCTL, lines, value
from conntrack_node import FORWARD, MAX, MAX_LINE, counters, table, tracking
from hook_changes import content

LIMIT = "net/netfilter/nf_conntrack_max"
# Forwarding is on and holds, so that the tests speak of the table alone.
HOLDS = {"etc/sysctl.d/10.conf": FORWARD + " = 1\n"}


FULL = (table(count=125000), counters(drop=9))


class Node:
    """A tree and the runs of the role on it."""

    def __init__(self, folder, *manifests):
        self.folder, self.tree = folder, pathlib.Path(node_tree.unpack(tracking(HOLDS, *manifests), folder / "tree"))
        self.before = content(self.tree)

    def run(self, *arguments, code=0, playbook=None, **variables):
        """(tasks that changed something, output, {check: finding that fails}) of a run that ends with the status
        `code`."""
        given = dict({"node_report_folder": str(self.folder / "report"), "ansible_python_interpreter": sys.executable,
                      "node_assess_place": "live", "node_assess_root": str(self.tree),
                      "node_policy_proxy_mode": "iptables", "node_policy_cni": "none"}, **variables)
        done = fleets.run_playbook(playbook or fleets.PLAYS / "harden_conntrack.yml", "-i",
                                   str(fleets.TOP / "tests/tools/localhost.yml"), "--extra-vars", json.dumps(given),
                                   *arguments)
        assert done.returncode == code, done.stdout
        self.report = fleets.report_of(self.folder)
        failing = {row["check"]: row for row in self.report.get("findings", ()) if row["status"] == "fail"}
        return fleets.recap(done.stdout)["changed"], done.stdout, failing


def test_from_a_full_table_to_one_with_room_and_back(tmp_path):
    node = Node(tmp_path, *FULL)
    changed, _said, failing = node.run("--check")
    assert changed == 1 and {"CTRACK001", "CTRACK003", "CTRACK004"} <= set(failing)
    assert content(node.tree) == node.before
    changed, said, failing = node.run()
    assert (changed, failing, value(node.tree, LIMIT)) == (1, {}, 262144), said
    assert lines(node.tree, SYSCTL)[0] == MAX + " = 262144" and node.report["conntrack_peak"] == 131072
    assert (node.tree / OPTIONS).exists()
    assert node.run()[0] == 0
    node.run(harden_conntrack_state="absent", harden_conntrack_lower=True)
    assert content(node.tree) == node.before


def test_the_playbook_undo_prints_which_values_stay(tmp_path):
    node = Node(tmp_path, *FULL)
    node.run()
    undo = {"playbook": fleets.TOP / "playbooks" / "undo.yml", "undo_subjects": ["conntrack"]}
    stays = "%s is 262144 now and stays, it was 131072 before; run the undo again with lower: true" % MAX
    changed, said, _failing = node.run(**undo)
    assert changed == 1 and stays in " ".join(said.split()) and value(node.tree, LIMIT) == 262144
    changed, said, _failing = node.run(harden_conntrack_lower=True, **undo)
    assert changed == 1 and "stays" not in said and content(node.tree) == node.before


def test_checks_that_were_left_out_are_not_fixed_by_the_role_alone(tmp_path):
    node = Node(tmp_path, *FULL)
    for narrowed in ({"node_assess_checks": ["HOOK*"]}, {"node_assess_skip": ["CTRACK*"]}):
        changed, said, _failing = node.run(**narrowed)
        assert (changed, node.report["findings"], content(node.tree)) == (0, [], node.before), said
    disabled = [{"check": "CTRACK0%02d" % number, "reason": "kube-proxy's"} for number in range(1, 14)]
    changed, said, failing = node.run(node_policy_disabled_checks=disabled)
    assert (changed, failing, content(node.tree)) == (0, {}, node.before), said


def test_a_misspelt_variable_is_refused_where_the_role_only_undoes(tmp_path):
    words = "The variable harden_conntrack_lowr is not known; did you mean harden_conntrack_lower"
    with pytest.raises(AssertionError, match=words):
        Node(tmp_path).run(harden_conntrack_state="absent", harden_conntrack_lowr=True)


def test_the_peak_of_an_earlier_report_counts(tmp_path):
    node = Node(tmp_path, table(limit=262144, count=150000, buckets=262144))
    node.run()
    assert value(node.tree, LIMIT) == 262144 and node.report["conntrack_peak"] == 150000
    # It is quiet now, and kube-proxy has set what it takes for enough.
    node_tree.unpack(table(limit=131072, count=500, buckets=262144), node.tree)
    node.run()
    assert value(node.tree, LIMIT) == 262144 and node.report["conntrack_peak"] == 150000


def test_what_would_be_undone_at_boot_is_said_until_the_file_may_yield(tmp_path):
    node = Node(tmp_path, table(limit=65536), {"etc/sysctl.d/zzz.conf": MAX_LINE % 65536})
    # Alone the role fails the host. In preflight report and gate follow, and the gate fails it.
    changed, said, _failing = node.run(code=2)
    assert value(node.tree, LIMIT) == 131072 and changed == 1, "the running value was set, and only then the host fails"
    assert "comment_out_conflicts: true" in said and "Report |" not in said
    changed, said, failing = node.run(code=2, playbook=fleets.TOP / "playbooks" / "preflight.yml",
                                      node_assess_sections=["CTRACK"])
    assert "TASK [Gate]" in said and "failed=1" in said
    reason = failing["CTRACK006"]["reason"]
    assert "The fix was tried and failed: it is 65536 after the next boot (set by /etc/sysctl.d/zzz.conf:1)" in reason
    assert "; comment_out_conflicts: true" in reason
    changed, _said, failing = node.run(harden_conntrack_comment_out_conflicts=True)
    assert (changed, failing) == (1, {})


def test_what_the_user_asks_for_is_set_whatever_was_found(tmp_path):
    node = Node(tmp_path)
    assert node.run(harden_conntrack_peak=200000, harden_conntrack_persist=False)[0] == 1
    assert value(node.tree, LIMIT) == 524288 and not (node.tree / SYSCTL).exists()
    asked = {"harden_conntrack_max": 600000, "harden_conntrack_buckets": 4096,
             "harden_conntrack_timeouts": {"udp_timeout": 20}}
    assert node.run(**asked)[0] == 1 and node.run(**asked)[0] == 0
    assert lines(node.tree, SYSCTL) == [MAX + " = 600000", "net.netfilter.nf_conntrack_buckets = 65536",
                                        "net.netfilter.nf_conntrack_udp_timeout = 20"]


def test_an_image(tmp_path):
    node = Node(tmp_path, {"etc/sysctl.d/20.conf": FORWARD + " = 0\n"})
    changed, _said, failing = node.run(node_assess_place="image")
    assert (changed, failing, lines(node.tree, SYSCTL)) == (1, {}, [FORWARD + " = 1"])
    assert value(node.tree, LIMIT) == 131072
