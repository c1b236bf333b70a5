# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Linters, over a real copy of the collection: ansible-lint finds the collection's own modules only in a collection
path."""

import os
import sys

from results import VENV, Results, clean_env, copy_collection

# Errors, unused names and likely bugs, no matters of taste. Modules have their documentation before their imports
# (E402). tests/unit/test_house.py reports lines that are too long (E501), because it allows texts of other programs.
RUFF_RULES = "E,F,W,B,C4,UP004,PLE"
RUFF_IGNORE = "E402,E501"
# Blank lines. The pep8 of ansible-test checks them too, but ten minutes later. In ruff these rules are a preview.
RUFF_BLANK_LINES = "E301,E302,E303,E304,E305,E306"
NODE_CODE = ("plugins/module_utils", "plugins/modules")
# Scripts in here are evidence: they are written as people write them, and nothing runs them.
EVIDENCE = os.path.join("tests", "strangers")


def shell_scripts(copy):
    """Return every file with a shell in its shebang line, whatever its suffix is, but for evidence."""
    scripts = []
    evidence = os.path.join(str(copy), EVIDENCE)
    for folder, folders, names in os.walk(str(copy)):
        folders[:] = [name for name in folders if os.path.join(folder, name) != evidence]
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                first = file.readline(80)
            if first.startswith(b"#!") and first.rstrip().endswith((b"bash", b"/sh", b" sh")):
                scripts.append(path)
    return sorted(scripts)


def run_linters(results, with_ansible_lint=True):
    """Run the linters; ansible-lint takes longer than all others together."""
    path, copy = copy_collection(results.part)
    tools = VENV / "bin"
    env = clean_env(PATH="%s:%s" % (tools, os.environ["PATH"]), ANSIBLE_COLLECTIONS_PATH=str(path))
    results.run("yamllint", [tools / "yamllint", "--strict", "."], cwd=copy, env=env)
    if with_ansible_lint:
        results.run("ansible-lint, production profile", [tools / "ansible-lint", "--profile", "production", "--strict"],
                    cwd=copy, env=env)
    results.run("vermin, Python 3.6", [tools / "vermin", "-t=3.6-", "--violations", "--no-tips"] + list(NODE_CODE),
                cwd=copy)
    ruff = [tools / "ruff", "check", "--isolated", "--no-cache", "--line-length", "120", "--target-version", "py37"]
    results.run("ruff", ruff + ["--select", RUFF_RULES, "--ignore", RUFF_IGNORE, "."], cwd=copy)
    results.run("ruff, blank lines", ruff + ["--preview", "--select", RUFF_BLANK_LINES, "."], cwd=copy)
    results.run("shellcheck", [tools / "shellcheck"] + shell_scripts(copy), cwd=copy)


def main():
    results = Results("lint")
    run_linters(results)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
