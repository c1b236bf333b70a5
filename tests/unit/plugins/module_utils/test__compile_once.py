# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules out of an archive as Ansible sends it: found as ever, compiled once."""

import json
import os
import subprocess
import sys
import zipfile

import compile_counted

from ansible_collections.kubenode.netfilter.plugins.module_utils import _compile_once, _errors

PACKAGE = _errors.__name__.rpartition(".")[0]
FOLDER = PACKAGE.replace(".", "/") + "/"
SOURCES = os.path.dirname(_errors.__file__)


def test_each_module_of_an_archive_is_compiled_once_and_is_what_it_is_without_it(tmp_path):
    archive, parts = str(tmp_path / "module.zip"), PACKAGE.split(".")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for number in range(1, len(parts) + 1):
            written.writestr("/".join(parts[:number] + ["__init__.py"]), "")
        for name in ("_compile_once.py", "_errors.py"):
            written.write(os.path.join(SOURCES, name), FOLDER + name)
        written.writestr(FOLDER + "_inner/__init__.py", "")
        written.writestr(FOLDER + "_inner/deep.py", "from ..near import VALUE\n")
        written.writestr(FOLDER + "near.py", "VALUE = 42\n")
        written.writestr(FOLDER + "_broken.py", "def f():\n    return 1 / 0\n\n\nf()\n")
    answer = json.loads(subprocess.check_output([sys.executable, compile_counted.__file__, archive, PACKAGE]))
    counted = {name: answer["counts"].get(name) for name in ("near.py", "deep.py", "_broken.py")}
    # deep.py once more, because it was loaded anew on purpose. Before 3.8 zipimport is written in C and calls no
    # compile() that could be counted.
    assert counted == ({"near.py": 1, "deep.py": 2, "_broken.py": 1}
                       if sys.version_info >= (3, 8) else dict.fromkeys(counted))
    assert (answer["value"], answer["again"], answer["package"]) == (42, True, PACKAGE + "._inner")
    assert answer["file"] == archive + "/" + FOLDER + "_inner/deep.py"
    assert answer["._inner.lacking"][0] == answer[".lacking"][0] == "ModuleNotFoundError"
    kind, said = answer["._broken"]
    assert kind == "ZeroDivisionError" and "_broken.py\", line 2, in f" in said and "return 1 / 0" in said


def test_modules_that_lie_in_a_folder_are_left_to_python():
    assert _compile_once.ArchiveFinder not in sys.meta_path
    assert _compile_once.ArchiveFinder.find_spec(PACKAGE + "._errors") is None
    assert _compile_once.ArchiveFinder.find_spec("json", [SOURCES]) is None
    assert _compile_once.ArchiveFinder.find_spec(PACKAGE + "._errors", [SOURCES]) is None
