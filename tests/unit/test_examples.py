# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples for pipelines: their variables exist and are valid, and the scripts of GitLab and GitHub run."""

import json
import os
import pathlib
import re
import subprocess
import sys

import fleets
import pytest
import yaml

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
FILES = sorted(path.name for path in EXAMPLES.iterdir() if path.name != "README.md")


def text_of(name):
    return (EXAMPLES / name).read_text(encoding="utf-8")


def variables_of(name):
    """All variables that an example sets."""
    found = {}
    for match in re.findall(r"-e '(\{.*?\})'", text_of(name), re.S):
        found.update(json.loads(match))
    if name == "awx.md":
        play = yaml.safe_load(re.search(r"^```yaml\n(.*?)^```", text_of(name), re.S | re.M).group(1))[0]
        found.update(play["tasks"][0]["awx.awx.job_template"]["extra_vars"])
    return found


def script_of(name):
    if name == "gitlab-ci.yml":
        job = yaml.safe_load(text_of(name))["preflight"]
        return job["before_script"] + job["script"]
    steps = yaml.safe_load(text_of(name))["jobs"]["preflight"]["steps"]
    return [step["run"] for step in steps if "run" in step and "if" not in step]


@pytest.mark.parametrize("name", FILES)
def test_an_example_sets_variables_that_exist_to_values_that_are_taken(name):
    variables = variables_of(name)
    assert variables and set(variables) <= set(policies.known_names())
    policies.check_role_variables(variables)
    policies.policy_of({key: value for key, value in variables.items() if key.startswith(policies.PREFIX)})
    assert not name.endswith(".yml") or yaml.safe_load(text_of(name))
    assert "[%s](%s)" % (name, name) in text_of("README.md"), "the list of examples is whole"
    # By name the collection can be installed only after a release was published.
    source, = re.findall(r"(?:collection install |- name: (?=\S+\n +type: git\n))(\S+)", text_of(name))
    assert source in (EXAMPLES.parent / "releasing.md").read_text(encoding="utf-8") and "github.com" in source


@pytest.mark.parametrize("example, files", [("gitlab-ci.yml", ["junit.xml", "report.html"]),
                                            ("github-actions.yml", ["summary.md", "results.sarif", "report.html"])])
def test_a_script_runs_and_fails_with_a_node_that_does_not_pass(tmp_path, example, files):
    fleets.Fleet(tmp_path, "good1", "bad1")
    (tmp_path / "inventory").mkdir()
    # JSON is YAML.
    (tmp_path / "hosts.json").rename(tmp_path / "inventory" / "hosts.yml")
    programs = tmp_path / "bin"
    programs.mkdir()
    # Where a pipeline installs the collection, the test has it already.
    for name in ("pip", "ansible-galaxy"):
        (programs / name).write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    path = os.pathsep.join([str(programs), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(script_of(example))], cwd=str(tmp_path), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False,
        env=dict(os.environ, PATH=path, ANSIBLE_COLLECTIONS_PATH=str(fleets.TOP / ".build"), ANSIBLE_NOCOLOR="1"))
    assert done.returncode == 2 and '"checks": ["HOOK001"]' in done.stdout, done.stdout
    assert all((tmp_path / "kubenode-netfilter-report" / name).is_file() for name in files)
