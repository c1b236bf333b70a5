# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with checks of the user: each mistake has one sentence that names file, check and key."""

import json

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _catalogue, _policy, _user_checks

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
    policy = _policy.policy_of({"node_policy_check_files": list(given or ["site.yml"])}, [folder])
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
    policy = _policy.policy_of({"node_policy_check_files": ["site.yml"]}, [tmp_path])
    assert set(policy.checks) == {*_catalogue.catalogue(), "SITE-MTU001"}
    assert "SITE-MTU001" not in _policy.policy_of({"node_policy_check_files": []}).checks


@pytest.mark.parametrize("change, sentence", [
    ({"id": "KMOD001"}, "KMOD001: the id belongs to a check of the collection; did you mean SITE-KMOD001?"),
    ({"id": "kmod001"}, "kmod001: the id belongs to a check of the collection; did you mean SITE-KMOD001?"),
    ({"id": "KMOD-MTU001"},
     "KMOD-MTU001: the prefix KMOD is a section of the collection; did you mean SITE-MTU001?"),
    ({"id": "site_mtu001"}, "site_mtu001: an id is a prefix of your own, a dash, letters and three digits, such as "
                            "SITE-MTU001; did you mean SITE-MTU001?"),
    ({"id": "SITE-MTU1"}, "SITE-MTU1: an id is a prefix of your own, a dash, letters and three digits, such as "
                          "SITE-MTU001"),
    ({"id": "SITE-MTU001\n"}, "SITE-MTU001: an id is a prefix of your own"),
    ({"id": "SITE-MTU\u0660\u0660\u0661"}, "SITE-MTU\u0660\u0660\u0661: an id is a prefix of your own"),
    ({"select": "!" * 2000 + "node_cni"}, "SITE-MTU001: select has a JMESPath expression of more than 50 levels"),
    ({"id": 7}, "7: id must be a text; an id is a prefix of your own"),
    ({"severty": "low"}, "SITE-MTU001: the key severty is not known; did you mean severity?"),
    ({"file": "/etc/passwd"}, "SITE-MTU001: the key file is not known; did you mean title?"),
    ({"severity": "hihg"}, "SITE-MTU001: severity is 'hihg', but must be one of: info, low, medium, high; did you "
                           "mean high?"),
    ({"severity": True}, "SITE-MTU001: severity must be a text, not True"),
    ({"title": ["a"]}, "SITE-MTU001: title must be a text, not ['a']"),
    ({"title": " "}, "SITE-MTU001: title must be a text, not ' '"),
    ({"why": "x" * 4001}, "SITE-MTU001: why has 4001 characters; give at most 4000"),
    ({"needs": "node_cni"}, "SITE-MTU001: needs must be a list of texts, not 'node_cni'"),
    ({"needs": []}, "SITE-MTU001: needs must be a list of texts, not []"),
    ({"needs": ["node_cin"]}, "SITE-MTU001: needs names node_cin, but no module returns a section node_cin; did you "
                              "mean node_cni?; there is: node_cni, "),
    ({"needs": ["node_cni.route"]}, "SITE-MTU001: needs names node_cni.route, but RETURN of node_cni documents no "
                                    "route; did you mean routes?"),
    ({"sources": "a page"}, "SITE-MTU001: sources must be a list of texts, not 'a page'"),
    ({"kind": "at_mots"}, "SITE-MTU001: the kind at_mots is not known; did you mean at_most?"),
    ({"kind": "../../modules/assess"}, "SITE-MTU001: the kind ../../modules/assess is not known; known: at_most, "),
    ({"kind": "os.system"}, "SITE-MTU001: the kind os.system is not known"),
    ({"want": "max_rulse"}, "SITE-MTU001: want names the policy value max_rulse, which does not exist; did you mean "
                            "max_rules?"),
    ({"want": "9000"}, "SITE-MTU001: want is '9000', but kind at_most compares with a number"),
    ({"want": None}, "SITE-MTU001: want is None, but kind at_most compares with a number"),
    ({"opt_in": "read_log"}, "SITE-MTU001: opt_in names the policy value read_log, which is not one of true or false; "
                             "did you mean read_logs?"),
    ({"observed": "{valeu}"}, "SITE-MTU001: observed has the field {valeu}, which no row of select has; did you mean "
                              "{value}?"),
    ({"select": "node_cni.mtu["}, "SITE-MTU001: select is not a valid JMESPath expression: node_cni.mtu["),
    ({"select": "shell('id')"}, "SITE-MTU001: select uses the function shell, which does not exist"),
    ({"applies_when": 3}, "SITE-MTU001: applies_when must be a text, not 3"),
    ({"fix": "reboot"}, "SITE-MTU001: fix must be a dictionary, not 'reboot'"),
    ({"fix": {"manaul": "x"}}, "SITE-MTU001: fix: the key manaul is not known; did you mean manual?"),
    ({"fix": {"safety": "x"}}, "SITE-MTU001: fix lacks manual, the command or the steps of the fix"),
    ({"fix": {"manual": ["x"]}}, "SITE-MTU001: fix.manual must be a text, not ['x']"),
    ({"fix": {"manual": "x", "class": "sfae"}},
     "SITE-MTU001: fix.class is 'sfae', but must be one of: safe, guarded, disruptive; did you mean safe?"),
    ({"fix": {"manual": "x", "role": "harden_conntrack", "part": "limit"}},
     "SITE-MTU001: fix.role: no role fixes a check of your own; describe the fix in fix.manual"),
    ({"fix": {"manual": "x", "part": "limit"}}, "SITE-MTU001: fix.part: no role fixes a check of your own"),
])
def test_a_mistake_of_an_entry(tmp_path, change, sentence):
    assert sentence_of(written(tmp_path, dict(ENTRY, **change))).startswith("site.yml: " + sentence)


