# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and programs of others that set what we set."""

import pytest

import node_tree
from conntrack_changes import run, undo
from conntrack_node import FORWARD, MAX, TUNED, UFW, look, tracking
from hook_changes import content
from node_manifests import merged
RAISED = {"max": 524288, "buckets": 524288}


def unpacked(tmp_path, *manifests, **fields):
    node_tree.unpack(tracking(*manifests, **fields), tmp_path)
    return tmp_path


# Files that override ours at boot: a file that sorts after ours, /etc/sysctl.conf without systemd, files of ufw.
RIVALS = {
    "sysctl.d": ({"etc/sysctl.d/zzz.conf": "# a\r\n%s = 0\r\n%s = 65536\r\n" % (FORWARD, MAX)},
                 "etc/sysctl.d/zzz.conf"),
    "a link": ({"etc/sysctl.d/zzz.conf": node_tree.link("../sysctl.conf"),
                "etc/sysctl.conf": "%s=0\n%s=65536" % (FORWARD, MAX)}, "etc/sysctl.conf"),
    "a package": ({"usr/lib/sysctl.d/zzz.conf": "%s=0\n%s=65536\nvm.swappiness=1\n" % (FORWARD, MAX)},
                  "etc/sysctl.d/zzz.conf"),
    "ufw": (merged(UFW, {"etc/ufw/sysctl.conf": "net/ipv4/ip_forward=0\nnet/netfilter/nf_conntrack_max=65536\n"}),
            "etc/ufw/sysctl.conf"),
}


@pytest.mark.parametrize("rival", sorted(RIVALS))
def test_a_file_of_others_yields_when_told(tmp_path, rival):
    manifest, edited = RIVALS[rival]
    tree = unpacked(tmp_path, manifest)
    before = content(tree)
    result = run(tree, sysctls=[FORWARD], **RAISED)
    assert result["failed"] and result["msg"].count("comment_out_conflicts: true comments that line out") == 2
    assert {path: content(tree)[path] for path in before
            if "etc/" in path} == {path: before[path] for path in before if "etc/" in path}
    assert not run(tree, sysctls=[FORWARD], **RAISED)["changed"], "a second run tells the same and changes nothing"
    result = run(tree, sysctls=[FORWARD], comment_out_conflicts=True, **RAISED)
    assert "failed" not in result and result["files"][-1] == "/" + edited, result.get("msg")
    assert (tree / edited).read_bytes().count(b"# kubenode.netfilter yields: ") == 2
    section = look({}, tree)
    assert [row["after_kube_proxy"] for row in section["sysctls"] if row["key"] in (FORWARD, MAX)] == [524288, 1]
    assert not run(tree, sysctls=[FORWARD], comment_out_conflicts=True, **RAISED)["changed"]
    undo(tree, lower=True)
    assert content(tree) == before


def test_tuned_is_told_and_stays(tmp_path):
    profile = {"etc/tuned/throughput/tuned.conf": "[sysctl]\nnet.ipv4.ip_forward=0\n"}
    tree = unpacked(tmp_path, TUNED, profile)
    result = run(tree, sysctls=[FORWARD], comment_out_conflicts=True)
    # tuned applies /etc/sysctl.d once more, so our line overrides the profile, unless reapply_sysctl is 0.
    assert "failed" not in result
    tree = unpacked(tmp_path / "b", TUNED, profile, {"etc/tuned/tuned-main.conf": "reapply_sysctl = 0\n"})
    result = run(tree, sysctls=[FORWARD], comment_out_conflicts=True)
    assert result["failed"] and "(set by tuned (/etc/tuned/throughput/tuned.conf:2)); change it there" in result["msg"]
    assert (tree / "etc/tuned/throughput/tuned.conf").read_text() == profile["etc/tuned/throughput/tuned.conf"]


def test_a_file_that_leads_out_of_etc_is_left_to_its_owner(tmp_path):
    tree = unpacked(tmp_path, {"srv/x.conf": FORWARD + "=0\n", "etc/sysctl.d/zzz.conf": node_tree.link("/srv/x.conf")})
    result = run(tree, sysctls=[FORWARD], comment_out_conflicts=True)
    assert (result["failed"] and "is a link to a file outside of /etc" in result["msg"]
            and (tree / "srv/x.conf").read_text() == FORWARD + "=0\n")
