# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with checks of the user and their YAML: each mistake has one sentence that names file, check and key."""

import json

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, catalogue, user_checks
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.user_checks import yaml_of
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

ENTRY = {"id": "SITE-MTU001", "title": "The uplink carries jumbo frames", "severity": "medium", "kind": "at_most",
         "problem": "the uplink has MTU {value}", "needs": ["node_cni.routes"], "select": "node_cni.mtu.uplink_mtu",
         "want": 9000, "subject": "uplink", "why": "Storage traffic is dropped.", "fix": {"manual": "ip link set"},
         "sources": ["https://wiki.example.com/mtu"]}
ROWS = {"kind": "none_of", "select": "node_conntrack.sysctls[].{subject: key}", "observed": "{subject}"}


def written(folder, *entries, name="site.yml"):
    """The folder with a file of these entries; JSON is YAML."""
    (folder / name).write_text(json.dumps(list(entries)), encoding="utf-8")
    return folder


def loaded(folder, *given):
    """The checks of the user among those of a policy."""
    policy = policies.policy_of({"node_policy_check_files": list(given or ["site.yml"])}, [folder])
    return {check.id: check for check in policy.checks.values() if check.file}


def sentence_of(folder, *given):
    with pytest.raises(BadInput) as refused:
        loaded(folder, *given)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def with_rows(**change):
    entry = {key: value for key, value in ENTRY.items() if key != "want"}
    return dict(entry, needs=["node_conntrack.table"], problem="{subject} is wrong", **dict(ROWS, **change))


def test_a_sentence_about_many_or_long_keys_is_short(tmp_path):
    written(tmp_path, {"key%03d" % number: 1 for number in range(90)})
    assert sentence_of(tmp_path).endswith("lacks id; there is: %s and 70 more" % ", ".join(
        "key%03d" % number for number in range(20)))
    written(tmp_path, {"k" * 900: 1})
    assert sentence_of(tmp_path) == "site.yml: entry 1: a key has 900 characters; give at most 100"


def test_a_want_that_nothing_is_above_is_refused(tmp_path):
    written(tmp_path, dict(ENTRY, kind="at_most", want="NAN"))
    (tmp_path / "site.yml").write_text((tmp_path / "site.yml").read_text().replace('"NAN"', ".nan"))
    assert sentence_of(tmp_path) == "site.yml: SITE-MTU001: want is not a number"


def test_a_check_of_the_user_is_one_of_the_policy_with_its_file(tmp_path):
    found = loaded(written(tmp_path, ENTRY))
    assert list(found) == ["SITE-MTU001"] and found["SITE-MTU001"].file == "site.yml"
    assert found["SITE-MTU001"].section == "SITE-MTU"
    assert found["SITE-MTU001"].fix == {"role": None, "class": None, "manual": "ip link set", "safety": None}
    policy = policies.policy_of({"node_policy_check_files": ["site.yml"]}, [tmp_path])
    assert set(policy.checks) == {*catalogue.catalogue(), "SITE-MTU001"}
    assert "SITE-MTU001" not in policies.policy_of({"node_policy_check_files": []}).checks


@cases
def test_a_mistake_of_an_entry(tmp_path, change, sentence):
    assert sentence_of(written(tmp_path, dict(ENTRY, **change))).startswith("site.yml: " + sentence)


@cases
def test_a_mistake_of_an_entry_with_rows(tmp_path, change, sentence):
    assert sentence_of(written(tmp_path, with_rows(**change))).startswith("site.yml: SITE-MTU001: " + sentence)


@cases
def test_a_file_that_is_no_list_of_checks(tmp_path, text, sentence):
    (tmp_path / "site.yml").write_text(text, encoding="utf-8")
    assert sentence_of(tmp_path).startswith(sentence)


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "site.yml").write_bytes(b"- id: \xff")
    assert sentence_of(tmp_path) == "site.yml is not UTF-8 text at byte 6"
    (tmp_path / "site.yml").write_bytes(b" " * (user_checks.BYTES_LIMIT + 1))
    assert sentence_of(tmp_path) == "site.yml has more than 1048576 bytes"


def test_a_path_that_is_not_there(tmp_path):
    written(tmp_path, ENTRY)
    (tmp_path / "empty").mkdir()
    assert sentence_of(tmp_path, "sight.yml") == (
        "node_policy_check_files[0]: %s/sight.yml is not a file or a folder; did you mean site.yml?" % tmp_path)
    assert sentence_of(tmp_path, "site.yml", "nowhere/at/all").endswith(
        "nowhere/at/all is not a file or a folder; a path is relative to the inventory")
    (tmp_path / "loop").symlink_to("loop")
    for name, words in (("x" * 5000, "File name too long"), ("/".join(["x" * 200] * 30), "File name too long"),
                        ("~nobody-of-that-name/x.yml", "ome directory"), ("\udc80", "is not a file or a folder"),
                        ("loop", "is not a file or a folder")):
        assert words in sentence_of(tmp_path, name) and len(sentence_of(tmp_path, name)) < 1000
    assert sentence_of(tmp_path, "empty") == ("node_policy_check_files[0]: the folder empty has no file that ends in "
                                              ".yml or .yaml")
    assert sentence_of(tmp_path, "") == "node_policy_check_files[0] is ''; give the path of a file or a folder"


