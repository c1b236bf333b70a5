# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Raising, persisting and undoing on trees; the kernel's own part is proved in a network namespace and on virtual
machines (molecule)."""

import json
import os

import pytest

from case_rows import cases
import node_tree
from conntrack_changes import (LIMIT, MODULES, NAME, NOTHING, OPTIONS, RAISED, RECORD, SIZE, SYSCTL, lines, rows, run,
                               undo, unpacked, value)
from conntrack_node import (
    BRIDGE, BUCKETS, ESTABLISHED, FORWARD, LISTED, MAX, MAX_LINE, MB, NF, TUNED, UFW, configured, counters, kube_proxy,
    kubelet, look, machine, table, tracking)
from fake_tools import unpacked as unpacked_host
from hook_changes import content
from node_manifests import merged
from node_processes import as_nobody, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.conntrack import plan
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput, ChangeFailed
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import write
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import identify

PROXY = configured("  maxPerCore: 32768\n  min: 131072\n")


def test_it_is_raised_now_and_at_boot(tree):
    result = run(tree, **RAISED)
    assert result["changed"] and "failed" not in result and result["advice"] is None and not result["unfinished"]
    assert (value(tree, LIMIT), value(tree, SIZE)) == (524288,
                                                       65536), "eight entries for a bucket are no reason to resize"
    assert lines(tree, SYSCTL) == [MAX + " = 524288", BUCKETS + " = 524288"]
    assert (lines(tree, MODULES), lines(tree, OPTIONS)) == (["nf_conntrack"], ["options nf_conntrack hashsize=524288"])
    assert result["files"] == ["/" + path for path in (RECORD, SYSCTL, MODULES,
                                                       OPTIONS)], "the option for the buckets comes behind the limit"
    row = rows(result)[MAX]
    assert (row["before"], row["after"], row["wanted"], row["at_boot"],
            row["after_kube_proxy"]) == (131072, 524288, 524288, 524288, 524288)
    assert row["persisted"] and rows(result)[BUCKETS]["at_boot"] == 524288


def test_the_limit_is_never_lowered_unless_told(tmp_path):
    tree = unpacked(tmp_path, table(limit=1048576, buckets=1048576), {"etc/sysctl.d/90.conf": MAX_LINE % 2097152})
    result = run(tree, **RAISED)
    assert (value(tree, LIMIT), value(tree, SIZE)) == (2097152, 1048576), "what sysctl.d asks for is raised to"
    assert lines(tree, SYSCTL)[0] == MAX + " = 2097152" and rows(result)[BUCKETS]["wanted"] == 1048576
    run(tree, lower=True, resize="always", **RAISED)
    assert (value(tree, LIMIT), value(tree, SIZE), lines(tree, SYSCTL)[0]) == (524288, 524288, MAX + " = 524288")


def test_it_is_not_lowered_below_the_connections_there_are(tmp_path):
    tree = unpacked(tmp_path, table(limit=1048576, count=600000))
    before = content(tree)
    with pytest.raises(ChangeFailed, match="the table holds 600000 entries"):
        run(tree, lower=True, **RAISED)
    assert content(tree) == before


def test_a_table_without_a_limit_gets_one_only_when_told(tmp_path):
    tree = unpacked(tmp_path, table(limit=0))
    result = run(tree, **RAISED)
    assert (result["failed"] and "lower: true sets one" in result["msg"] and value(tree, LIMIT) == 0
            and MAX not in "".join(lines(tree, SYSCTL)))
    assert "failed" not in run(tree, lower=True, **RAISED) and value(tree, LIMIT) == 524288


@cases
def test_a_resize_that_is_worth_it(tmp_path, buckets, resize, after):
    tree = unpacked(tmp_path, table(buckets=buckets))
    run(tree, resize=resize, **RAISED)
    assert value(tree, SIZE) == after and lines(tree, SYSCTL)[1] == BUCKETS + " = 524288"
    assert not run(tree, resize=resize, **RAISED)["changed"]


def test_the_option_never_comes_without_the_line_for_the_limit(tmp_path):
    tree = unpacked(tmp_path / "a", table(buckets=1024))
    run(tree, buckets=65536)
    assert lines(tree, SYSCTL) == [BUCKETS + " = 65536"] and not (tree / OPTIONS).exists()
    # Another file sets the limit last, so our line for the limit cannot accompany the option.
    tree = unpacked(tmp_path / "b", {"etc/sysctl.d/zzz.conf": MAX_LINE % 131072})
    run(tree, max=262144, buckets=262144)
    assert not (tree / OPTIONS).exists()
    # No service applies sysctl.d, so the option would set the limit to eight times the buckets.
    tree = unpacked(tmp_path / "c", {"etc/systemd/system/systemd-sysctl.service": node_tree.MASKED})
    result = run(tree, **RAISED)
    assert not (tree / OPTIONS).exists() and "systemd-sysctl.service is masked" in result["msg"]


def test_built_into_the_kernel_an_option_means_nothing(tmp_path):
    tree = unpacked(tmp_path, modules=("br_netfilter",), loaded=("br_netfilter",), builtin=("nf_conntrack",))
    result = run(tree, **RAISED)
    assert "failed" not in result and not (tree / OPTIONS).exists() and not (tree / MODULES).exists()
    assert rows(result)[MAX]["at_boot"] == 524288


def test_what_an_earlier_run_wrote_stays(tree):
    run(tree, **RAISED)
    run(tree, sysctls=[FORWARD, BRIDGE])
    assert lines(tree, SYSCTL) == [FORWARD + " = 1", MAX + " = 524288", BUCKETS + " = 524288", BRIDGE + " = 1"]
    assert lines(tree, MODULES) == ["br_netfilter",
                                    "nf_conntrack"] and lines(tree, OPTIONS) == ["options nf_conntrack hashsize=524288"]


def test_undo_does_not_lower_below_the_connections_there_are(tree):
    run(tree, **RAISED)
    (tree / (NF + "count")).write_text("300000\n")
    result = undo(tree, lower=True)
    assert result["failed"] and "more than the former limit 131072" in result["msg"] and value(tree, LIMIT) == 524288
    (tree / (NF + "count")).write_text("3\n")
    assert not undo(tree, lower=True).get("failed") and value(tree, LIMIT) == 131072 and not (tree / RECORD).exists()


def test_what_was_lost_until_the_raise_counts_no_more(tmp_path):
    tree = unpacked(tmp_path, counters(drop=45, insert_failed=40, early_drop=7))
    result = run(tree, **RAISED)
    held = json.loads((tree / RECORD).read_text())["lost"]
    assert (held["dropped"], held["evicted"], held["uptime_seconds"]) == (5, 7, 8640)
    assert look({}, tree)["lost"] == {"dropped": 0, "evicted": 0, "since": "the limit was raised",
                                      "since_uptime_seconds": 8640}
    assert "dropped" not in "".join(part["after"] for part in result["diff"])
    # A run that does not raise the limit keeps the record; a second raise counts anew, since boot.
    node_tree.unpack(counters(drop=60, insert_failed=40, early_drop=7), tree)
    run(tree, sysctls=[FORWARD])
    assert json.loads((tree / RECORD).read_text())["lost"]["dropped"] == 5
    run(tree, max=1048576)
    assert json.loads((tree / RECORD).read_text())["lost"]["dropped"] == 20


def test_a_module_that_is_not_in_the_kernel(tmp_path):
    tree = unpacked(tmp_path, dict.fromkeys(table()), loaded=())
    result = run(tree, sysctls=[BRIDGE], **RAISED)
    assert "failed" not in result
    assert rows(result)[MAX]["msg"] == ("nf_conntrack is not in the running kernel (the module is not loaded), so the "
                                        "value applies from the next boot on")
    assert lines(tree, MODULES) == ["br_netfilter", "nf_conntrack"] and rows(result)[MAX]["at_boot"] == 524288
    result = run(tree, sysctls=[BRIDGE], persist=False)
    assert result["failed"] and not result["changed"]


def test_modules_for_lines_of_others(tmp_path):
    tree = unpacked(tmp_path, {"etc/sysctl.d/90.conf": MAX_LINE % 262144})
    assert look({}, tree)["sysctls"][0]["late"]
    assert run(tree, modules=["nf_conntrack"])["files"][-1] == "/" + MODULES
    assert not look({}, tree)["sysctls"][0]["late"] and not (tree / SYSCTL).exists()


def test_an_image(tree):
    before = (tree / (NF + "max")).read_text()
    result = run(tree, place="image", sysctls=[BRIDGE], **RAISED)
    assert ("failed" not in result and (tree / (NF + "max")).read_text() == before
            and rows(result)[MAX]["at_boot"] == 524288)
    undone = undo(tree, place="image")
    assert "failed" not in undone and "warnings" not in undone and not (tree / SYSCTL).exists()


@cases
def test_bad_input_is_refused_before_anything_is_changed(tree, options, message):
    before = content(tree)
    with pytest.raises(BadInput, match=message.replace("?", ".")):
        run(tree, **options)
    assert content(tree) == before


def test_the_memory_decides_what_is_too_much(tmp_path):
    tree = unpacked(tmp_path, machine(memory=512 * MB))
    with pytest.raises(BadInput, match="give at most 671088"):
        run(tree, max=1048576)
    assert run(tree, max=524288)["changed"]


@pytest.mark.parametrize("names",
                         [("udp_timeout",), ("nf_conntrack_udp_timeout",), ("net.netfilter.nf_conntrack_udp_timeout",)])
def test_timeouts_by_any_of_their_names(tree, names):
    run(tree, timeouts={names[0]: "15"})
    assert (lines(tree, SYSCTL) == ["net.netfilter.nf_conntrack_udp_timeout = 15"]
            and value(tree, "net/netfilter/nf_conntrack_udp_timeout") == 15)


# kubelet's version limits that of kube-proxy: kube-proxy may be at most three minor versions older.
@pytest.mark.parametrize("version, after", [("1.22.0", 131072), ("1.28.4", 524288), ("1.33.2", 131072),
                                            ("1.37.1", 131072), ("1.41.0", 524288)])
def test_what_kube_proxy_makes_of_it_is_said(tmp_path, version, after):
    host = unpacked_host(tmp_path, tracking(PROXY, LISTED, kubelet(version)))
    planned = plan.plan_present(host, identify(host, "live"), dict(NOTHING, **RAISED))
    row = planned.rows[LIMIT]
    assert (row["at_boot"], row["after_kube_proxy"], row["failed"]) == (524288, after, False)
    assert ("overrides it and sets it to 131072" in row["msg"]) is (after == 131072)
    assert planned.advice is None if after == 524288 else "conntrack.maxPerCore to 0" in planned.advice


def test_a_timeout_of_kube_proxy(tmp_path):
    tree = unpacked(tmp_path, kube_proxy("--conntrack-tcp-timeout-established=1h"), kubelet("1.33.0"))
    row = rows(run(tree, timeouts={"tcp_timeout_established": 7200}))[ESTABLISHED]
    assert (row["after"], row["at_boot"], row["failed"]) == (7200, 7200, False) and "overrides it" in row["msg"]


def test_a_default_route_by_router_advertisements_is_kept(tmp_path):
    six = "net.ipv6.conf.all.forwarding"
    route = "%s 00 %s 00 fe800000000000000000000000000001 00000400 00000001 00000000 %s     eth0.7\n"
    zeros = "0" * 32
    for number, (flags, accept,
                 forwards) in enumerate([("00450003", "1", 0), ("00450003", "2", 1), ("00050003", "1", 0),
                                         ("00000003", "1", 1), ("00040001", "1", 1), ("00010003", "1", 1)]):
        tree = unpacked(tmp_path / str(number),
                        {
                            "proc/net/ipv6_route": route % (zeros, zeros, flags) + "short\n",
                            "proc/sys/net/ipv6/conf/eth0.7/accept_ra": accept + "\n"})
        result = run(tree, sysctls=[six, FORWARD])
        assert value(tree, "net/ipv6/conf/all/forwarding") == forwards
        assert bool(result.get("failed")) is not bool(forwards)
        said = "net.ipv6.conf.eth0/7.accept_ra is 2; set that first" in result.get("msg", "")
        assert said is not bool(forwards) and (tree / SYSCTL).exists()


def test_another_name_for_the_files(tree):
    run(tree, file="zzzz-site.conf", **RAISED)
    assert not (tree / SYSCTL).exists() and lines(tree, SYSCTL.replace(NAME, "zzzz-site.conf"))


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


# Three files of ours, one file of another owner, five values.
NODE = tracking({"etc/sysctl.d/zzz.conf": "# site\n%s = 0\n" % FORWARD, "proc/sys/net/ipv4/ip_forward": "0\n"},
                counters(drop=3))
ASKED = {"max": 524288, "buckets": 524288, "resize": "always", "comment_out_conflicts": True, "sysctls": [FORWARD],
         "timeouts": {"udp_timeout": 20, "tcp_timeout_time_wait": 60}}


def test_a_run_that_was_killed_is_told(tmp_path, monkeypatch):
    node_tree.unpack(NODE, tmp_path)

    def killed(*_arguments):
        raise KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(write, "set_value", killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, **ASKED)
    announced = run(tmp_path, True, **ASKED)
    assert announced["unfinished"] and announced["changed"] and announced == run(tmp_path, **ASKED)
    again = run(tmp_path, **ASKED)
    assert not again["unfinished"] and not again["changed"]


@needs_root
def test_an_ordinary_user_is_told_to_become_root(tmp_path):
    tree = node_tree.unpack(NODE, node_tree.open_folder())
    os.chmod(os.path.join(tree, NF + "max"), 0o644)

    def work():
        try:
            return run(tree, **ASKED)["changed"]
        except ChangeFailed as error:
            return str(error)
    assert "become root" in as_nobody(work)


def test_a_value_that_the_kernel_does_not_take_is_told(tmp_path, monkeypatch):
    node_tree.unpack(NODE, tmp_path)
    set_value = write.set_value
    monkeypatch.setattr(write, "set_value",
                        lambda host, path, number: None if path.endswith("_max") else set_value(host, path, number))
    result = run(tmp_path, **ASKED)
    assert result["failed"] and "%s: it was set to 524288, but it is 131072" % MAX in result["msg"]
    assert json.loads((tmp_path / RECORD).read_text())["lost"] is None, "what was not raised forgets no losses"
