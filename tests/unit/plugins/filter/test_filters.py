# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters: each is registered under the name of its file, documented, and names itself in its errors."""

import importlib
import json
import pathlib

import fix_runs
import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import rollup

NAMES = sorted(path.stem for path in (pathlib.Path(__file__).resolve().parents[4] / "plugins" / "filter").glob("*.py"))


def load(name):
    return importlib.import_module("ansible_collections.kubenode.netfilter.plugins.filter." + name)


def facts(**modules):
    return fix_runs.facts(modules)


@pytest.mark.parametrize("name", NAMES)
def test_name_documentation_and_error(name):
    module = load(name)
    assert list(module.FilterModule().filters()) == [name]
    assert yaml.safe_load(module.DOCUMENTATION)["name"] == name
    with pytest.raises(AnsibleFilterError, match="^kubenode.netfilter.%s: (needs|expected) " % name):
        module.FilterModule().filters()[name](1.5)


def test_what_they_answer():
    known = facts(nf_conntrack="loadable", xt_comment="absent")
    assert load("assessed").assessed(known, "KMOD") is True and load("assessed").assessed({}) is False
    assert {row["check"] for row in load("fixable").fixable(known["node_assess_findings"])} == {"KMOD003"}
    assert load("conntrack_size").conntrack_size(8 << 30, 4, peak=90000)["max"] == 262144
    assert load("outside_ranges").outside_ranges(["10.1.0.1", "192.0.2.1"], ["10.0.0.0/8"]) == ["192.0.2.1"]
    overlapping = load("overlapping_ranges").overlapping_ranges({"a": ["10.0.0.0/8"], "b": ["10.1.0.0/16"]})
    assert [row["range"] for row in overlapping] == ["10.1.0.0/16"]


@pytest.mark.parametrize("name, value, words", [
    ("fixable", [{"status": "fail"}], "a row lacks check or status"), ("fixable", [3], "a row lacks check or status"),
    ("assessed", type("_Lazy", (list,), {})(), "got list")])
def test_what_is_handed_over_is_told_in_plain_words(name, value, words):
    with pytest.raises(AnsibleFilterError, match=words):
        load(name).FilterModule().filters()[name](value)


def test_fleet_takes_reports_from_their_files():
    from_files = [json.loads(json.dumps(rollup.node_report(name, facts(**modules), groups=["edge", "ungrouped"])))
                  for name, modules in (("a", {"nf_conntrack": "loadable"}), ("b", {}), ("c", {}))]
    answer = load("fleet").fleet(from_files)
    assert answer["checks"]["KMOD003"]["kind"] == "node" and from_files[0]["groups"] == ["edge"]
    module = {"by": "kernel module nf_conntrack", "usual": "loaded", "nodes": 2, "others": {"a": "not loaded"}}
    assert answer["outliers"] == [module] and answer["compared"]["services"]["hosts"] == 3
    by_a = load("fleet").fleet(from_files, baseline="a")
    assert by_a["outliers"] == [dict(module, usual="not loaded", nodes=1, others={"b": "loaded", "c": "loaded"})]
    with pytest.raises(AnsibleFilterError, match="needs the report of the baseline z"):
        load("fleet").fleet(from_files, baseline="z")
    old = [{key: value for key, value in each.items() if key not in ("items", "group_by", "digest")}
           for each in from_files]
    assert load("fleet").fleet(old) == {"checks": answer["checks"], "outliers": [],
                                        "compared": {"services": None, "endpoints": None}}
    broken = [dict(from_files[0], summary=None), dict(from_files[0], findings=[{"check": 1}]), {"host": "x"}, 7,
              dict(from_files[0], groups=[1]), dict(from_files[0], items={"hooks": {"/x": 1}}),
              dict(from_files[0], group_by={"rack": []}), dict(from_files[0], digest={"services": 1}),
              dict(from_files[0], findings=[{"check": "A", "status": ["fail"]}])]
    for each in broken:
        with pytest.raises(AnsibleFilterError, match="but item 2 is not one"):
            load("fleet").fleet([from_files[1], each])
    with pytest.raises(AnsibleFilterError, match="needs one report of each host"):
        load("fleet").fleet(from_files + from_files[:1])