def test_an_id_is_in_one_file(tmp_path):
    written(tmp_path, ENTRY)
    written(tmp_path, ENTRY, name="other.yml")
    assert sentence_of(tmp_path, "other.yml", "site.yml") == "site.yml: SITE-MTU001: the id is already in other.yml"
    written(tmp_path, ENTRY, ENTRY)
    assert sentence_of(tmp_path) == "site.yml: SITE-MTU001: the id is already in site.yml"


def test_a_folder_gives_its_files_and_not_its_cases(tmp_path):
    folder = tmp_path / "checks"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "SITE-MTU001.yml").write_text("not a check", encoding="utf-8")
    (folder / "README.md").write_text("not a check", encoding="utf-8")
    (folder / ".hidden.yml").write_text("not a check", encoding="utf-8")
    written(folder, ENTRY, name="b.yml")
    written(folder, dict(ENTRY, id="SITE-MTU002"), name="a.yaml")
    found = loaded(tmp_path, "checks", "checks/b.yml")
    assert [(check.id, check.file) for check in found.values()] == [
        ("SITE-MTU001", "checks/b.yml"), ("SITE-MTU002", "checks/a.yaml")]


def test_the_first_folder_of_the_inventory_that_has_the_path_counts(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    written(tmp_path / "two", ENTRY)
    found = policies.policy_of({"node_policy_check_files": ["site.yml"]}, [tmp_path / "one", tmp_path / "two"])
    assert "SITE-MTU001" in found.checks


def test_a_content_is_loaded_once(tmp_path):
    written(tmp_path, ENTRY)
    first = loaded(tmp_path)["SITE-MTU001"]
    assert loaded(tmp_path)["SITE-MTU001"] is first
    written(tmp_path, dict(ENTRY, severity="low"))
    assert loaded(tmp_path)["SITE-MTU001"].severity == "low"


@cases
def test_the_policy_names_checks_of_the_user(tmp_path, given, sentence):
    written(tmp_path, ENTRY)
    with pytest.raises(BadInput) as refused:
        policies.policy_of(dict(given, node_policy_check_files=["site.yml"]), [tmp_path])
    assert str(refused.value) == sentence
    fixed = json.loads(json.dumps(given).replace(sentence.split(" is not")[0].split()[-1], "SITE-MTU001"))
    policy = policies.policy_of(dict(fixed, node_policy_check_files=["site.yml"]), [tmp_path])
    assert "SITE-MTU001" in json.dumps([policy.severities, policy.disabled,
                                        [waiver["check"] for waiver in policy.waivers]])


def test_a_selection_names_checks_of_the_user(tmp_path):
    checks = policies.policy_of({"node_policy_check_files": ["site.yml"]}, [written(tmp_path, ENTRY)]).checks
    policies.check_role_variables({"node_assess_checks": ["SITE-*"], "node_assess_sections": ["SITE-MTU"]}, checks)
    with pytest.raises(BadInput, match="did you mean SITE-MTU001?"):
        policies.check_role_variables({"node_assess_skip": ["SITE-MTU002"]}, checks)
    with pytest.raises(BadInput, match="the section SITE-MUT is not known; did you mean SITE-MTU?"):
        policies.check_role_variables({"node_assess_sections": ["SITE-MUT"]}, checks)


def test_severity_and_waiver_of_the_policy_count(tmp_path):
    written(tmp_path, dict(ENTRY, want=1000))
    policy = policies.policy_of({
        "node_policy_check_files": ["site.yml"], "node_policy_severities": {"SITE-MTU001": "high"},
        "node_policy_waivers": [{"check": "SITE-MTU001", "reason": "r", "owner": "o", "expires": "2999-01-31"}]},
        [tmp_path])
    evidence = {"node_host": {"place": "live"},
                "node_cni": {"collected": {"routes": "ok"}, "mtu": {"uplink_mtu": 1500}}}
    found, _requirements = assess.judged(evidence, policy, [policy.checks["SITE-MTU001"]])
    assert [(row["status"], row["severity"], row["problem"]) for row in found] == [
        ("waived", "high", "the uplink has MTU 1500")]


@cases
def test_a_value_is_plain_data_or_refused(text, value):
    if value is None and text:
        with pytest.raises(BadInput):
            yaml_of("f", text.encode("utf-8"))
    else:
        assert yaml_of("f", text.encode("utf-8")) == value


@pytest.mark.parametrize("text", ["a: {b: 1, b: 2}", "a: 1\n'a': 2", "- {a: 1, c: 1,\n   a: 2}"])
def test_a_key_is_there_once(text):
    with pytest.raises(BadInput, match=r"^f is not valid YAML: line [12], column \d+: the key [ab] is there twice$"):
        yaml_of("f", text.encode("utf-8"))


def test_a_document_that_grows_is_not_read_to_its_end():
    bomb = "a: &a [x, x]\n" + "".join("%s: &%s [*%s, *%s]\n" % (name, name, before, before)
                                      for before, name in zip("abcdefghijklm", "bcdefghijklmn"))
    for text, sentence in ((bomb, "f: line 2 has a YAML alias; write the value out"),
                           ("[" * 1000000, "f: line 1 has more than 50 levels"),
                           ("a:\n" + "".join("%s- a:\n" % (" " * 2 * level) for level in range(60)),
                            "f: line 26 has more than 50 levels")):
        with pytest.raises(BadInput) as refused:
            yaml_of("f", text.encode("utf-8"))
        assert str(refused.value) == sentence
