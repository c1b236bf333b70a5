# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The differences from a branch: changed files, and changed checks of the catalogue."""

import pathlib
import subprocess

import yaml
from results import TOP

CATALOGUE = pathlib.PurePath("roles/node_policy/files/checks")


class NoBase(Exception):
    """The branch or commit to compare with does not exist; the message names the known ones."""


def git(*arguments, top=TOP):
    """Return what git prints, or None where it fails."""
    done = subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=str(top), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.decode() if done.returncode == 0 else None


def base_of(branch, top=TOP):
    """Return the commit at which this checkout left a branch."""
    found = git("merge-base", "HEAD", branch, "--",
                top=top) if git("rev-parse", "--verify", "--quiet", branch + "^{commit}", top=top) else None
    if found is None:
        known = (git("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", top=top) or "").split()
        raise NoBase("BASE=%s: git knows no such branch or commit%s"
                     % (branch, "; known: %s" % ", ".join(known[:10]) if known else ""))
    return found.strip()


def changed_files(base, top=TOP):
    """Return the files that differ from a commit, with removed and untracked files."""
    listed = (git("diff", "--name-only", "-z", "--no-renames", base, "--", top=top) or "")
    listed += git("ls-files", "-z", "--others", "--exclude-standard", top=top) or ""
    return [pathlib.PurePath(name) for name in sorted(set(listed.split("\0"))) if name]


def changed_checks(path, base, top=TOP):
    """Return the ids of the entries in a file of the catalogue that differ from a commit."""
    if not (top / path).exists():
        return []
    before = yaml.safe_load(git("show", "%s:%s" % (base, path), top=top) or "[]")
    now = yaml.safe_load((top / path).read_text(encoding="utf-8"))
    return [entry["id"] for entry in now or [] if isinstance(entry, dict) and "id" in entry and entry not in before]
