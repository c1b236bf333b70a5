# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of states that `make kube-proxy`, `make fixes`, `make incidents` and `make real-node` run: what a row
rests on exists, the pages are those of the rows, and each tool starts."""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.request

import checks_page
import pytest
import yaml
from case_rows import cases

TOP = pathlib.Path(__file__).resolve().parents[2]
TESTS = TOP / "tests"
sys.path[:0] = [str(TESTS / name) for name in ("kube_proxy", "fixes", "real_node")]

import actions
import api_server
import binaries
import cluster
import fixes_page
import page
import printed
import run
import steps
import table

from ansible_collections.kubenode.netfilter.plugins.module_utils._look import node
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes.judge import causes
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue


def program(path):
    """The module of a program of a folder that has the name of another one."""
    spec = importlib.util.spec_from_file_location("of_" + path.parent.name, str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fixes, on_vm = program(TESTS / "fixes/run.py"), program(TESTS / "incidents/on_vm.py")
STATES, FIXES, INCIDENTS, REAL = run.read_states(), fixes.read_rows(), on_vm.incidents(), table.read_states()
CHECKS = catalogue.catalogue()
HIGH = {check["id"]: check for _subject, checks in checks_page.subjects() for check in checks
        if check["severity"] == "high"}
KEYS = {"check", "state", "node", "since", "before", "places", "services", "arguments", "sections", "policy", "window",
        "does", "seen_within", "fix", "within", "becomes", "also", "vm", "states", "real_node", "not_tried"}
LOOK_KEYS = {"when", "find", "silent", "silent_before", "also", "window", "known", "about", "policy", "sections"}


def started(path, *arguments):
    """(exit status, standard output, standard error) of a tool."""
    done = subprocess.run([sys.executable, str(TESTS / path), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("path", ["kube_proxy/run.py", "fixes/run.py", "incidents/on_vm.py", "real_node/run.py"])
def test_a_tool_starts(path):
    status, output, errors = started(path, "--help")
    assert (status, errors) == (0, "") and "--only" in output


def test_a_real_node_without_a_program_or_a_folder_is_one_sentence(tmp_path):
    for name in sorted(binaries.NEEDED)[1:]:
        (tmp_path / name).touch(mode=0o755)
    for folder, words in ((str(tmp_path), "lacks kube-apiserver: build or copy"), ("", "KUBERNETES=FOLDER")):
        status, _output, errors = started("real_node/run.py", folder)
        assert status == 1 and errors.count("\n") == 1 and words in errors


def test_the_stand_in_for_the_api_server_tells_all_objects_and_goes(monkeypatch):
    monkeypatch.setattr(api_server, "PORT", 0)
    log = api_server.Log()
    for resource, thing in cluster.of_cluster(12):
        log.put(resource, thing)
    api = api_server.ApiServer(log)
    address = "http://127.0.0.1:%d/api/v1/services?watch=true&sendInitialEvents=true" % api.server_address[1]
    with urllib.request.urlopen(address, timeout=30) as stream:
        assert [json.loads(stream.readline())["type"] for _event in range(13)] == ["ADDED"] * 12 + ["BOOKMARK"]
        log.remove("services", log.objects["services"]["shop", "cart"])
        assert json.loads(stream.readline())["type"] == "DELETED"
    api.gone()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=30)


def test_states_of_kube_proxy_are_well_formed():
    places = [(state["state"], place) for state in STATES for place in state.get("places", run.PLACES)]
    assert len(set(places)) == len(places)
    for state in STATES:
        assert set(state) <= {"state", "places", "services", "does"}
        assert set(state.get("places", ())) <= {*run.PLACES, run.ON_MACHINE}
        assert {what for step in state["does"] for what in step} <= {*steps.ACTIONS, "look"}
    for name, look in [(state["state"], step["look"]) for state in STATES for step in state["does"] if "look" in step]:
        assert set(look) <= LOOK_KEYS and set(look.get("sections", ())) <= set(node.COLLECTORS), name
        assert ("find" in look) != ("silent" in look), name
        named = [*look.get("also", ()), *(look.get("find", ()) if look.get("find") != "any" else ())]
        assert set(named) <= set(CHECKS) and set(look.get("known", {"verdict", "why"})) == {"verdict", "why"}, name


@cases
def test_a_look_is_judged(look, fail, verdict):
    found = {"fail": dict.fromkeys(fail, ""), "unknown": {}, "healthz": "200"}
    row = ("1.36.2", "nft", STATES[0]["state"], dict({"when": "synced"}, **look), found)
    assert page.verdict(row) == verdict and "| synced |" in page.table([row], ["1.36.2"])


def test_each_check_of_severity_high_has_one_fix():
    assert sorted(row["check"] for row in FIXES) == sorted(HIGH)


@pytest.mark.parametrize("row", FIXES, ids=lambda row: row["check"])
def test_a_fix_is_tried_or_has_the_reason_why_not(row):
    assert not set(row) - KEYS and ("not_tried" in row or row["state"])
    assert bool(row.get("not_tried")) != bool({"node", "vm", "states", "real_node"} & set(row))
    assert "node" not in row or row["fix"]
    text = re.sub(r"\s+", " ", HIGH[row["check"]]["select"] + HIGH[row["check"]]["fix"]["manual"])
    text = text.replace("!q}", "}").replace("{contact}", "/run/flannel/subnet.env").replace("{subject}", "iptables")
    assert [part["run"] for part in row.get("fix", ()) if "run" in part and part["run"] not in text] == []
    if "vm" in row:
        scenario = TOP / "molecule" / row["vm"]["scenario"]
        sequence = yaml.safe_load((scenario / "molecule.yml").read_text("utf-8"))["scenario"]["test_sequence"]
        folder = pathlib.PurePath(row["vm"]["verify"]).relative_to("molecule/" + row["vm"]["scenario"])
        assert (TOP / row["vm"]["verify"]).is_file()
        assert any(step.startswith("verify") and str(folder).startswith((step.split() + ["tests"])[1])
                   for step in sequence)
    if "real_node" in row:
        state = next(state for state in REAL if state["state"] == row["real_node"])
        assert row["check"] in [mend.get("check") for mend in state["mends"]] + state["cause"]


@pytest.mark.parametrize("row", [row for row in FIXES if "states" in row], ids=lambda row: row["check"])
def test_real_kube_proxies_were_seen_to_fail_and_to_be_silent_afterwards(row):
    states = yaml.safe_load((TOP / row["states"]["file"]).read_text("utf-8"))
    state = next(state for state in states if state["state"] == row["states"]["state"])
    looks = [step["look"] for step in state["does"] if "look" in step]
    after = next(number for number, look in enumerate(looks)
                 if look["when"] == row["states"]["look"] and look.get("silent"))
    lines = (TOP / "docs/kube-proxy.md").read_text("utf-8").splitlines()
    begins = ["| %s | %s |" % (state["state"], look["when"]) for look in looks[after - 1:after + 1]]
    failing, silent = ([cell.strip() for line in lines if line.startswith(begin) for cell in line.split("|")[4:]]
                       for begin in begins)
    assert any(row["check"] in cell for cell in failing)
    assert any(silent) and all(cell.startswith("none") for cell in silent if cell)


def test_the_page_of_the_fixes_is_that_of_the_rows_and_their_outcomes():
    written = fixes_page.text(FIXES, fixes.read_outcomes())
    assert fixes.PAGE.read_text("utf-8") == written, "run `make fixes ARGS=--page`"


def test_only_a_command_that_is_printed_is_run():
    parts = [{"run": "ps -p PID", "fill": {"PID": "pgrep x"}, "into": "/f"}, {"match": r"(kill -CONT \d+)"}]
    assert printed.parts(parts, ["Look at ps -p PID, or kill -CONT 7."]) == [
        ("printed", "ps -p PID", [{"paste": "ps -p $(pgrep x) > /f"}]),
        ("printed", "kill -CONT 7", [{"paste": "kill -CONT 7"}])]
    for part in ({"run": "reboot"}, {"match": "(reboot)"}, {"run": "kill 1", "fill": {"PID": "true"}}):
        with pytest.raises(printed.NotPrinted):
            printed.parts([part], ["kill 1"])


@pytest.mark.parametrize("row", INCIDENTS, ids=[row["incident"] for row in INCIDENTS])
def test_an_incident_of_the_machine_reaches_its_state_and_its_cause_exists(row):
    assert len(INCIDENTS) >= 15 and not set(row["vm"]) - {"does", "mends", "undo", "verdict", "also"}
    assert row["vm"].get("does") or row["does"]
    cause, text = on_vm.expected(row)
    assert cause in {known.id for known in causes()} and text


def test_the_first_fix_of_a_screen_is_taken_as_it_is_printed():
    play = "ansible-playbook kubenode.netfilter.preflight -b -l w01 -e preflight_fix=guarded"
    then = "    then: ansible-playbook kubenode.netfilter.audit -b -l w01: CHAIN001 passes\n"
    screen = "w01 is not fit\n  FAIL   high   A cause\n    fix: %s &&\n    then on w01: iptables -X A\n%s%s%s" % (
        play.replace(" -e ", " \\\n    -e "), then, "    fix: on w01: another\n", then)
    assert on_vm.fix_of(screen) == play + " && then on w01: iptables -X A"
    assert on_vm.steps_of(on_vm.fix_of(screen), "w01") == [(False, play), (True, "iptables -X A")]
    with pytest.raises(on_vm.Wrong, match="no fix"):
        on_vm.fix_of("w01 is fit for traffic\n")


@pytest.mark.parametrize("state", REAL, ids=lambda state: state["state"])
def test_steps_checks_and_expressions_of_a_state_of_a_real_node_exist(state):
    mends = state.get("mends", [])
    done = [*state.get("does", []), *(step for mend in mends for step in mend.get("does", []))]
    done += [mend for mend in mends if not {"check", "preflight", "repair"} & set(mend)]
    assert {name for step in done for name in step} <= set(actions.ACTIONS)
    assert all(mend["check"] in CHECKS and re.compile(mend["prints"]) for mend in mends if "check" in mend)
    assert state.get("silent") or {CHECKS[check].severity for check in state["cause"]} & {"high"}
    assert [each["state"] for each in REAL].count(state["state"]) == 1
