# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make kube-proxy`: the stand-in for the API server, the states, and the table, without a kube-proxy."""

import json
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
import yaml

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "kube_proxy"
sys.path[:0] = [str(FOLDER)]

import api_server
import cluster
import page
import run
import steps

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _catalogue

STATES = yaml.safe_load((FOLDER / "states.yml").read_text(encoding="utf-8"))
FAILED = subprocess.CompletedProcess([], 1, stdout="", stderr="")
LOOKS = [(state["state"], step["look"]) for state in STATES for step in state["does"] if "look" in step]


@pytest.fixture(name="api")
def _api(monkeypatch):
    monkeypatch.setattr(api_server, "PORT", 0)
    log = api_server.Log()
    for resource, thing in cluster.of_cluster(12):
        log.put(resource, thing)
    server = api_server.ApiServer(log)
    yield server
    server.gone()


def ask(api, path):
    return urllib.request.urlopen("http://127.0.0.1:%d%s" % (api.server_address[1], path), timeout=30)


def asked(api, path):
    with ask(api, path) as answer:
        return json.load(answer)


def test_lists_are_of_the_version_that_was_asked_for(api):
    services = asked(api, "/api/v1/services?labelSelector=%21service.kubernetes.io%2Fheadless")
    assert (services["kind"], services["apiVersion"], len(services["items"])) == ("ServiceList", "v1", 12)
    slices = asked(api, "/apis/discovery.k8s.io/v1beta1/endpointslices")
    assert slices["items"][0]["apiVersion"] == "discovery.k8s.io/v1beta1" and len(slices["items"]) == 24
    assert asked(api, "/api/v1/nodes/" + cluster.NODE)["metadata"]["name"] == cluster.NODE
    assert not asked(api, "/api/v1/nodes?fieldSelector=metadata.name%3Dnobody")["items"]


def test_a_watch_tells_what_happens_after_its_version(api):
    version = asked(api, "/api/v1/services")["metadata"]["resourceVersion"]
    with ask(api, "/api/v1/services?watch=true&resourceVersion=" + version) as stream:
        api.log.remove("services", api.log.objects["services"]["shop", "cart"])
        event = json.loads(stream.readline())
    assert event["type"] == "DELETED" and event["object"]["metadata"]["name"] == "cart"
    assert int(event["object"]["metadata"]["resourceVersion"]) == int(version) + 1


