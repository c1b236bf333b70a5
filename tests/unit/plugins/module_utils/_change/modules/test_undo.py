# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of modules is undone from the record: what others wrote stays."""

import json

import pytest

import node_tree
from module_changes import IMAGE, LIST, RECORD, STATE, content, persisted, run, undo
from node_manifests import merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.modules.list_file import HEADER, list_text


def test_a_list_of_ours_that_was_overwritten_since_stays(image):
    before = content(image)
    run(image, ["ip_vs"])
    (image / LIST).write_text("# admin\nwireguard\n")
    for _turn in range(2):
        announced = undo(image, check=True)
        result = undo(image)
        assert result == announced and result["failed"] and not result["changed"]
        assert result["msg"] == ("/%s is not put back: it was changed since; there was no such file before, so remove "
                                 "it by hand if it is not needed" % LIST)
        assert (image / LIST).read_text() == "# admin\nwireguard\n"
    (image / LIST).unlink()
    assert "failed" not in undo(image)
    assert content(image) == before


@pytest.mark.parametrize("text", ["# by puppet\nwireguard\n", "wireguard\n", "", " " + list_text(["ip_vs"], None)])
def test_a_list_on_a_tree_where_no_fix_ran_stays(tmp_path, text):
    node_tree.unpack(merged(IMAGE, {LIST: text}), tmp_path)
    assert undo(tmp_path) == {"changed": False, "diff": [], "files": [], "modules": []}
    assert (tmp_path / LIST).read_text() == text


def test_the_record_names_the_list_that_is_undone(tmp_path):
    node_tree.unpack(merged(IMAGE, {LIST: "# by puppet\nwireguard\n"}), tmp_path)
    before = content(tmp_path)
    run(tmp_path, ["ip_vs"], file="90-x.conf")
    result = undo(tmp_path)
    assert result["files"][0] == "/etc/modules-load.d/90-x.conf" and "failed" not in result
    assert content(tmp_path) == before


# Earlier versions did not record a list of their own; other files of the same run they did.
EARLIER = {None: None, 1: {"schema": 1, "changed": {}, "folders": ["/etc/modules-load.d"]},
           2: {"schema": 2, "changed": {}, "folders": ["/etc/modules-load.d"]}}


OURS = list_text(["ip_vs", "nf_conntrack"], None)


def of_earlier(tmp_path, schema, text):
    node_tree.unpack(merged(IMAGE, {LIST: text}), tmp_path)
    if EARLIER[schema]:
        node_tree.unpack({RECORD: json.dumps(EARLIER[schema])}, tmp_path)
    (tmp_path / "var/lib").mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize("schema", sorted(EARLIER, key=str))
def test_a_list_of_an_earlier_version_is_removed(tmp_path, schema):
    of_earlier(tmp_path, schema, list_text(["br_netfilter", "ip_set_hash:ip"], None))
    announced = undo(tmp_path, check=True)
    assert undo(tmp_path) == announced and announced["files"][0] == "/" + LIST and "warnings" not in announced
    assert not (tmp_path / LIST).exists() and not (tmp_path / STATE).exists()
    assert not undo(tmp_path)["changed"]


@pytest.mark.parametrize("schema", sorted(EARLIER, key=str))
@pytest.mark.parametrize("text", [
    OURS + "# admin\n", OURS + "ip_set\nip_vs\n", OURS + "nf_conntrack\n", OURS + "wire guard\n", OURS + "wireguard",
    OURS + "\n", OURS + "xt_nat\r\n", HEADER, list_text(["ip_vs"], "# ours since 2019\noverlay")])
def test_a_list_of_an_earlier_version_that_was_edited_stays_and_is_named(tmp_path, schema, text):
    of_earlier(tmp_path, schema, text)
    announced = undo(tmp_path, check=True)
    result = undo(tmp_path)
    assert result == announced and "failed" not in result and (tmp_path / LIST).read_bytes() == text.encode()
    assert result["warnings"] == ["/%s stays: the record does not name it, and its content is not what this module "
                                  "writes; remove it by hand if it is not needed" % LIST]
    assert not undo(tmp_path)["changed"]


@pytest.mark.parametrize("schema", [1, 2])
def test_a_list_of_an_earlier_version_that_was_overwritten_stays_and_is_named(tmp_path, schema):
    of_earlier(tmp_path, schema, "# admin\nwireguard\n")
    assert "/%s stays" % LIST in undo(tmp_path)["warnings"][0]
    assert (tmp_path / LIST).read_text() == "# admin\nwireguard\n"


def test_a_list_of_an_earlier_version_is_recorded_by_the_next_run(tmp_path):
    old = list_text(["ip_vs"], None)
    node_tree.unpack(merged(IMAGE, {LIST: old}), tmp_path)
    assert not run(tmp_path, ["ip_vs"])["changed"], "a list that is right is no reason to write a record"
    run(tmp_path, ["xt_comment"])
    held = (tmp_path / RECORD).read_text()
    assert json.loads(held)["changed"]["/" + LIST]["before"] is None
    # Killed between the record and the list.
    (tmp_path / LIST).write_text(old)
    assert "failed" not in undo(tmp_path) and not (tmp_path / LIST).exists() and not (tmp_path / STATE).exists()


@pytest.mark.parametrize("recorded", [True, False])
def test_lines_that_were_added_to_our_list_survive_fix_and_undo(tmp_path, recorded):
    node_tree.unpack(merged(IMAGE, {} if recorded else {LIST: list_text(["ip_vs"], None)}), tmp_path)
    if recorded:
        run(tmp_path, ["ip_vs"])
    (tmp_path / LIST).write_text((tmp_path / LIST).read_text() + "# admin\nwireguard\n")
    run(tmp_path, ["ip_vs", "xt_comment"])
    assert persisted(tmp_path) == ["ip_vs", "xt_comment"], "its header says so"
    assert "failed" not in undo(tmp_path)
    assert (tmp_path / LIST).read_text() == "# admin\nwireguard\n"
    assert not undo(tmp_path)["changed"] and (tmp_path / LIST).read_text() == "# admin\nwireguard\n"
