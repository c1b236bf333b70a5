# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make incidents`: the rows for the virtual machine, the fix that is taken from a screen, and the page."""

import importlib.util
import pathlib

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes.catalogue import causes

TOP = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("incidents_on_vm", str(TOP / "tests" / "incidents" / "on_vm.py"))
on_vm = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(on_vm)

ROWS = on_vm.incidents()
AUDIT = "    then: ansible-playbook kubenode.netfilter.audit -b -l w01: CHAIN001 passes\n"
PREFLIGHT = "ansible-playbook kubenode.netfilter.preflight -b -l w01 -e preflight_fix=guarded"


def test_incidents_on_the_machine_are_many():
    assert len(ROWS) >= 15


@pytest.mark.parametrize("row", ROWS, ids=[row["incident"] for row in ROWS])
def test_a_row_reaches_its_state_and_its_cause_exists(row):
    assert not set(row["vm"]) - {"does", "mends", "undo", "verdict", "also"}
    assert row["vm"].get("does") or row["does"]
    cause, text = on_vm.expected(row)
    assert cause in {known.id for known in causes()} and text


@pytest.mark.parametrize("printed, fix, steps", [
    ("fix: on w01: iptables-nft -w 5 -P FORWARD ACCEPT", "on w01: iptables-nft -w 5 -P FORWARD ACCEPT",
     [(True, "iptables-nft -w 5 -P FORWARD ACCEPT")]),
    ("fix: " + PREFLIGHT.replace(" -e ", " \\\n    -e "), PREFLIGHT, [(False, PREFLIGHT)]),
    ("fix: %s &&\n    then on w01: iptables-nft -t mangle -X A" % PREFLIGHT,
     PREFLIGHT + " && then on w01: iptables-nft -t mangle -X A",
     [(False, PREFLIGHT), (True, "iptables-nft -t mangle -X A")]),
    ("fix: kubectl drain w01 --ignore-daemonsets, then\n      reboot it",
     "kubectl drain w01 --ignore-daemonsets, then reboot it", None),
])
def test_the_first_fix_of_a_screen_is_taken_as_it_is_printed(printed, fix, steps):
    screen = "w01 is not fit\n  FAIL   high   A cause\n    %s\n%s    fix: on w01: another\n%s" % (
        printed, AUDIT, AUDIT)
    assert on_vm.fix_of(screen) == fix
    assert on_vm.steps_of(fix, "w01") == steps


def test_a_screen_without_a_fix_is_refused():
    with pytest.raises(on_vm.Wrong, match="no fix"):
        on_vm.fix_of("w01 is fit for traffic\n")


def test_the_verdict_may_need_two_lines():
    assert on_vm.one_line("w01 is not fit for traffic: a long\ncause\n  Debian\n") == (
        "w01 is not fit for traffic: a long cause")


def test_the_page_has_each_incident_once():
    steps = {"mends": "reboot", "undo": "uncordon"}
    rows = [{"incident": name, "vm": steps} for name in ("mended", "wrong", "missing")]
    good = {"line": "w01 is | not fit", "fix": "reboot it", "date": "2026-11-01"}
    page = on_vm.page(rows, {"mended": good, "wrong": dict(good, problem="another cause")})
    assert "| mended | w01 is \\| not fit | `reboot it` | yes: `reboot` | yes, with `uncordon` |" in page
    assert "| wrong | w01 is \\| not fit | `reboot it` | **no**: another cause |  |" in page
    assert "| missing | not run |" in page and "dates of the runs: 2026-11-01\n" in page
