# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""preflight.yml --check against this machine, with the ansible-core of the Python that runs this test.

KUBENODE_NODE_PYTHON names the oldest Python here that this ansible-core still drives on a node.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("interpreter", [sys.executable, os.environ["KUBENODE_NODE_PYTHON"]],
                         ids=["same Python", "oldest Python"])
def test_this_machine_is_judged(tmp_path, interpreter):
    venv = pathlib.Path(sys.executable).parents[1]
    variables = {"node_report_folder": str(tmp_path), "node_gate_mode": "warn",
                 "ansible_python_interpreter": interpreter}
    done = subprocess.run([str(TOP / "tests/tools/preflight.sh"), "--extra-vars", json.dumps(variables)],
                          env=dict(os.environ, VENV=str(venv), ANSIBLE_DEPRECATION_WARNINGS="1"),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, check=False)
    assert done.returncode == 0, done.stdout
    # Only the gate may warn, about this machine.
    assert [line for line in done.stdout.split("\n")
            if "WARNING]" in line and "WARNING]: localhost: " not in line] == [], done.stdout

    node = json.loads((tmp_path / "nodes" / "localhost.json").read_text(encoding="utf-8"))
    statuses = [finding["status"] for finding in node["findings"]]
    assert "pass" in statuses or "fail" in statuses, "nothing could be judged: %s" % done.stdout


def test_an_inventory_that_is_not_there_is_no_success(tmp_path):
    venv = pathlib.Path(sys.executable).parents[1]
    done = subprocess.run([str(TOP / "tests/tools/preflight.sh")],
                          env=dict(os.environ, VENV=str(venv), INVENTORY=str(tmp_path / "hots.yml")),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, check=False)
    assert done.returncode != 0 and "hots.yml" in done.stdout
