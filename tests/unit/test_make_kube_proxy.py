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
from case_rows import cases

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "kube_proxy"
sys.path.insert(0, str(FOLDER))

import api_server
import cluster
import live_node
import machine
import page
import run
import steps
from healthy import SECTIONS

from ansible_collections.kubenode.netfilter.plugins.module_utils._look import node
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue

STATES = run.read_states()
IPTABLES = {"legacy", "nft"}
FAILED = subprocess.CompletedProcess([], 1, stdout="", stderr="")
LOOKS = [(state["state"], step["look"]) for state in STATES for step in state["does"] if "look" in step]


def test_the_script_starts_by_itself():
    done = subprocess.run([sys.executable, str(FOLDER / "run.py"), "--help"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "--no-vm" in done.stdout


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
    places = [(state["state"], place) for state in STATES for place in state.get("places", run.PLACES)]
    assert len(set(places)) == len(places)
    for state in STATES:
        assert set(state) <= {"state", "places", "services", "does"}
        assert set(state.get("places", ())) <= {*run.PLACES, run.ON_MACHINE}
        assert {what for step in state["does"] for what in step} <= {*steps.ACTIONS, "look"}
    for name, look in LOOKS:
        assert set(look) <= {"when", "find", "silent", "silent_before", "also", "window", "known", "about",
                             "policy", "sections"}, name
        assert set(look.get("sections", ())) <= set(node.COLLECTORS), name
        assert ("find" in look) != ("silent" in look), name
        named = [*look.get("also", ()), *(look.get("find", ()) if look.get("find") != "any" else ())]
        assert set(named) <= set(catalogue.catalogue()), name
        assert set(look.get("known", {"verdict", "why"})) == {"verdict", "why"}, name


def row(look, fail=(), unknown=(), **found):
    found = found or {"fail": dict.fromkeys(fail, ""), "unknown": dict.fromkeys(unknown, ""), "healthz": "200"}
    return "1.36.2", "nft", STATES[0]["state"], dict({"when": "synced"}, **look), found


@cases
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
    given = []
    monkeypatch.setattr(run.subprocess, "run", lambda _command, input, **_options: given.append(input) or FAILED)
    run.outcomes((version, str(tmp_path / "kube-proxy"), "nft", STATES[1]))
    job = json.loads(given[0])
    assert job["arguments"] == ["--feature-gates=%s=true" % gate for gate in gates]
    assert (job["binary"], job["state"]) == (str(tmp_path / "kube-proxy"), STATES[1])


def test_a_look_is_judged_by_the_checks_about_it(monkeypatch):
    lines = [{"sections": {"node_ipvs": SECTIONS["node_ipvs"]}, "healthz": "200"}, {"not_done": "kube-proxy ended"}]
    done = subprocess.CompletedProcess([], 0, stdout="".join(json.dumps(line) + "\n" for line in lines), stderr="")
    monkeypatch.setattr(run.subprocess, "run", lambda _command, **_options: done)
    first, second = run.outcomes(((1, 36, 2), "kube-proxy", "nft", STATES[4]))
    assert (first[4]["fail"], first[4]["healthz"], second[4]) == ({}, "200", {"not_done": "kube-proxy ended"})


def test_each_state_of_ipvs_mode_begins_on_a_machine_as_it_was_after_its_boot(monkeypatch):
    done, started = [], []

    class Machine:
        def __init__(self, number):
            self.number = number

        def __getattr__(self, name):
            return lambda: done.append((self.number, name)) or ["6.12"]

    monkeypatch.setattr(run.machine, "Machine", Machine)
    monkeypatch.setattr(run.machine, "start", lambda nodes, binaries: started.append((len(nodes), binaries)))
    monkeypatch.setattr(run, "outcomes", lambda job, node: done.append((node.number, job[3]["state"])) or [])
    todo = [job for job in run.jobs({(1, 36, 2): "c"}, STATES, "") if job[2] == run.ON_MACHINE]
    assert run.on_machines(todo, {(1, 36, 2): "c"}) == ([], ["6.12"]) and started == [(3, {(1, 36, 2): "c"})]
    for number in range(3):
        mine = [name for machine_number, name in done if machine_number == number]
        assert mine[-1] == "stop" and set(mine[:-1:2]) <= {"restore", "versions"}, mine
    assert {name for _number, name in done} >= {job[3]["state"] for job in todo}


def test_the_machines_are_nodes_of_the_testbed_with_folders_of_their_own():
    folders = [machine.Machine(number).dir for number in range(3)] + [machine.vm.Node(machine.NODE).dir]
    assert len(set(folders)) == 4


def test_a_machine_gets_the_kube_proxies_and_what_looks_at_them(tmp_path, monkeypatch):
    seen, binary = [], tmp_path / "kube-proxy"
    monkeypatch.setattr(machine, "FOLDER", tmp_path / "machines")
    monkeypatch.setattr(machine.images, "run", lambda command: seen.extend(
        str(path.relative_to(command[-3])) for path in pathlib.Path(command[-3]).rglob("*")))
    binary.write_text("")
    machine.pack({(1, 36, 2): str(binary)})
    assert {"kube-proxy-1.36.2", "tests/kube_proxy/live.py", "tests/kube_proxy/look.py",
            ".build/ansible_collections/kubenode/netfilter/plugins/module_utils/_look/node.py"} <= set(seen)
    assert not list((tmp_path / "machines").iterdir()) and machine.Machine.path_of((1, 36, 2)) == (
        "/mnt/kube-proxy-1.36.2")


TIME = 'kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="%s"} %s'


def test_a_sync_of_ipvs_mode_is_done_when_its_time_is_there(monkeypatch):
    node_of_ipvs = live_node.Node("kube-proxy", "ipvs", 12, ())
    times = [TIME % ("IPv4", "1.79e+09"), TIME % ("IPv6", "0")]
    monkeypatch.setattr(node_of_ipvs, "rules", lambda _family: "--match-set KUBE-CLUSTER-IP dst,dst")
    monkeypatch.setattr(node_of_ipvs, "sync_times", lambda: times)
    assert not node_of_ipvs.synced()
    times[1] = TIME % ("IPv6", "1.79e+09")
    assert node_of_ipvs.synced()
    monkeypatch.setattr(node_of_ipvs, "rules", lambda _family: "")
    assert not node_of_ipvs.synced()


def test_the_next_sync_is_one_of_ipv4(monkeypatch):
    readings = [[TIME % ("IPv4", "1"), TIME % ("IPv6", "1")], [TIME % ("IPv4", "1"), TIME % ("IPv6", "2")],
                [TIME % ("IPv4", "2"), TIME % ("IPv6", "2")]]
    waiting = live_node.Node("kube-proxy", "ipvs", 12, ())
    held = []
    monkeypatch.setattr(waiting, "sync_times", lambda: readings.pop(0))
    monkeypatch.setattr(waiting, "wait_until", lambda holds, _what: held.extend([holds(), holds()]))
    steps.just_synced(waiting, {})
    assert held == [False, True]


def test_old_versions_have_no_nftables_mode():
    found = run.jobs({(1, 20, 2): "a", (1, 30, 3): "b"}, STATES, "")
    assert {(version, place) for version, _binary, place, _state in found} == {
        *(((1, 20, 2), place) for place in IPTABLES), *(((1, 30, 3), place) for place in run.PLACES),
        *((version, run.ON_MACHINE) for version in ((1, 20, 2), (1, 30, 3)))}
    assert not [job for job in found if job[0] == (1, 20, 2) and "nftables" in job[3]["state"]]
    assert {(version, place) for version, _binary, place, _state in run.jobs({(1, 36, 2): "c"}, STATES, "30 S")} == {
        ((1, 36, 2), place) for place in run.PLACES}
