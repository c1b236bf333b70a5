# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Persisting, lifting blocks and undoing, on trees; loading for real is proved on virtual machines (molecule)."""

import os
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import node_tree
from disk_faults import snapshot
from module_changes import FOLDERS, IMAGE, LIST, MODULES, OLD, RECORD, content, persisted, run, undo
from node_manifests import kernel, merged
from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.modules import plan
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import identify
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.modules.kernel_modules import (
    collect_kernel_modules)


def test_an_image_is_persisted_to_and_nothing_is_loaded(image):
    result = run(image, ["xt_comment", "ip_vs"])
    assert result["changed"] and result["files"] == ["/" + RECORD, "/" + LIST] and "failed" not in result
    assert persisted(image) == ["ip_vs", "xt_comment"]
    assert [(row["loaded"], row["persisted"]) for row in result["modules"]] == [(False, True), (False, True)]


def test_only_what_every_kernel_has_built_in_is_left_out(tmp_path):
    node_tree.unpack(merged(IMAGE, kernel(OLD, MODULES, builtin=["bridge", "overlay"])), tmp_path)
    run(tmp_path, ["bridge", "overlay", "nosuch", "ip_vs"])
    # bridge is built in on one kernel only; nosuch may come with the next package of modules.
    assert persisted(tmp_path) == ["bridge", "ip_vs", "nosuch"]


def test_only_the_lines_that_block_become_comments(tmp_path):
    text = (b"options ip_vs conn_tab_bits=12\r\ninstall ip_vs \\\n /bin/true\r\nblacklist other\nblacklist "
            b"nf_conntrack\ninstall nf_conntrack /bin/false")
    node_tree.unpack(merged(IMAGE, {"etc/modprobe.d/a.conf": node_tree.mode(0o640, text)}), tmp_path)
    run(tmp_path, ["ip_vs"], unblock=True)
    lifted = plan.MARK.encode()
    # Of a dependency only the install command counts, so its blacklist line stays.
    assert (tmp_path / "etc/modprobe.d/a.conf").read_bytes() == (
        b"options ip_vs conn_tab_bits=12\r\n" + lifted + b"install ip_vs \\\n" + lifted
        + b" /bin/true\r\nblacklist other\nblacklist nf_conntrack\n" + lifted + b"install nf_conntrack /bin/false")
    assert os.stat(str(tmp_path / "etc/modprobe.d/a.conf")).st_mode & 0o777 == 0o640
    assert not run(tmp_path, ["ip_vs"], unblock=True)["changed"]


LOADS = "install ip_vs /bin/true\ninstall ip_vs /sbin/modprobe --ignore-install ip_vs\ninstall ip_vs /bin/false\n"


@pytest.mark.parametrize("text, unblock, mark", [
    ("blacklist ip_vs\n", False, ""), (LOADS, True, plan.MARK),
    ("blacklist ip_vs \\\\\nblacklist other\n", True, plan.MARK),
], ids=["it was not asked for", "an install command that loads the module", "two backslashes do not continue a line"])
def test_how_far_blocks_are_lifted(text, unblock, mark, tmp_path):
    node_tree.unpack(merged(IMAGE, {"etc/modprobe.d/a.conf": text}), tmp_path)
    run(tmp_path, ["ip_vs"], unblock=unblock)
    assert (tmp_path / "etc/modprobe.d/a.conf").read_text() == mark + text


@pytest.mark.parametrize("runs, killed", [
    ([["ip_vs"], ["ip_vs", "xt_comment"]], None), ([["ip_vs"]], 0), ([["ip_vs"], ["ip_vs", "xt_comment"]], 1),
], ids=["two runs", "killed before its edit", "the second one killed before its edit"])
def test_runs_are_undone_in_one(runs, killed, tmp_path):
    node_tree.unpack(merged(IMAGE, {"etc/modprobe.d/a.conf": "blacklist ip_vs\nblacklist xt_comment\n"}), tmp_path)
    edited, texts, before = tmp_path / "etc/modprobe.d/a.conf", [], content(tmp_path)
    for names in runs:
        texts.append(edited.read_text())
        run(tmp_path, names, unblock=True)
    if killed is not None:
        edited.write_text(texts[killed])
    assert "failed" not in undo(tmp_path)
    assert content(tmp_path) == before and not os.path.exists(str(tmp_path / "var/lib/kubenode-netfilter"))


