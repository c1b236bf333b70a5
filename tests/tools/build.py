# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the tarball for users from a real copy of the collection. Then runs tests that inspect it, import it like
Galaxy, install it and use it."""

import sys

from results import BUILD, TOP, VENV, Results, clean_env, copy_collection, make_venv

IMPORTER = "galaxy-importer>=0.4.20,<1"

# Files of a used checkout that must not be in the tarball.
LITTER = (".venv/bin/python", ".venv-other/pyvenv.cfg", ".cache/disk.img", ".build/logs/unit.log",
          ".pytest_cache/README.md", ".hypothesis/unicode", ".ansible/facts", "kubenode-netfilter-report/report.json",
          "kubenode-netfilter-0.0.9.tar.gz", "plugins/modules/__pycache__/node_facts.cpython-311.pyc",
          "roles/node_gate/tasks/main.yml.swp")


def litter(folder):
    for name in LITTER:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("litter", encoding="utf-8")
    (folder / ".build" / "loop").symlink_to("..")


def main():
    results = Results("build")
    _path, copy = copy_collection("build")
    litter(copy)
    for old in BUILD.glob("kubenode-netfilter-*.tar.gz"):
        old.unlink()
    if results.run("ansible-galaxy collection build",
                   [VENV / "bin/ansible-galaxy", "collection", "build", "--output-path", BUILD], cwd=copy):
        tarball, = BUILD.glob("kubenode-netfilter-*.tar.gz")
        importer = make_venv("galaxy-importer", sys.executable, IMPORTER)
        if importer is None:
            results.add("galaxy-importer: no virtual environment", 0, 1)
            return results.exit_code()
        junit = BUILD / "results" / "tarball.xml"
        junit.unlink(missing_ok=True)
        results.run("the tarball, looked into, installed and used",
                    [VENV / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml", junit,
                     "tests/tools/test_tarball.py"],
                    env=clean_env(KUBENODE_TARBALL=str(tarball), KUBENODE_IMPORTER=str(importer / "bin")), junit=junit)
        print("  %s, %d KB" % (tarball.relative_to(TOP), tarball.stat().st_size // 1024))
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
