# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make fixes`: each check of severity high has one row, what a row runs is printed, and what it rests on exists."""

import importlib.util
import pathlib
import re
import sys

import checks_page
import pytest
import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDER = TOP / "tests" / "fixes"
sys.path.insert(0, str(FOLDER))

import fixes_page
import printed

_spec = importlib.util.spec_from_file_location("try_fixes", str(FOLDER / "run.py"))
run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(run)

ROWS = run.read_rows()
HIGH = {check["id"]: check for _subject, checks in checks_page.subjects() for check in checks
        if check["severity"] == "high"}
KEYS = {"check", "state", "node", "since", "before", "places", "services", "arguments", "sections", "policy", "window",
        "does", "seen_within", "fix", "within", "becomes", "also", "vm", "states", "real_node", "not_tried"}


def test_each_check_of_severity_high_has_one_row():
    assert sorted(row["check"] for row in ROWS) == sorted(HIGH)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["check"])
def test_a_row_is_tried_or_has_the_reason_why_not(row):
    assert not set(row) - KEYS
    assert bool(row.get("not_tried")) != bool({"node", "vm", "states", "real_node"} & set(row))
    assert "not_tried" in row or row["state"]
    assert "node" not in row or row["fix"]


@pytest.mark.parametrize("row", [row for row in ROWS if "fix" in row], ids=lambda row: row["check"])
def test_what_a_row_runs_is_in_the_text_of_its_check(row):
    check = HIGH[row["check"]]
    text = re.sub(r"\s+", " ", check["select"] + check["fix"]["manual"])
    text = text.replace("!q}", "}").replace("{contact}", "/run/flannel/subnet.env").replace("{subject}", "iptables")
    assert [part["run"] for part in row["fix"] if "run" in part and part["run"] not in text] == []


@pytest.mark.parametrize("row", [row for row in ROWS if "vm" in row], ids=lambda row: row["check"])
def test_a_scenario_exists_and_verifies_what_is_claimed(row):
    steps = yaml.safe_load((TOP / "molecule" / row["vm"]["scenario"] / "molecule.yml").read_text("utf-8"))
    folder = pathlib.PurePath(row["vm"]["verify"]).relative_to("molecule/" + row["vm"]["scenario"])
    assert (TOP / row["vm"]["verify"]).is_file()
    assert any(step.startswith("verify") and str(folder).startswith((step.split() + ["tests"])[1])
               for step in steps["scenario"]["test_sequence"])


@pytest.mark.parametrize("row", [row for row in ROWS if "states" in row], ids=lambda row: row["check"])
def test_real_kube_proxies_were_seen_to_fail_and_to_be_silent_afterwards(row):
    states = yaml.safe_load((TOP / row["states"]["file"]).read_text("utf-8"))
    state = next(state for state in states if state["state"] == row["states"]["state"])
    looks = [step["look"] for step in state["does"] if "look" in step]
    after = next(number for number, look in enumerate(looks)
                 if look["when"] == row["states"]["look"] and look.get("silent"))
    seen = [[line for line in (TOP / "docs" / "kube-proxy.md").read_text("utf-8").splitlines()
             if line.startswith("| %s | %s |" % (state["state"], looks[number]["when"]))]
            for number in (after - 1, after)]
    assert any(row["check"] in cell for line in seen[0] for cell in line.split("|")[4:])
    cells = [cell.strip() for line in seen[1] for cell in line.split("|")[4:]]
    assert any(cells) and all(cell.startswith("none") for cell in cells if cell)


@pytest.mark.parametrize("row", [row for row in ROWS if "real_node" in row], ids=lambda row: row["check"])
def test_a_state_of_a_real_node_tries_the_fix_of_that_check(row):
    states = yaml.safe_load((TOP / "tests" / "real_node" / "states.yml").read_text("utf-8"))
    state = next(state for state in states if state["state"] == row["real_node"])
    assert row["check"] in [mend.get("check") for mend in state["mends"]] + state["cause"]


def test_the_page_is_that_of_the_rows_and_their_outcomes():
    assert run.PAGE.read_text("utf-8") == fixes_page.text(ROWS, run.read_outcomes()), "run `make fixes ARGS=--page`"


def test_commands_are_taken_from_the_text():
    texts = ["Continue it: kill -CONT 7. Or look at ps -p PID.", "Continue it: kill -CONT 8."]
    assert printed.parts([{"match": r"(kill -CONT \d+)"}], texts) == [
        ("printed", text, [{"paste": text}]) for text in ("kill -CONT 7", "kill -CONT 8")]
    assert printed.parts([{"run": "ps -p PID", "fill": {"PID": "pgrep x"}, "into": "/f"}], texts) == [
        ("printed", "ps -p PID", [{"paste": "ps -p $(pgrep x) > /f"}])]
    assert printed.parts([{"by_hand": "restarted", "does": [{"wait": 1}]}], texts) == [
        ("by hand", "restarted", [{"wait": 1}])]


@pytest.mark.parametrize("part", [{"run": "reboot"}, {"match": "(reboot)"}, {"run": "kill 1", "fill": {"PID": "true"}}])
def test_what_is_not_printed_is_not_run(part):
    with pytest.raises(printed.NotPrinted):
        printed.parts([part], ["kill 1"])


@pytest.mark.parametrize("outcomes, verdict", [
    ({"nft": {"passes": True, "left": []}, "legacy": {"passes": True, "left": ["A"]}}, "mended"),
    ({"nft": {"passes": True, "left": []}, "legacy": {"passes": True, "left": ["B"]}}, "not mended"),
    ({"nft": {"passes": True, "left": []}, "legacy": {"passes": False, "left": []}}, "not mended"),
    ({"nft": {"passes": True, "left": []}, "legacy": {"not_tried": "x"}}, "mended"),
    ({"nft": {"not_tried": "x"}}, "not tried"), ({}, "not tried")])
def test_a_fix_mends_where_it_mends_in_each_place(outcomes, verdict):
    assert fixes_page.verdict({"node": "rules", "places": ["nft", "legacy"], "also": ["A"]}, outcomes) == verdict
