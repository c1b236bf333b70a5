# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make release VERSION=0.1.0`: writes version and changelog, builds the tarball and its checksum, commits and tags.

It publishes nothing. Where a step fails, the files are again those of the last commit.
"""

import hashlib
import os
import re
import shutil
import sys
import time

import docsite
import mark
import yaml
from results import BUILD, TOP, VENV, Results, copy_collection

PLACE = BUILD / "release"
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


def numbers(version):
    return tuple(map(int, version.split(".")))


def refusal(version):
    """Return one sentence that names why this version cannot be released now, or None."""
    if not VERSION.fullmatch(version):
        return "VERSION=%s is not a version: make release VERSION=0.1.0" % version
    released = [tag[1:] for tag in (mark.git("tag", "--list", "v*") or "").split() if VERSION.fullmatch(tag[1:])]
    if released and numbers(version) <= max(map(numbers, released)):
        return "VERSION=%s is not above %s, which is released" % (version, max(released, key=numbers))
    files = mark.changed()
    if files:
        return "the tree is not clean: commit or remove %s%s" % (
            ", ".join(files[:3]), " and %d more" % (len(files) - 3) if len(files) > 3 else "")
    tree = mark.clean_tree()
    if tree is None:
        return "this folder is no checkout with a commit"
    if mark.read().get("tree") != tree:
        return "make test-all did not pass on this tree: run it, and change nothing until the release"
    name = docsite.SUMMARY % version
    if not (TOP / name).exists() or not summary_of(version):
        return "%s has no release_summary: write one, it is the text of the release" % name
    return None


def summary_of(version):
    text = (TOP / (docsite.SUMMARY % version)).read_text(encoding="utf-8")
    return (yaml.safe_load(text) or {}).get("release_summary")


def write_version(version):
    path = TOP / "galaxy.yml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(?m)^version: .*$", "version: " + version, text), encoding="utf-8")


def build(results):
    """Build the tarball from a real copy and write its checksum beside it."""
    _path, copy = copy_collection("release")
    PLACE.mkdir(parents=True, exist_ok=True)
    for old in PLACE.iterdir():
        old.unlink()
    if not results.run("ansible-galaxy collection build",
                       [VENV / "bin/ansible-galaxy", "collection", "build", "--output-path", PLACE], cwd=copy):
        return False
    tarball, = PLACE.glob("*.tar.gz")
    (PLACE / "SHA256SUMS").write_text("%s  %s\n" % (hashlib.sha256(tarball.read_bytes()).hexdigest(), tarball.name),
                                      encoding="utf-8")
    return True


def write_changelog(results, version):
    """Write the changelog in a copy, since its tool wants the path of a collection, and take it over."""
    tools = docsite.prepared(results)
    if tools is None:
        return False
    run, copy = tools
    if not docsite.write_release(run, copy, version, time.strftime("%Y-%m-%d", time.gmtime())):
        return False
    for name in docsite.CHANGELOG:
        shutil.copyfile(str(copy / name), str(TOP / name))
    for fragment in (TOP / docsite.SUMMARY).parent.iterdir():
        fragment.unlink()
    return True


def release(results, version):
    """Return whether every step was done."""
    summary = summary_of(version)
    write_version(version)
    return (write_changelog(results, version) and build(results)
            and results.run("git commit", ["git", "commit", "--quiet", "--all", "--message", "Release " + version])
            and results.run("git tag", ["git", "tag", "--annotate", "v" + version, "--message",
                                        "%s\n\n%s" % (version, summary)]))


def main(version):
    why = refusal(version)
    if why:
        return why
    results, left_out, before = Results("release"), mark.read()["left_out"], mark.git("rev-parse", "HEAD")
    done = False
    try:
        done = release(results, version)
    finally:
        if not done:
            mark.git("reset", "--hard", "--quiet", before)
    if not done:
        return "nothing is released, and the files are those of the last commit again"
    for row in left_out:
        print("  make test-all left out: %s" % row)
    print("Released %s as %s. Publish it:\n  git push origin HEAD v%s\n  ansible-galaxy collection publish %s" % (
        version, mark.git("rev-parse", "--short", "HEAD"), version, next(PLACE.glob("*.tar.gz")).relative_to(TOP)))
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ.get("VERSION", "")))
