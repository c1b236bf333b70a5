# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets ansible-test set up its virtual environments from a package index alone.

ansible-test downloads a "get-pip" script from its own site, unless its cache has a script of that name. For machines
that reach only a package index, this program writes one such script per pip version that ansible-test needs. Each
script only starts the pip inside a wheel from the index.

Run with the Python of the virtual environment that holds ansible-test: seed_get_pip.py WHEEL_FOLDER PYTHON_VERSION...
"""

import pathlib
import subprocess
import sys
import types

from ansible_test._internal.python_requirements import get_venv_packages

STAND_IN = """\
import runpy
import sys

sys.path.insert(0, {wheel!r})
# The real script understands these two; "pip install" does not, and installs neither unless told.
sys.argv[1:] = ["install"] + [arg for arg in sys.argv[1:] if arg not in ("--no-setuptools", "--no-wheel")]
runpy.run_module("pip", run_name="__main__")
"""


def fetch_pip_wheel(version, folder):
    """Return the path of the pip wheel of that version, fetched once."""
    found = sorted(folder.glob("pip-%s-*.whl" % version))
    if not found:
        subprocess.run(
            [sys.executable, "-m", "pip", "-qq", "download", "--no-deps", "--only-binary=:all:",
             "--ignore-requires-python", "--dest", str(folder), "pip==%s" % version],
            check=True,
        )
        found = sorted(folder.glob("pip-%s-*.whl" % version))
    return found[0]


def main(wheel_folder, python_versions):
    folder = pathlib.Path(wheel_folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    cache = pathlib.Path("~/.ansible/test/cache").expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    for python_version in python_versions:
        pip_version = get_venv_packages(types.SimpleNamespace(version=python_version))["pip"]
        wheel = fetch_pip_wheel(pip_version, folder)
        script = cache / ("get_pip_%s.py" % pip_version.replace(".", "_"))
        script.write_text(STAND_IN.format(wheel=str(wheel)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
