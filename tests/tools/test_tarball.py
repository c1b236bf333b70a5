# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the tarball for users. `make build` builds it and sets KUBENODE_TARBALL to its path and KUBENODE_IMPORTER to
the folder with the programs of galaxy-importer."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import pytest
import yaml

TARBALL = pathlib.Path(os.environ["KUBENODE_TARBALL"])
BIN = pathlib.Path(sys.executable).parent
TOP = pathlib.Path(__file__).resolve().parents[2]
INVENTORY = pathlib.Path(__file__).resolve().with_name("localhost.yml")
MAX_BYTES = 2 * 1024 * 1024
AT_THE_TOP = {"MANIFEST.json", "FILES.json", "README.md", "LICENSE", "SECURITY.md", "CHANGELOG.rst", "changelogs",
              "requirements.txt", "meta", "docs", "playbooks", "plugins", "roles"}
FOR_USERS = (
    "MANIFEST.json", "FILES.json", "README.md", "LICENSE", "SECURITY.md", "CHANGELOG.rst", "changelogs/changelog.yaml",
    "requirements.txt", "meta/runtime.yml", "playbooks/preflight.yml", "playbooks/audit.yml",
    "plugins/modules/node_facts.py", "plugins/modules/kernel_modules.py", "plugins/action/assess.py",
    "docs/README.md", "docs/docsite/extra-docs.yml", "docs/docsite/rst/playbooks.rst",
)


@pytest.fixture(scope="module")
def members():
    with tarfile.open(str(TARBALL)) as tarball:
        return tarball.getmembers()


def test_small_enough():
    assert TARBALL.stat().st_size <= MAX_BYTES


def test_nothing_but_files_and_folders(members):
    assert [member.name for member in members if not (member.isfile() or member.isdir())] == []


def test_no_name_leads_out_of_it(members):
    assert [member.name for member in members if member.name.startswith("/") or ".." in member.name.split("/")] == []


def test_nothing_that_is_not_for_users(members):
    assert {member.name.split("/")[0] for member in members} <= AT_THE_TOP
    assert [member.name for member in members if "__pycache__" in member.name or member.name.endswith(".pyc")] == []


def test_all_that_users_need(members):
    names = {member.name for member in members}
    assert [name for name in FOR_USERS if name not in names] == []
    assert [name for name in names if name.startswith("roles/node_policy/files/checks/") and name.endswith(".yml")]


def run_clean(arguments, home, programs=BIN, **variables):
    """Run a command like a user who has Ansible but no other part of this checkout."""
    env = {"HOME": str(home), "PATH": "%s:/usr/sbin:/usr/bin:/sbin:/bin" % programs, "LC_ALL": "C.UTF-8",
           "NO_COLOR": "1", "ANSIBLE_COLLECTIONS_PATH": str(home / "collections"), **variables}
    return subprocess.run([str(argument) for argument in arguments], cwd=str(home), env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)


@pytest.fixture(scope="module")
def user_home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    done = run_clean(["ansible-galaxy", "collection", "install", TARBALL, "--offline", "-p", home / "collections"],
                     home)
    assert done.returncode == 0, done.stdout
    return home


def test_preflight_runs_after_an_install_without_network(user_home):
    done = run_clean(["ansible-playbook", "kubenode.netfilter.preflight", "-i", INVENTORY, "--check"], user_home)
    # Status 2 means that the gate refuses this machine as a node. This test only needs a judgement.
    assert done.returncode in (0, 2), done.stdout
    report = user_home / "kubenode-netfilter-report" / "nodes" / "localhost.json"
    statuses = {finding["status"] for finding in json.loads(report.read_text(encoding="utf-8"))["findings"]}
    assert statuses & {"pass", "fail"}, done.stdout


def test_the_requirements_of_the_readme_install_it(tmp_path):
    """From this checkout in place of the repository, so without network."""
    text = (TOP / "README.md").read_text(encoding="utf-8")
    row, = yaml.safe_load(re.search(r"^    collections:\n(?:     .*\n)+", text, re.MULTILINE).group())["collections"]
    assert row["name"] == "https://github.com/kubenode/kubenode.netfilter.git" and row["type"] == "git"
    (tmp_path / "requirements.yml").write_text(
        json.dumps({"collections": [dict(row, name=TOP.as_uri(), version="HEAD")]}), encoding="utf-8")
    # The checkout may belong to another user.
    done = run_clean(["ansible-galaxy", "collection", "install", "-r", "requirements.yml", "-p",
                      tmp_path / "collections"], tmp_path, GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory",
                     GIT_CONFIG_VALUE_0="*")
    assert done.returncode == 0, done.stdout
    installed = tmp_path / "collections" / "ansible_collections" / "kubenode" / "netfilter"
    assert [name for name in FOR_USERS if not (installed / name).is_file()] == []


def test_the_cases_of_a_users_check_are_judged_after_an_install(user_home):
    """Runs the installed example of the documentation."""
    installed = user_home / "collections" / "ansible_collections" / "kubenode" / "netfilter"
    done = run_clean(["ansible-playbook", "kubenode.netfilter.check_cases", "-i",
                      installed / "docs" / "user-checks" / "inventory.yml"], user_home)
    assert done.returncode == 0 and "2 checks, 8 cases: all as expected" in done.stdout, done.stdout


def test_galaxy_imports_it_without_a_warning(tmp_path):
    """Runs the import that Galaxy runs for an upload. Without ansible-test, which needs a container, and without
    ansible-lint, which is slow: other parts of the test run have both."""
    importer = pathlib.Path(os.environ["KUBENODE_IMPORTER"])
    done = run_clean([importer / "python", "-m", "galaxy_importer.main", TARBALL], tmp_path, programs=importer,
                     GALAXY_IMPORTER_RUN_ANSIBLE_TEST="no", GALAXY_IMPORTER_RUN_ANSIBLE_LINT="no",
                     GALAXY_IMPORTER_CHECK_REQUIRED_TAGS="yes")
    assert done.returncode == 0, done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith(("WARNING", "ERROR", "CRITICAL"))] == []
    assert (tmp_path / "importer_result.json").exists()