@pytest.mark.parametrize("change, sentence", [
    ({"observed": "{subjcet}"}, "observed has the field {subjcet}, which no row of select has; did you mean "
                                "{subject}?"),
    ({"want": 3}, "kind none_of takes no want"),
    ({"select": "node_conntrak.sysctls[].{subject: key}"},
     "select reads node_conntrak, but there is no such section; did you mean node_conntrack?"),
    ({"select": "node_conntrack.sysctl[].{subject: key}"},
     "select reads node_conntrack.sysctl, which no row and no RETURN has; did you mean sysctls?"),
    ({"select": "node_conntrack.sysctls[?nwo == '1'].{subject: key}"},
     "select reads nwo, which no row and no RETURN has; did you mean now?"),
    ({"applies_when": "node_kubelet.running == true"},
     "applies_when reads true, but there is no such section; there is: node_cni, "),
    ({"applies_when": "node_kubelet.running"}, "applies_when reads node_kubelet, which needs does not name"),
])
def test_a_mistake_of_an_entry_with_rows(tmp_path, change, sentence):
    assert sentence_of(written(tmp_path, with_rows(**change))).startswith("site.yml: SITE-MTU001: " + sentence)


@pytest.mark.parametrize("text, sentence", [
    ("", "site.yml must be a list of checks, not empty"),
    ("[]", "site.yml must be a list of checks, not an empty list"),
    ("id: SITE-MTU001", "site.yml must be a list of checks, not a dictionary"),
    ("- SITE-MTU001", "site.yml: entry 1 must be a dictionary, not a text"),
    ("- {1: a, id: SITE-MTU001}", "site.yml: entry 1: the key 1 must be a text"),
    ("- {ID: SITE-MTU001}", "site.yml: entry 1 lacks id; there is: ID"),
    ("- {id: SITE-MTU001}", "site.yml: SITE-MTU001 lacks title, severity, kind, select, needs, why, fix, sources"),
    ("- id: SITE-MTU001\n  title: a\n  title: b\n",
     "site.yml is not valid YAML: line 3, column 3: the key title is there twice"),
    ("- id: &a SITE-MTU001\n  title: *a\n", "site.yml: line 2 has a YAML alias; write the value out"),
    ("- id: [", "site.yml is not valid YAML: line 2, column 1: did not find expected node"),
    ("- id: !!python/object/apply:os.system [id]\n",
     "site.yml is not valid YAML: line 1, column 7: could not determine a constructor"),
    ("- id: !vault x\n", "site.yml is not valid YAML: line 1, column 7: could not determine a constructor"),
    ("- a\n--- \n- b\n", "site.yml is not valid YAML: line 2, column 1: "),
    ("[" * 100000, "site.yml: line 1 has more than 50 levels"),
    ("- id: 2026-13-45", "site.yml is not valid YAML: month must be in 1..12"),
])
def test_a_file_that_is_no_list_of_checks(tmp_path, text, sentence):
    (tmp_path / "site.yml").write_text(text, encoding="utf-8")
    assert sentence_of(tmp_path).startswith(sentence)


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "site.yml").write_bytes(b"- id: \xff")
    assert sentence_of(tmp_path) == "site.yml is not UTF-8 text at byte 6"
    (tmp_path / "site.yml").write_bytes(b" " * (_user_checks.BYTES_LIMIT + 1))
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
    found = _policy.policy_of({"node_policy_check_files": ["site.yml"]}, [tmp_path / "one", tmp_path / "two"])
    assert "SITE-MTU001" in found.checks


