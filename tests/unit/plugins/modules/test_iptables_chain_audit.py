# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module iptables_chain_audit: options in, the section out, one sentence for bad input; its documentation names
every key."""

import gzip
import importlib
import json
import pathlib

import pytest
from case_rows import cases
import yaml

import kube_audit
import node_tree
from module_runs import run_module
from node_manifests import merged, node

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")

DUMP = node_tree.compressed(kube_audit.sample("1.8.9-nft-ipv4"))


@pytest.fixture
def tree(tmp_path):
    return node_tree.unpack(merged(node(), {"dumps/v4.gz": DUMP, "dumps/pipe": node_tree.FIFO}), tmp_path)


def test_dumps_are_judged(tree):
    code, result = run_module("iptables_chain_audit", root=tree, src=["/dumps/v4.gz"], kubernetes_version="1.30",
                              max_services=3, _ansible_check_mode=True)
    section = result["ansible_facts"]["node_iptables_chains"]
    assert (code, result["changed"], sorted(result["ansible_facts"])) == (0, False, ["node_iptables_chains"])
    assert (section["collected"], section["mode"], section["kubernetes"]) == ({"v4.gz": "ok"}, "iptables", "1.30")
    assert len(section["service_rows"]) == 3 and section["observed"] == {"without_endpoints": 3}


FORMS = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "forms"


def audited(*paths):
    """The section of files on this machine."""
    return run_module("iptables_chain_audit", root="/", place="image",
                      src=[str(path) for path in paths])[1]["ansible_facts"]["node_iptables_chains"]


@cases
def test_rules_in_every_form_are_judged(names, tables):
    section = audited(*[FORMS / name for name in names])
    assert sorted(table for row in section["rule_sets"] for table in row["tables"]) == tables
    assert (section["mode"], section["observed"].keys() <= {"without_endpoints"},
            {row["table"] for row in section["unread"]} <= {"filter", "nat"}) == ("iptables", True, True)


def test_a_dump_that_breaks_off_is_judged_by_what_was_read(tmp_path):
    whole = gzip.decompress((FORMS / "save.txt.gz").read_bytes()).decode().replace(
        "-A FORWARD", "-A FORWARD -s 10.0.0.0/8 -j DROP\n-A FORWARD", 1)
    for at in (9000, whole.rindex("COMMIT")):
        (tmp_path / "cut.txt").write_text(whole[:at])
        section = audited(tmp_path / "cut.txt")
        assert section["observed"] == {"unexpected_drop": 1, "without_endpoints": 4}
        assert [row["table"] for row in section["unread"]] == ["nat"]


@pytest.mark.parametrize("text", ["hello\n", "#!/bin/sh\niptables -A INPUT -j DROP\n",
                                  "Module  Size  Used by\nnf_nat 1 2\n", '{"nftables": []}\n'])
def test_what_is_no_dump_is_refused_in_one_sentence(tmp_path, text):
    (tmp_path / "x.txt").write_text(text)
    code, result = run_module("iptables_chain_audit", root="/", place="image", src=[str(tmp_path / "x.txt")])
    assert (code == 1 and "x.txt contains no rules; give what iptables-save, iptables -S, iptables -L -n -v or nft "
                          "list ruleset printed" in result["msg"])


def test_an_image_has_no_rules(tree):
    section = run_module("iptables_chain_audit", root=tree)[1]["ansible_facts"]["node_iptables_chains"]
    assert set(section["collected"].values()) == {"absent"} and section["source"] is None


@cases
def test_bad_input_is_one_clear_error(arguments, message, tree):
    code, result = run_module("iptables_chain_audit", **dict({"root": tree}, **arguments))
    assert code == 1 and result["failed"] is True and message in result["msg"] and "Traceback" not in json.dumps(result)


def test_every_key_is_documented(tree):
    module = importlib.import_module("ansible_collections.kubenode.netfilter.plugins.modules.iptables_chain_audit")
    described = yaml.safe_load(module.RETURN)["ansible_facts"]["contains"]["node_iptables_chains"]["contains"]
    damaged = kube_audit.sample("1.8.9-nft-ipv4").replace("-m mark ! --mark 0x4000/0x4000 -j RETURN",
                                                          "-j RETURN") + "junk\n*raw\n-A OUT"
    node_tree.unpack({"dumps/damaged": damaged}, tree)
    sections = [run_module("iptables_chain_audit", root=tree,
                           src=["/dumps/" + name])[1]["ansible_facts"]["node_iptables_chains"]
                for name in ("damaged", "v4.gz")]
    for section in sections:
        assert set(section) == set(described)
    rows = {key: sections[0][key] or sections[1][key]
            for key in ("unread", "rule_sets", "notices", "observations", "owners", "service_rows")}
    for key in rows:
        assert rows[key] and set(rows[key][0]) == set(described[key]["contains"]), key
    for key in ("digest", "footprint", "networks"):
        assert set(section[key]) == set(described[key]["contains"])
