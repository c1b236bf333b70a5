# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Some unit tests on the Python of .venv only: the tests of T (test files, folders, or sources), of these the tests
that match K.

Installs nothing and needs no network. `make unit` without T and K uses all Pythons and ansible-cores.
"""

import difflib
import os
import pathlib
import subprocess
import sys

from mirror import UNIT, is_test, tests_of
from results import TOP, VENV, clean_env
from unit import trees

NO_TESTS = 5


def tests_at(given):
    """Return the arguments of pytest for one word of T; exit with a message if no test belongs to it."""
    name, colons, test = given.partition("::")
    path = pathlib.Path(os.path.relpath(str(TOP / name), str(TOP)))
    if not (TOP / path).exists():
        near = nearest(path)
        sys.exit("T=%s: there is no such file or folder%s" % (given, "; did you mean %s?" % near if near else ""))
    if (TOP / path).is_dir():
        if not any(map(is_test, (TOP / path).rglob("*.py"))):
            sys.exit("T=%s: this folder holds no unit tests; they are below %s" % (given, UNIT))
        return [str(path)]
    found = tests_of(path)
    if not found:
        sys.exit("T=%s: no unit tests belong to this file; make quick says what tests what you changed" % given)
    return [each + colons + test for each in found]


def nearest(path):
    """Return the path of a source or a test with a similar name, or None."""
    known = {each.name: each for folder in ("plugins", str(UNIT)) for each in sorted((TOP / folder).rglob("*.py"))}
    near = difflib.get_close_matches(path.name if path.suffix else path.name + ".py", known, n=1, cutoff=0.75)
    return known[near[0]].relative_to(TOP) if near else None


def run(tests, *options):
    """Run pytest with its output on the terminal; return its status."""
    with trees() as folder:
        command = [str(VENV / "bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *tests]
        return subprocess.run(command, cwd=str(TOP), env=clean_env(PYTHONDONTWRITEBYTECODE="1", TMPDIR=folder),
                              stdin=subprocess.DEVNULL, check=False).returncode


def main():
    words, name = os.environ.get("T", "").split() or [str(UNIT)], os.environ.get("K", "")
    tests = [test for word in words for test in tests_at(word)]
    status = run(tests, *(["-k", name] if name else []))
    if status == NO_TESTS:
        return "%sno test of %s has this in its name" % ("K=%s: " % name if name else "", " ".join(tests))
    return status


if __name__ == "__main__":
    sys.exit(main())
