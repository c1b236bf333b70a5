# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action report with pseudonyms: a copy of the files to send, and the mapping beside it for its owner alone."""

import json
import stat

import golden_run
import pytest
import report_action
from ansible.errors import AnsibleActionFail
from report_action import assessed

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

FORMATS = ["json", "terminal", "csv", "html", "junit", "markdown", "prometheus", "sarif"]


@pytest.fixture
def run(monkeypatch):
    return report_action.runner(monkeypatch)


@pytest.fixture(scope="module")
def hosts():
    return {"worker-1.k8s.example.com": assessed(), "worker-2.k8s.example.com": assessed(xt_comment="absent"),
            "gone-7.k8s.example.com": {}}


def report(run, folder, hosts, **more):
    return run(dict({"folder": str(folder), "formats": FORMATS, "pseudonyms": True}, **more), hosts,
               alive=[name for name in hosts if hosts[name]])


def test_the_copy_has_every_file_and_no_name(run, tmp_path, hosts):
    result = report(run, tmp_path, hosts)
    shared = tmp_path / "shared"
    assert result["shared"] == str(shared) and stat.S_IMODE(shared.stat().st_mode) == 0o700
    names = sorted(str(path.relative_to(shared)) for path in shared.rglob("*") if path.is_file())
    assert names == ["findings.csv", "fleet.json", "junit.xml", "kubenode_netfilter.prom", "nodes/node-002.json",
                     "nodes/node-003.json", "report.html", "results.sarif", "summary.md"]
    for name in names:
        text = (shared / name).read_text(encoding="utf-8")
        text = golden_run.readable(text) if name == "report.html" else text
        assert "example.com" not in text and "worker-" not in text and "gone-7" not in text
        assert stat.S_IMODE((shared / name).stat().st_mode) == 0o600
        assert "worker-1.k8s.example.com" in (tmp_path / "fleet.json").read_text()
    mapping = tmp_path / "pseudonyms.json"
    assert stat.S_IMODE(mapping.stat().st_mode) == 0o600
    assert json.loads(mapping.read_text())["hosts"] == {
        "gone-7.k8s.example.com": "node-001", "worker-1.k8s.example.com": "node-002",
        "worker-2.k8s.example.com": "node-003"}


def test_a_later_run_gives_the_same_names_and_new_hosts_the_next(run, tmp_path, hosts):
    report(run, tmp_path, {"worker-2.k8s.example.com": hosts["worker-2.k8s.example.com"]})
    report(run, tmp_path, hosts)
    assert json.loads((tmp_path / "pseudonyms.json").read_text())["hosts"] == {
        "worker-2.k8s.example.com": "node-001", "gone-7.k8s.example.com": "node-002",
        "worker-1.k8s.example.com": "node-003"}
    fleet = json.loads((tmp_path / "shared" / "fleet.json").read_text())
    assert {row["host"]: row["status"] for row in fleet["hosts"]} == {
        "node-001": "assessed", "node-002": "not_reached", "node-003": "assessed"}


def test_hosts_that_are_gone_or_elsewhere_and_names_of_connections(run, tmp_path, hosts, monkeypatch):
    name, gone = "worker-1.k8s.example.com", "gone-7"
    run({"folder": str(tmp_path), "formats": FORMATS}, {name: hosts[name], gone: assessed()})
    monkeypatch.setattr(_run, "ID", "29990101T000000Z-1")
    facts = assess.exported(None, policies.default_policy(), assess.chosen_checks(None), None,
                            not_reached="ssh: connect to real-1.corp.net: no route; db-9 answers")
    run({"folder": str(tmp_path), "formats": FORMATS, "pseudonyms": True}, {name: facts}, others=["db-9"],
        connection={name: {"ansible_host": "real-1.corp.net"}})
    for path in (path for path in (tmp_path / "shared").rglob("*") if path.is_file()):
        text = path.read_text(encoding="utf-8")
        text = golden_run.readable(text) if path.name == "report.html" else text
        assert "gone-7" not in text and "gone\\-7" not in text and "real-1" not in text and "db-9" not in text, path
    shown = (tmp_path / "shared" / "report.html").read_text()
    assert "only in run" in shown and "node-001" in shown


def test_nothing_is_shared_that_was_not_asked_for(run, tmp_path, hosts):
    result = report(run, tmp_path, hosts, pseudonyms=False)
    assert "shared" not in result and not (tmp_path / "shared").exists()
    assert not (tmp_path / "pseudonyms.json").exists()


@pytest.mark.parametrize("text", ["[]", "{", '{"hosts": {"a": 1}, "addresses": {}}', '{"hosts": {}}',
                                  '{"hosts": {}, "addresses": {}, "domains": []}',
                                  '{"hosts": {"a": "node-001", "b": "node-001"}, "addresses": {}}'])
def test_a_damaged_mapping_is_one_sentence_and_no_new_names(run, tmp_path, hosts, text):
    (tmp_path / "pseudonyms.json").write_text(text)
    with pytest.raises(AnsibleActionFail) as failed:
        report(run, tmp_path, hosts)
    assert "pseudonyms.json is not a mapping of pseudonyms; remove it to create new ones" in str(failed.value)
    assert (tmp_path / "pseudonyms.json").read_text() == text


def test_a_link_in_place_of_the_mapping_is_not_read(run, tmp_path, hosts):
    (tmp_path / "elsewhere").write_text("{}")
    (tmp_path / "pseudonyms.json").symlink_to("elsewhere")
    with pytest.raises(AnsibleActionFail, match="pseudonyms.json could not be read"):
        report(run, tmp_path, hosts)