def test_a_watch_that_begins_with_all_objects_marks_their_end(api):
    query = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with ask(api, "/api/v1/services" + query) as stream:
        events = [json.loads(stream.readline()) for _event in range(13)]
    assert [event["type"] for event in events] == ["ADDED"] * 12 + ["BOOKMARK"]
    assert events[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_it_refuses_and_goes(api):
    api.refuses = 403
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(api, "/api/v1/services")
    assert refused.value.code == 403
    with pytest.raises(urllib.error.HTTPError):
        ask(api, "/api/v1/pods")
    api.gone()
    with pytest.raises(urllib.error.URLError):
        ask(api, "/api/v1/services")


def test_addresses_of_services_differ():
    assert len({cluster.cluster_ip(index, "IPv4") for index in range(5000)}) == 5000
    assert [len(cluster.rows(number)) for number in (0, 3, 30, 5000)] == [0, 3, 30, 5000]


def test_states_are_well_formed():
    assert len({state["state"] for state in STATES}) == len(STATES)
    for state in STATES:
        assert set(state) <= {"state", "places", "services", "does"} and set(state.get("places", ())) <= set(run.PLACES)
        assert {what for step in state["does"] for what in step} <= {*steps.ACTIONS, "look"}
    for name, look in LOOKS:
        assert set(look) <= {"when", "find", "silent", "silent_before", "also", "window", "known"}, name
        assert ("find" in look) != ("silent" in look), name
        named = [*look.get("also", ()), *(look.get("find", ()) if look.get("find") != "any" else ())]
        assert set(named) <= set(_catalogue.catalogue()), name
        assert set(look.get("known", {"verdict", "why"})) == {"verdict", "why"}, name


def row(look, fail=(), unknown=(), **found):
    found = found or {"fail": dict.fromkeys(fail, ""), "unknown": dict.fromkeys(unknown, ""), "healthz": "200"}
    return "1.36.2", "nft", STATES[0]["state"], dict({"when": "synced"}, **look), found


@pytest.mark.parametrize("look, fail, verdict", [
    ({"silent": True}, [], "right"), ({"silent": True}, ["CHAIN001"], "false"),
    ({"silent": True, "also": ["CHAIN019"]}, ["CHAIN019"], "right"),
    ({"find": ["CHAIN001", "CHAIN018"]}, ["CHAIN018"], "right"), ({"find": ["CHAIN001"]}, ["CHAIN002"], "missed"),
    ({"find": "any"}, ["CHAIN002"], "right"), ({"find": "any"}, [], "missed"),
    ({"find": "any", "also": ["CHAIN019"]}, ["CHAIN019"], "missed"),
    ({"find": "any", "silent_before": "1.37"}, [], "right"), ({"find": "any", "silent_before": "1.36"}, [], "missed"),
    ({"find": "any", "silent_before": "1.37"}, ["CHAIN001"], "false")])
def test_a_look_is_judged(look, fail, verdict):
    assert page.verdict(row(look, fail)) == verdict


def test_what_is_not_right_is_so_only_where_the_reason_is_known():
    missed = {"find": "any", "known": {"verdict": "missed", "why": "rests on another file"}}
    assert page.is_expected(row(missed)) and page.is_expected(row(missed, ["CHAIN001"]))
    assert not page.is_expected(row(missed, not_done="kube-proxy ended")) and not page.is_expected(row({"find": "any"}))
    written = page.known([row(missed)])
    assert written.count("rests on another file") == 1


def test_the_table_has_a_column_for_each_version():
    rows = [row({"silent": True}, unknown=["XLOCK003", "CHAIN003"]),
            ("1.30.3", *row({"silent": True}, ["CHAIN001"], ["XLOCK003"])[1:])]
    lines = page.table(rows, ["1.30.3", "1.36.2"]).splitlines()
    assert lines[0] == "Unknown in every state: XLOCK003."
    assert lines[-1] == "| %s | synced | none | CHAIN001; **false** [200] | none; unknown: CHAIN003 [200] |" % (
        STATES[0]["state"])


def test_a_state_that_is_not_reached_is_no_silent_one(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "NAMESPACES", ("env", "--", "false", "--"))
    found = run.outcomes(((1, 36, 2), str(tmp_path / "kube-proxy"), "nft", STATES[1]))
    assert [page.verdict(each) for each in found] == ["not reached"]


@pytest.mark.parametrize("version, gates", [
    ((1, 20, 2), ["IPv6DualStack"]), ((1, 28, 0), []), ((1, 30, 3), ["NFTablesProxyMode"]), ((1, 31, 0), [])])
def test_what_a_version_has_off_by_default_is_switched_on(version, gates, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "NAMESPACES", ("env", "--"))
    monkeypatch.setattr(run.sys, "executable", "echo")
    given = []
    monkeypatch.setattr(run.subprocess, "run", lambda command, **_options: given.append(command) or FAILED)
    run.outcomes((version, str(tmp_path / "kube-proxy"), "nft", STATES[1]))
    assert [argument for argument in given[0] if argument.startswith("--feature")] == [
        "--feature-gates=%s=true" % gate for gate in gates]


def test_old_versions_have_no_nftables_mode():
    found = run.jobs({(1, 20, 2): "a", (1, 30, 3): "b"}, STATES, "")
    assert {(version, place) for version, _binary, place, _state in found} == {
        ((1, 20, 2), "legacy"), ((1, 20, 2), "nft"), *(((1, 30, 3), place) for place in run.PLACES)}
    assert not [job for job in found if job[0] == (1, 20, 2) and "nftables" in job[3]["state"]]
    assert {(version, place) for version, _binary, place, _state in run.jobs({(1, 36, 2): "c"}, STATES, "30 S")} == {
        ((1, 36, 2), place) for place in run.PLACES}
