# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mark of `make test-all`: which tree of files passed. `make release` refuses any other tree."""

import json
import subprocess
import time

from results import BUILD, TOP

MARK = BUILD / "test-all.json"


def git(*arguments):
    """Return what git prints, or None where it fails, as in a folder that is no checkout."""
    done = subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=str(TOP), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True, check=False)
    return done.stdout.rstrip("\n") if done.returncode == 0 else None


def changed():
    """Return the files that differ from the last commit or are unknown to git."""
    return [line[3:] for line in (git("status", "--porcelain", "--untracked-files=all") or "").splitlines()]


def clean_tree():
    """Return the id of the tree of the last commit, or None where the files are not exactly that tree."""
    return None if changed() else git("rev-parse", "HEAD^{tree}")


def write(tree, left_out):
    """Note that this tree passed, unless the files changed meanwhile."""
    if tree is not None and clean_tree() == tree:
        MARK.write_text(json.dumps({"tree": tree, "left_out": left_out,
                                    "passed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}), encoding="utf-8")


def read():
    """Return the mark of the last run that passed, or {}."""
    try:
        return json.loads(MARK.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
