# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make release` in a scratch repository: what it refuses, what it makes, and that a failure leaves nothing behind. The
tool of the changelog is a script here; `make docs` runs the real one."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest
import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
SUMMARY = "changelogs/fragments/0.1.0.yml"
# What antsibull-changelog does with `release --version V --date D --reload-plugins`.
CHANGELOG_TOOL = """\
#!%s
import pathlib, sys
version, date = sys.argv[3], sys.argv[5]
pathlib.Path("changelogs/changelog.yaml").write_text("releases: {%%s: {release_date: '%%s'}}\\n" %% (version, date))
pathlib.Path("CHANGELOG.rst").write_text("v" + version + "\\n======\\n")
for fragment in pathlib.Path("changelogs/fragments").iterdir():
    fragment.unlink()
"""
FILES = {
    ".gitignore": ".build\n.venv\n__pycache__\n/venvs\n", "README.md": "Readme\n", "CHANGELOG.rst": "Nothing yet\n",
    "meta/runtime.yml": "requires_ansible: '>=2.16.0'\n", "changelogs/changelog.yaml": "ancestor: null\nreleases: {}\n",
    SUMMARY: "release_summary: The first one.\n", "changelogs/fragments/topic.yml": "bugfixes: [one]\n",
}


def git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=str(folder), stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout.strip()


def write(folder, name, text, mode=0o644):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    (folder / name).chmod(mode)


def run(folder, tool, *arguments, **variables):
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=str(folder / "venvs"), **variables)
    done = subprocess.run([sys.executable, "tests/tools/" + tool, *arguments], cwd=str(folder), env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, check=False)
    return done.returncode, done.stdout


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A clean repository of a small collection, whose tree carries the mark of `make test-all`."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv("GIT_%s_NAME" % who, "tester")
        monkeypatch.setenv("GIT_%s_EMAIL" % who, "tester@example.org")
    folder = tmp_path / "collection"
    shutil.copytree(str(TOP / "tests/tools"), str(folder / "tests/tools"),
                    ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        write(folder, name, text)
    for name in ("galaxy.yml", "LICENSE"):
        shutil.copyfile(str(TOP / name), str(folder / name))
    write(folder, "venvs/bin/antsibull-changelog", CHANGELOG_TOOL % sys.executable, 0o755)
    write(folder, "tests/tools/venv.sh", "#!/bin/sh\necho %s/venvs\n" % folder, 0o755)
    (folder / ".venv").symlink_to(pathlib.Path(sys.executable).parents[1])
    git(folder, "init", "--quiet", ".")
    commit(folder)
    return folder


def commit(folder, marked=True):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "Change")
    if marked:
        write(folder, ".build/test-all.json", json.dumps({"tree": git(folder, "rev-parse", "HEAD^{tree}"),
                                                          "left_out": ["robust"]}))


def test_a_release_is_a_commit_a_tag_and_a_tarball_with_its_checksum(repository):
    write(repository, "galaxy.yml", (TOP / "galaxy.yml").read_text().replace("version: 0.1.0", "version: 0.0.1"))
    commit(repository)
    status, output = run(repository, "release.py", VERSION="0.1.0")
    assert status == 0, output
    assert "make test-all left out: robust" in output and "git push origin HEAD v0.1.0" in output
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "log", "--format=%s", "-1", "v0.1.0") == "Release 0.1.0"
    assert git(repository, "tag", "--list", "--format=%(contents)", "v0.1.0") == "0.1.0\n\nThe first one."
    assert git(repository, "ls-files", "changelogs") == "changelogs/changelog.yaml"
    assert list(yaml.safe_load((repository / "changelogs/changelog.yaml").read_text())["releases"]) == ["0.1.0"]
    tarball = repository / ".build/release/kubenode-netfilter-0.1.0.tar.gz"
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    assert (tarball.parent / "SHA256SUMS").read_text() == "%s  %s\n" % (digest, tarball.name)
    with tarfile.open(str(tarball)) as packed:
        assert packed.extractfile("CHANGELOG.rst").read() == b"v0.1.0\n======\n"
        assert json.load(packed.extractfile("MANIFEST.json"))["collection_info"]["version"] == "0.1.0"


def state_of(repository):
    return [git(repository, *words) for words in (("rev-parse", "HEAD"), ("status", "--porcelain"), ("tag",))]


@pytest.mark.parametrize("version, damage, sentence", [
    ("1.0", None, "VERSION=1.0 is not a version: make release VERSION=0.1.0"),
    ("0.9.0", lambda folder: git(folder, "tag", "v0.10.0"), "VERSION=0.9.0 is not above 0.10.0, which is released"),
    ("0.1.0", lambda folder: write(folder, "new.txt", ""), "the tree is not clean: commit or remove new.txt"),
    ("0.1.0", lambda folder: (write(folder, "README.md", "Changed\n"), commit(folder, marked=False)),
     "make test-all did not pass on this tree: run it, and change nothing until the release"),
    ("0.2.0", None, "changelogs/fragments/0.2.0.yml has no release_summary: write one, it is the text of the release"),
])
def test_a_refusal_is_one_sentence_and_changes_nothing(repository, version, damage, sentence):
    if damage:
        damage(repository)
    before = state_of(repository)
    assert run(repository, "release.py", VERSION=version) == (1, sentence + "\n") and state_of(repository) == before


@pytest.mark.parametrize("name, text", [
    ("venvs/bin/antsibull-changelog", "#!/bin/sh\nexit 3\n"),  # before anything is built
    (".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n"),  # after it
])
def test_a_failure_leaves_the_files_of_the_last_commit(repository, name, text):
    write(repository, name, text, 0o755)
    before = state_of(repository)
    status, output = run(repository, "release.py", VERSION="0.1.0")
    assert status == 1 and "nothing is released, and the files are those of the last commit again" in output, output
    assert state_of(repository) == before == [before[0], "", ""] and (repository / SUMMARY).exists()


@pytest.mark.parametrize("part, whole, marked", [
    ("[ $1 != bench ] || echo 'slow disk left out: no second disk'", True, True), ("exit 0", False, False),
    ("exit 1", True, False), ("echo more >> README.md", True, False),
], ids=["test-all", "test", "a failure", "a change of the tree while the tests run"])
def test_make_test_all_that_passes_leaves_the_mark(repository, part, whole, marked):
    """Parts are scripts, as in test_make.py."""
    mark = repository / ".build/test-all.json"
    mark.unlink()
    parts = ("lint", "docs", "build", "bench", "sanity", "unit", "molecule")
    write(repository, "Makefile", "".join("%s:\n\t@./part.sh %s\n" % (name, name) for name in parts))
    write(repository, "part.sh", "#!/bin/sh\n%s\n" % part, 0o755)
    commit(repository, marked=False)
    run(repository, "test_all.py", *["--all"] * whole, KERNEL="6.12", SCENARIO="rules")
    assert mark.exists() == marked
    if marked:
        kept = json.loads(mark.read_text())
        assert kept["tree"] == git(repository, "rev-parse", "HEAD^{tree}") and kept["left_out"] == ["slow disk"]