def test_a_file_of_a_package_is_hidden_and_never_edited(tmp_path):
    vendor = {"usr/lib/modprobe.d/vendor.conf": "blacklist ip_vs\noptions x y=1\n"}
    node_tree.unpack(merged(IMAGE, vendor), tmp_path)
    before = content(tmp_path)
    run(tmp_path, ["ip_vs"], unblock=True)
    assert (tmp_path / "usr/lib/modprobe.d/vendor.conf").read_text() == vendor["usr/lib/modprobe.d/vendor.conf"]
    assert (tmp_path / "etc/modprobe.d/vendor.conf").read_text() == plan.MARK + "blacklist ip_vs\noptions x y=1\n"
    undo(tmp_path)
    assert content(tmp_path) == before


def test_a_file_behind_a_link_is_left_to_the_administrator(tmp_path):
    node_tree.unpack(merged(IMAGE, {"srv/a.conf": "blacklist ip_vs\n",
                                    "etc/modprobe.d/a.conf": node_tree.link("/srv/a.conf")}), tmp_path)
    result = run(tmp_path, ["ip_vs"], unblock=True)
    assert result["files"] == ["/" + RECORD, "/" + LIST]
    assert (tmp_path / "srv/a.conf").read_text() == "blacklist ip_vs\n"


def test_a_list_that_was_there_before_comes_back_with_the_undo(tmp_path):
    theirs = b"# ours since 2019\noverlay\n"
    node_tree.unpack(merged(IMAGE, {LIST: node_tree.mode(0o640, theirs)}), tmp_path)
    before = content(tmp_path)
    run(tmp_path, ["ip_vs"])
    run(tmp_path, ["ip_vs", "xt_comment"])
    assert persisted(tmp_path) == ["ip_vs", "xt_comment", "overlay"]
    assert theirs.decode() in (tmp_path / LIST).read_text()
    assert not run(tmp_path, ["ip_vs", "xt_comment"])["changed"] and not run(tmp_path, [])["changed"]
    run(tmp_path, ["xt_comment"])
    assert persisted(tmp_path) == ["xt_comment", "overlay"]
    announced = undo(tmp_path, check=True)
    assert announced["files"][0] == "/" + LIST and undo(tmp_path) == announced
    assert content(tmp_path) == before
    assert os.stat(str(tmp_path / LIST)).st_mode & 0o777 == 0o640


def test_nothing_is_begun_that_cannot_be_finished(tmp_path):
    node_tree.unpack(merged(IMAGE, {"etc/modprobe.d/a.conf": "blacklist ip_vs\n", LIST + "/in_the_way": ""}), tmp_path)
    before = content(tmp_path)
    with pytest.raises(_errors.ChangeFailed, match="cannot be read"):
        run(tmp_path, ["ip_vs"], unblock=True)
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", ["../a.conf", "a.txt", ".conf", ".a.conf", "", "/etc/a.conf"])
def test_a_list_that_nobody_would_read_is_refused(image, name):
    with pytest.raises(_errors.BadInput, match="ends in .conf"):
        run(image, ["ip_vs"], file=name)


LINES = st.lists(
    st.sampled_from(
        [
            "blacklist ip_vs", "blacklist ip-vs", "install ip_vs /bin/true", "install nf_conntrack \\", " /bin/false",
            "alias ip_vs off", "# install ip_vs", "options ip_vs x=1", "\\", "", "garbage",
            "softdep ip_vs pre: nf_conntrack", "install ip_vs modprobe -i ip_vs", "\xe9\x00",
        ]), max_size=12)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(max_examples=25)
def test_lifting_and_undoing_leaves_no_byte_changed(lines, ending, last):
    text = (ending.join(lines) + (ending if last else "")).encode("latin-1")
    with tempfile.TemporaryDirectory() as tree:
        node_tree.unpack(merged(IMAGE, {"etc/modprobe.d/a.conf": text}), tree)
        before = content(tree)
        lifted = run(tree, ["ip_vs"], unblock=True)
        assert not any(block["effect"] == "blocks" for row in lifted["modules"]
                       for block in row["blocked"]), lifted["modules"]
        undo(tree)
        assert content(tree) == before


