# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make docs` starts ansible-doc once for each type of page, and builds the site only where it is asked for."""

import subprocess

import docs
import docsite
import pytest
import test_all
from results import TOP


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What docs.py does, as a list, with no tool started."""
    steps = []
    monkeypatch.setattr("results.BUILD", tmp_path)
    monkeypatch.setattr(docs, "problem_with", lambda kind, names: steps.append((kind, len(names) > 1)))
    monkeypatch.setattr(docsite, "prepared", lambda _results: ("run", "copy"))
    monkeypatch.setattr(docsite, "changelog", lambda _results, _run, _copy, check: steps.append(("changelog", check)))
    monkeypatch.setattr(docsite, "site", lambda run, copy: steps.append((run, copy)))
    return steps


def test_one_process_for_each_type_and_no_site(asked):
    assert docs.main(True, False) == 0
    assert sorted(asked) == [("changelog", True), ("filter", True), ("module", True), ("role", True)]


def test_the_site_comes_last(asked):
    assert docs.main(True, True) == 0
    assert len(asked) == 5 and asked[-1] == ("run", "copy")


@pytest.mark.parametrize("words, options", [((), []), (("CHECK=1",), ["--check"]),
                                            (tuple(test_all.SETTINGS["docs"]), ["--check", "--site"])])
def test_make_asks_for_it(words, options):
    done = subprocess.run(["make", "-n", "--no-print-directory", "docs", *words], cwd=str(TOP), stdout=subprocess.PIPE,
                          universal_newlines=True, check=True)
    assert next(line for line in done.stdout.splitlines() if "docs.py" in line).split()[2:] == options
