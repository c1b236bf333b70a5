# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the Pythons of this machine, one per minor version, 3.6 and newer."""

import os
import pathlib
import re
import subprocess

OLDEST = (3, 6)
PROBE = "import sys, venv, ensurepip; print('%d.%d.%d' % sys.version_info[:3])"
NAME = re.compile(r"python3\.(\d+)")


def folders():
    """Return the folders to search for interpreters: PATH first, in the order of the user."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv")
    found = [pathlib.Path(entry) for entry in os.environ["PATH"].split(os.pathsep) if entry]
    found += [pathlib.Path("/usr/bin"), pathlib.Path("/usr/local/bin")]
    return found + sorted(pyenv.glob("versions/*/bin"), reverse=True)


def probe(path):
    """Return the version that an interpreter reports, or None if it does not work, like some pyenv shims."""
    try:
        done = subprocess.run([str(path), "-c", PROBE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20,
                              check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode().strip() if done.returncode == 0 else None


def find():
    """Return (usable, broken): {(3, minor): (path, version)}, and {(3, minor): path} of Pythons that cannot make a
    venv."""
    usable, broken = {}, {}
    for folder in folders():
        for path in sorted(folder.glob("python3.*")):
            match = NAME.fullmatch(path.name)
            if not match or not os.access(str(path), os.X_OK):
                continue
            minor = (3, int(match.group(1)))
            if minor < OLDEST or minor in usable:
                continue
            version = probe(path)
            if version:
                usable[minor] = (path, version)
                broken.pop(minor, None)
            else:
                broken.setdefault(minor, path)
    return dict(sorted(usable.items())), dict(sorted(broken.items()))


def link_all(folder, usable):
    """Fill a folder with python3.N links to the usable Pythons, and return a PATH with it first and without shims."""
    folder.mkdir(parents=True, exist_ok=True)
    for link in folder.iterdir():
        link.unlink()
    for (major, minor), (path, _version) in usable.items():
        (folder / ("python%d.%d" % (major, minor))).symlink_to(os.path.realpath(str(path)))
    rest = [entry for entry in os.environ["PATH"].split(os.pathsep) if not entry.endswith("/shims")]
    return os.pathsep.join([str(folder.resolve())] + rest)


if __name__ == "__main__":
    for path, version in find()[0].values():
        print(version, path)