def test_an_edit_between_two_lifts_survives_the_undo(tmp_path):
    node_tree.unpack(merged(IMAGE, {"etc/modprobe.d/a.conf": "blacklist ip_vs\nblacklist xt_comment\n"}), tmp_path)
    run(tmp_path, ["ip_vs"], unblock=True)
    edited = tmp_path / "etc/modprobe.d/a.conf"
    edited.write_text(edited.read_text() + "options ip_vs conn_tab_bits=12\n")
    run(tmp_path, ["ip_vs", "xt_comment"], unblock=True)
    assert edited.read_text().count(plan.MARK) == 2
    assert "failed" not in undo(tmp_path)
    assert edited.read_text() == "blacklist ip_vs\nblacklist xt_comment\noptions ip_vs conn_tab_bits=12\n"


def test_a_copy_that_its_owner_edited_stays_after_the_undo(tmp_path):
    node_tree.unpack(merged(IMAGE, {"usr/lib/modprobe.d/vendor.conf": "blacklist ip_vs\nblacklist xt_comment\n"}),
                     tmp_path)
    run(tmp_path, ["ip_vs"], unblock=True)
    copy = tmp_path / "etc/modprobe.d/vendor.conf"
    copy.write_text(copy.read_text() + "# mine\n")
    run(tmp_path, ["xt_comment"], unblock=True)
    assert "failed" not in undo(tmp_path)
    assert copy.read_text() == "blacklist ip_vs\nblacklist xt_comment\n# mine\n"


def test_all_files_that_block_one_module_are_lifted_in_one_run(tmp_path):
    files = {"etc/modprobe.d/a.conf": "install ip_vs /bin/true\n",
             "etc/modprobe.d/b.conf": "blacklist ip_vs\ninstall ip_vs /bin/false\n",
             "usr/lib/modprobe.d/c.conf": "install ip_vs /bin/true\nalias ip_vs off\n",
             "etc/modprobe.d/d.conf": "install ip_vs /bin/true\n" * 3}
    node_tree.unpack(merged(IMAGE, files), tmp_path)
    before = content(tmp_path)
    announced = run(tmp_path, ["ip_vs"], check=True, unblock=True)
    assert content(tmp_path) == before
    done = run(tmp_path, ["ip_vs"], unblock=True)
    assert done == announced and done["modules"][0]["blocked"] == []
    assert [path for path in done["files"]
            if "modprobe.d" in path] == ["/etc/modprobe.d/%s.conf" % name for name in "abcd"]
    assert (tmp_path / "etc/modprobe.d/d.conf").read_text().count(plan.MARK) == 3
    assert not run(tmp_path, ["ip_vs"], unblock=True)["changed"]
    undo(tmp_path)
    assert content(tmp_path) == before


def test_directories_that_were_made_go_with_the_undo_and_others_stay(tmp_path):
    node_tree.unpack(merged(IMAGE, dict.fromkeys(FOLDERS), {"usr/lib/modprobe.d/vendor.conf": "blacklist ip_vs\n"}),
                     tmp_path)
    before = snapshot(tmp_path)
    run(tmp_path, ["ip_vs"], unblock=True)
    (tmp_path / "etc/modules-load.d/mine.conf").write_text("loop\n")
    undo(tmp_path)
    assert sorted(set(snapshot(tmp_path)) - set(before)) == ["etc/modules-load.d", "etc/modules-load.d/mine.conf"]


def test_a_secret_in_an_install_line_is_shown_nowhere(tmp_path):
    text = ("install ip_vs curl -u me:hunter2 --token hunter2 https://me:hunter2@h/ && /bin/true # hunter\noptions "
            "ip_vs x=524288\n")
    files = {"etc/modprobe.d/a.conf": "install ip_vs /bin/true\n" + text,
             "etc/modprobe.d/b.conf": "garbage password=hunter2\n"}
    node_tree.unpack(merged(IMAGE, files), tmp_path)
    result = run(tmp_path, ["ip_vs"], check=True, unblock=True)
    assert "hunter2" not in str(result) and "install ip_vs /bin/true" in str(result["diff"])
    (tmp_path / "etc/modprobe.d/a.conf").write_text(text)
    facts = collect_kernel_modules(Host(str(tmp_path)), identify(Host(str(tmp_path)), "auto"), ["ip_vs"])
    assert "hunter2" not in str(facts) and "curl -u me:*** --token *** https://***@h/" in str(facts)
    assert "hunter2" not in str(run(tmp_path, ["ip_vs"], load=True))
