# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test node keeps compiled code of the sources that Ansible sends: it reuses the code of the same source, and
compiles any other source as usual."""

import io
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "testbed"))

import sources

SENT = "said = 'as sent'\n"


@pytest.fixture
def node(tmp_path):
    """A folder with the files that sources.archive() puts on a node."""
    with tarfile.open(fileobj=io.BytesIO(sources.archive()), mode="r:gz") as archive:
        archive.extractall(str(tmp_path))
    return tmp_path


@pytest.fixture
def small_node(node):
    """A node that keeps only one source, which differs from the source that is sent."""
    shutil.rmtree(str(node / sources.PLACE / "sources"))
    (node / sources.PLACE / "sources").mkdir()
    (node / sources.PLACE / "sources" / "subject.py").write_text("said = 'as kept'\n")
    return node


def python(node, program):
    """Run a program as that node's Python does, which reads the .pth file first."""
    assert (node / sources.AT_START[0]).read_text().splitlines() == ["/" + sources.PLACE, "import compiled_sources"]
    program = "import site; site.addsitedir(%r); %s" % (str((node / sources.AT_START[0]).parent), program)
    done = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(node / sources.PLACE)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


def said(node, text):
    """The value of `said` in a module with this text, imported from an archive on that node."""
    with zipfile.ZipFile(str(node / "sent.zip"), "w") as sent:
        sent.writestr("subject.py", text)
    return python(node,
                  "import sys; sys.path.insert(0, %r); import subject; print(subject.said)" % str(node / "sent.zip"))


def compile_all(node):
    python(node,
           "import runpy; runpy.run_path(%r, run_name='__main__')" % str(node / sources.PLACE / "compiled_sources.py"))
    return sorted((node / sources.PLACE / "code").iterdir())


def test_all_that_ansible_sends_is_compiled(node):
    texts = {path.read_bytes() for path in (node / sources.PLACE / "sources").rglob("*.py")}
    assert (TOP / "plugins" / "modules" / "node_facts.py").read_bytes() in texts
    assert (TOP / "plugins" / "module_utils" / "_host" / "host.py").read_bytes() in texts
    assert any(b"class AnsibleModule" in text for text in texts)
    assert len(compile_all(node)) == len(texts)


def test_the_same_source_is_taken_from_what_was_compiled(small_node):
    compiled, = compile_all(small_node)
    # The path that the code of the sent source would have.
    place = python(small_node, "import compiled_sources; print(compiled_sources.place(%r))" % SENT.encode())
    compiled.replace(place)
    assert said(small_node, SENT) == "as kept"


def test_another_source_is_compiled_as_ever_and_nothing_is_written(small_node):
    assert said(small_node, SENT) == "as sent" and not (small_node / sources.PLACE / "code").exists(), "nothing is kept"
    before = compile_all(small_node)
    assert said(small_node, SENT) == "as sent"
    assert sorted(before[0].parent.iterdir()) == before
