# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make real-node`: the states, the images, the table and the refusals, without a node."""

import pathlib
import re
import subprocess
import sys
import tarfile

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "real_node"
sys.path.insert(0, str(FOLDER))

import actions
import binaries
import layers
import table

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue

STATES = table.read_states()
CHECKS = catalogue.catalogue()
GOOD = {"lost": {"P": 0, "A": 0}, "first": None, "cause": None, "green": True, "seconds": 9}
BROKEN = dict(GOOD, lost={"P": 20, "A": 0}, first="CHAIN005 a", cause="CHAIN005 a", printed=["iptables -D x"],
              mend_problem=None, lost_after={"P": 0, "A": 0}, left=[])


def asked(folder):
    done = subprocess.run([sys.executable, str(FOLDER / "run.py"), str(folder)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)
    return done.returncode, done.stderr


def test_a_missing_program_is_named(tmp_path):
    for name in sorted(binaries.NEEDED)[1:]:
        (tmp_path / name).touch(mode=0o755)
    status, message = asked(tmp_path)
    assert status == 1 and message.count("\n") == 1 and "lacks kube-apiserver: build or copy" in message


def test_without_a_folder_the_variable_is_named():
    status, message = asked("")
    assert status == 1 and "KUBERNETES=FOLDER" in message and "Traceback" not in message


@pytest.mark.parametrize("state", STATES, ids=lambda state: state["state"])
def test_steps_checks_and_expressions_of_a_state_exist(state):
    mends = state.get("mends", [])
    steps = [*state.get("does", []), *(step for mend in mends for step in mend.get("does", []))]
    steps += [mend for mend in mends if not {"check", "preflight", "repair"} & set(mend)]
    assert {name for step in steps for name in step} <= set(actions.ACTIONS)
    for mend in mends:
        if "check" in mend:
            assert mend["check"] in CHECKS and re.compile(mend["prints"])
    assert state.get("silent") or {CHECKS[check].severity for check in state["cause"]} & {"high"}


def test_names_of_states_are_unique():
    assert len({state["state"] for state in STATES}) == len(STATES)


def test_a_slim_image_lacks_a_file_of_the_shared_layer(tmp_path):
    base = tmp_path / "base.tar"
    with tarfile.open(str(base), "w") as archive:
        archive.add(__file__, "etc/protocols")
    layers.write(tmp_path / "images.tar", base, {"localhost/whole:1": ({}, []), "localhost/slim:1": (
        {"usr/bin/program": __file__}, ["etc/protocols"])})
    with tarfile.open(str(tmp_path / "images.tar")) as archive:
        assert len([name for name in archive.getnames() if name.endswith(".tar")]) == 2
    with tarfile.open(str(tmp_path / "layer1")) as layer:
        assert layer.getnames() == ["usr/bin/program", "etc/.wh.protocols"]


@pytest.mark.parametrize("state, row, right, seen", [
    ({"silent": True}, GOOD, True, "none"),
    ({"silent": True}, dict(GOOD, green=False), False, "none"),
    ({"mends": []}, BROKEN, True, "P 20"),
    ({"mends": []}, dict(BROKEN, cause=None), False, "**no**"),
    ({"mends": []}, dict(BROKEN, green=False, left=["CNI020 x"]), False, "**no**: CNI020 x"),
    ({"mends": []}, dict(BROKEN, lost_after={"P": None}), True, "**no**: lost P ?"),
    ({"mends": []}, dict(BROKEN, mend_problem="CHAIN005 lacks it"), True, "**no**: CHAIN005 lacks it"),
    ({}, {"not_done": "not within 9 s: the boot"}, False, "not reached: not within 9 s: the boot"),
])
def test_rows(state, row, right, seen):
    assert table.is_right(state, row) is right
    assert any(seen in cell for cell in table.cells(state, row))