def test_a_content_is_loaded_once(tmp_path):
    written(tmp_path, ENTRY)
    first = loaded(tmp_path)["SITE-MTU001"]
    assert loaded(tmp_path)["SITE-MTU001"] is first
    written(tmp_path, dict(ENTRY, severity="low"))
    assert loaded(tmp_path)["SITE-MTU001"].severity == "low"


@pytest.mark.parametrize("given, sentence", [
    ({"node_policy_severities": {"SITE-MTU002": "low"}},
     "node_policy_severities: the check SITE-MTU002 is not known; did you mean SITE-MTU001?"),
    ({"node_policy_disabled_checks": [{"check": "SITE-MUT001", "reason": "r"}]},
     "node_policy_disabled_checks[0]: the check SITE-MUT001 is not known; did you mean SITE-MTU001?"),
    ({"node_policy_waivers": [{"check": "SITE-MTU01", "reason": "r", "owner": "o", "expires": "2027-01-31"}]},
     "node_policy_waivers[0]: the check SITE-MTU01 is not known; did you mean SITE-MTU001?"),
])
def test_the_policy_names_checks_of_the_user(tmp_path, given, sentence):
    written(tmp_path, ENTRY)
    with pytest.raises(BadInput) as refused:
        _policy.policy_of(dict(given, node_policy_check_files=["site.yml"]), [tmp_path])
    assert str(refused.value) == sentence
    fixed = json.loads(json.dumps(given).replace(sentence.split(" is not")[0].split()[-1], "SITE-MTU001"))
    policy = _policy.policy_of(dict(fixed, node_policy_check_files=["site.yml"]), [tmp_path])
    assert "SITE-MTU001" in json.dumps([policy.severities, policy.disabled,
                                        [waiver["check"] for waiver in policy.waivers]])


def test_a_selection_names_checks_of_the_user(tmp_path):
    checks = _policy.policy_of({"node_policy_check_files": ["site.yml"]}, [written(tmp_path, ENTRY)]).checks
    _policy.check_role_variables({"node_assess_checks": ["SITE-*"], "node_assess_sections": ["SITE-MTU"]}, checks)
    with pytest.raises(BadInput, match="did you mean SITE-MTU001?"):
        _policy.check_role_variables({"node_assess_skip": ["SITE-MTU002"]}, checks)
    with pytest.raises(BadInput, match="the section SITE-MUT is not known; did you mean SITE-MTU?"):
        _policy.check_role_variables({"node_assess_sections": ["SITE-MUT"]}, checks)


def test_severity_and_waiver_of_the_policy_count(tmp_path):
    written(tmp_path, dict(ENTRY, want=1000))
    policy = _policy.policy_of({
        "node_policy_check_files": ["site.yml"], "node_policy_severities": {"SITE-MTU001": "high"},
        "node_policy_waivers": [{"check": "SITE-MTU001", "reason": "r", "owner": "o", "expires": "2999-01-31"}]},
        [tmp_path])
    evidence = {"node_host": {"place": "live"},
                "node_cni": {"collected": {"routes": "ok"}, "mtu": {"uplink_mtu": 1500}}}
    found, _requirements = _assess.judged(evidence, policy, [policy.checks["SITE-MTU001"]])
    assert [(row["status"], row["severity"], row["problem"]) for row in found] == [
        ("waived", "high", "the uplink has MTU 1500")]
