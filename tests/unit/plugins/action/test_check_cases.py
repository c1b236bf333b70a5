# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action check_cases and its playbook as a user runs them, with the example of docs/user-checks."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[4]
EXAMPLE = TOP / "docs" / "user-checks"


@pytest.fixture
def inventory(tmp_path):
    """A copy of the example."""
    shutil.copytree(str(EXAMPLE), str(tmp_path / "inventory"))
    return tmp_path / "inventory"


def run(folder, *arguments, **environment):
    """The finished process of the playbook, in another folder than that of the inventory."""
    return subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", "kubenode.netfilter.check_cases", *arguments],
        cwd=str(folder.parent), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        universal_newlines=True, check=False,
        env=dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(TOP / ".build"), ANSIBLE_NOCOLOR="1", COLUMNS="200",
                 HOME=str(folder.parent), **environment))


def test_the_example_comes_out_as_its_page_shows(inventory):
    done = run(inventory, "-i", "inventory/inventory.yml")
    assert done.returncode == 0, done.stdout
    assert "SITE-CTRACK001  high  checks/site.yml" in done.stdout
    assert "2 checks, 8 cases: all as expected" in done.stdout
    page = (TOP / "docs" / "user-checks.md").read_text(encoding="utf-8")
    shown = re.search(r"^    SITE-MTU001 .*\n(?:      .*\n)+", page, re.M).group(0)
    assert all(line.strip() in done.stdout for line in shown.splitlines()), done.stdout


def test_a_wrong_case_fails_the_run_and_contacts_no_host(inventory):
    path = inventory / "checks" / "tests" / "SITE-MTU001.yml"
    path.write_text(path.read_text(encoding="utf-8").replace("uplink_mtu: 9000}", "uplink_mtu: 1400}"),
                    encoding="utf-8")
    done = run(inventory, "-i", "inventory/inventory.yml")
    assert done.returncode == 2 and "worker-1" not in done.stdout, done.stdout
    assert "  WRONG    jumbo frames: The uplink has MTU 1400, the site uses 9000" in done.stdout, done.stdout
    assert ("checks/tests/SITE-MTU001.yml: case 1 (jumbo frames): it is fail, and the case expects pass"
            in " ".join(done.stdout.split()))


def test_files_of_every_group_are_judged_once(inventory):
    data = {"all": {"children": {"a": {"hosts": {"h1": None}, "vars": {"node_policy_check_files": "checks"}},
                                 "b": {"hosts": {"h2": None, "h3": None},
                                       "vars": {"node_policy_check_files": ["{{ 'checks' }}/site.yml"]}},
                                 "c": {"hosts": {"h4": None}}}}}
    (inventory / "inventory.yml").write_text(json.dumps(data), encoding="utf-8")
    done = run(inventory, "-i", "inventory")
    assert done.returncode == 0 and "2 checks, 8 cases" in done.stdout, done.stdout


@pytest.mark.parametrize("arguments, sentence", [
    (["-e", "node_policy_check_files=cheks"], "cheks is not a file or a folder; did you mean checks?"),
    (["-e", "node_policy_check_files="], "There are no checks of your own: set node_policy_check_files")])
def test_what_is_no_file_is_one_sentence(inventory, arguments, sentence):
    done = run(inventory, "-i", "inventory/inventory.yml", *arguments)
    assert done.returncode == 2 and sentence in " ".join(done.stdout.split()), done.stdout


def test_without_an_inventory_a_path_is_relative_to_the_working_folder(inventory):
    done = run(inventory, "-e", "node_policy_check_files=inventory/checks")
    assert done.returncode == 0 and "inventory/checks/site.yml" in done.stdout, done.stdout
    done = run(inventory, "-e", "node_policy_check_files=inventory/checks, inventory/checks/site.yml")
    assert done.returncode == 0 and "2 checks" in done.stdout, done.stdout


def test_a_text_in_braces_is_no_template(inventory):
    path = inventory / "checks" / "site.yml"
    path.write_text(path.read_text(encoding="utf-8").replace("The uplink has MTU", "{{ lookup('pipe', 'touch ran') }}"),
                    encoding="utf-8")
    done = run(inventory, "-i", "inventory/inventory.yml")
    assert "{{ lookup('pipe', 'touch ran') }} 1500" in done.stdout, done.stdout
    assert not list(inventory.parent.rglob("ran"))
