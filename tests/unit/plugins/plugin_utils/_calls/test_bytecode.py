# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules as bytecode: the files that Ansible packs are compiled and really run, and a node that refuses bytecode
gets the sources; and what workers of one run share: made once, read by all, never a reason to fail."""

import base64
import importlib.util
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import node_tree
import pytest
import whole_nodes
from ansible import constants

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls import bytecode

TOP = pathlib.Path(__file__).resolve().parents[5]
PACKS = """
import json, sys
import ansible.plugins.loader as loader
getattr(loader, "init_plugin_loader", list)()
from ansible.executor.module_common import modify_module
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
found = loader.module_loader.find_plugin_with_context("kubenode.netfilter.node_facts")
built = modify_module(
    module_name=found.resolved_fqcn, module_path=found.plugin_resolved_path, module_args=json.loads(sys.argv[1]),
    templar=Templar(loader=DataLoader()), module_compression="ZIP_DEFLATED", environment={},
    task_vars={"ansible_python_interpreter": sys.executable})
sys.stdout.buffer.write(built[0] if isinstance(built, tuple) else built.b_module_data)
"""
MAGIC = repr(importlib.util.MAGIC_NUMBER).encode()
DONE = {"rc": 0, "stdout": "{}", "stderr": ""}


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """The folder of a run that has compiled nothing yet."""
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(folder))
    return folder


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """What Ansible sends to a node for a look at an image tree."""
    root = node_tree.unpack(whole_nodes.HEALTHY, tmp_path_factory.mktemp("node") / "tree")
    arguments = {"root": str(root), "place": "image", "_ansible_version": "2.16",
                 "_ansible_remote_tmp": "/nonexistent", "_ansible_keep_remote_files": False}
    return subprocess.run([sys.executable, "-c", PACKS, json.dumps(arguments)], stdout=subprocess.PIPE, check=True,
                          env=dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(TOP / ".build"))).stdout


@pytest.fixture(scope="module")
def compiled_folder(tmp_path_factory, sources):
    """The folder of a run that has compiled these sources."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "DEFAULT_LOCAL_TMP", str(folder))
        assert bytecode.with_bytecode(sources)
    return folder


@pytest.fixture
def module(run_folder, sources, compiled_folder):
    """What Ansible sends, in a run that has compiled it."""
    shutil.copytree(str(compiled_folder), str(run_folder), dirs_exist_ok=True)
    return sources


def text_of(module):
    return module[slice(*bytecode.archive_of(module))]


def archive_of(module):
    return zipfile.ZipFile(io.BytesIO(base64.b64decode(text_of(module))))


def run(module):
    """The result of a command as Ansible returns it, for a node's Python with the module on its standard input."""
    done = subprocess.run([sys.executable, "-"], input=module, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    return {"rc": done.returncode, "stdout": done.stdout.decode(), "stderr": done.stderr.decode()}


def test_a_node_answers_the_same_without_compiling_a_file(module):
    compiled = bytecode.with_bytecode(module)
    ours = [name for name in archive_of(compiled).namelist() if "/netfilter/plugins/module_utils/" in name]
    assert len(ours) > 100 and all(name.endswith((".pyc", "/__init__.py")) for name in ours)
    answers = [run(each) for each in (module, compiled)]
    assert answers[0]["rc"] == answers[1]["rc"] == 0, answers
    facts = [json.loads(answer["stdout"])["ansible_facts"] for answer in answers]
    for each in facts:
        # These values differ from look to look.
        chains = each["node_iptables_chains"]
        del chains["read_at"], chains["footprint"], chains["digest"]["read_at"]
    assert facts[0] == facts[1] and facts[0]["node_kernel_modules"]["collected"]


def test_a_traceback_names_the_file_and_the_line(module):
    with archive_of(bytecode.with_bytecode(module)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("module_utils/_look/node.pyc"))
        code = archive.read(name)
    shown = subprocess.run([sys.executable, "-c", "import marshal, sys; print(marshal.loads(sys.stdin.buffer.read()"
                            "[16:]).co_filename)"], input=code, stdout=subprocess.PIPE, check=True).stdout.decode()
    assert shown == "ansible_collections/kubenode/netfilter/plugins/module_utils/_look/node.py\n"


class Node:
    """Runs the module that is sent. With `other`, it acts as a Python of another version: the guard rejects the magic
    number of the controller."""

    def __init__(self, other=False):
        self.other, self.sizes = other, []

    def __call__(self, module):
        self.sizes.append(len(module))
        return run(module.replace(b"MAGIC_NUMBER != " + MAGIC, b"MAGIC_NUMBER == " + MAGIC) if self.other else module)


@pytest.mark.parametrize("other", [True, False])
def test_another_python_refuses_bytecode_once_and_gets_the_sources(module, other):
    node, compiled = Node(other), len(bytecode.with_bytecode(module))
    answers = [bytecode.sent(module, node) for _time in range(2)]
    assert [answer["rc"] for answer in answers] == [0, 0], answers
    assert node.sizes == ([compiled, len(module), len(module)] if other else [compiled, compiled])


@pytest.mark.parametrize("command, may", [
    ("/bin/sh -c '/usr/bin/python3 && sleep 0'", True),
    ("/usr/bin/python%d.%d" % sys.version_info[:2], True),
    ("/usr/bin/python3.1", False), ("sudo -u root /opt/python3.99/bin/python3.99", False),
    ("/usr/libexec/platform-python", True)])
def test_a_python_whose_name_has_another_version_is_not_tried(command, may):
    assert bytecode.may_run(command) is may


def test_the_guard_ends_the_module_before_it_does_anything(module):
    refused = run(bytecode.with_bytecode(module).replace(b"MAGIC_NUMBER != ", b"MAGIC_NUMBER == "))
    assert refused == {"rc": 1, "stdout": "", "stderr": bytecode.REFUSAL + "\n"}


@pytest.mark.parametrize("answer", [
    DONE, dict(DONE, stdout=bytecode.REFUSAL), dict(DONE, rc=1, stderr="Traceback"),
    dict(DONE, rc=1, stderr="sudo: sorry, you must have a tty to run sudo")])
def test_no_other_answer_makes_it_run_twice(module, answer):
    sent = []
    assert bytecode.sent(module, lambda data: sent.append(data) or answer) == answer
    assert len(sent) == 1 and not bytecode.is_noted(bytecode._REFUSED)


def test_a_node_that_refuses_sources_too_is_not_asked_for_ever(module):
    refusal, sent = dict(DONE, rc=1, stderr=bytecode.REFUSAL), []
    assert bytecode.sent(module, lambda data: sent.append(data) or refusal) == refusal
    assert len(sent) == 2 and sent[1] == module


@pytest.mark.parametrize("other", [
    b"#!/bin/sh\necho 'no archive'\n",
    b"text = 'UEsDBAAA'\nmore = 'UEsDBAAA'\nif __name__ == '__main__':\n    pass\n",
    b"text = 'UEsDBAAA'\n", b"text = 'UEsDBAAA\nif __name__ == ",
    b"text = 'UEsDBAAA'\nif __name__ == '__main__':\n    pass\n",
], ids=["no archive", "two archives", "no start", "no end", "no zip file"])
def test_what_is_not_a_module_of_ansible_is_sent_as_it_is(run_folder, other):
    sent = []
    assert bytecode.sent(other, lambda data: sent.append(data) or DONE) == DONE
    assert sent == [other]


def test_a_file_that_the_user_replaced_stays_as_it_is(module):
    replaced = io.BytesIO()
    with archive_of(module) as old, zipfile.ZipFile(replaced, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            ours = entry.filename == "ansible/module_utils/basic.py"
            new.writestr(entry, b"# of the user\n" + old.read(entry) if ours else old.read(entry))
    changed = module.replace(text_of(module), base64.b64encode(replaced.getvalue()))
    names = archive_of(bytecode.with_bytecode(changed)).namelist()
    assert "ansible/module_utils/basic.py" in names and "ansible/module_utils/basic.pyc" not in names
    assert "ansible/module_utils/basic.pyc" in archive_of(bytecode.with_bytecode(module)).namelist()


@pytest.mark.parametrize("owner, name, value", [
    (sys, "executable", "/nonexistent/python"), (constants, "DEFAULT_LOCAL_TMP", "/nonexistent")])
def test_where_nothing_is_compiled_or_written_sources_are_sent(sources, run_folder, monkeypatch, owner, name, value):
    monkeypatch.setattr(owner, name, value)
    sent = []
    bytecode.prepare()
    bytecode.sent(sources, lambda data: sent.append(data) or DONE)
    assert sent == [sources]


def test_a_damaged_file_of_bytecode_is_as_good_as_none(sources, run_folder):
    bytecode.prepare()
    for path in run_folder.glob("*.marshal"):
        path.write_bytes(path.read_bytes()[:1000])
    assert bytecode.with_bytecode(sources) is None


def in_workers(number, work):
    """What `work(index)` returns, a text, in each of so many processes that are forked before one of them ends."""
    pipes = [os.pipe() for _each in range(number)]
    for index, (_reading, writing) in enumerate(pipes):
        if os.fork() == 0:
            try:
                os.write(writing, work(index).encode("utf-8"))
            finally:
                os._exit(0)
    found = []
    for reading, writing in pipes:
        os.close(writing)
        with open(reading, "rb") as stream:
            found.append(stream.read().decode("utf-8"))
    for _each in range(number):
        os.wait()
    return found


def test_one_worker_makes_it_and_the_others_read_it(run_folder):
    found = in_workers(8, lambda index: str(bytecode.remembered("key", lambda: {"by": index})["by"]))
    assert len(set(found)) == 1 and found[0] != ""
    assert bytecode.remembered("key", lambda: {"by": "this process"}) == {"by": int(found[0])}
    assert bytecode.remembered("other", lambda: {"by": "this process"}) == {"by": "this process"}


def test_a_damaged_file_is_made_again(run_folder):
    bytecode.remembered("key", lambda: [1])
    next(run_folder.glob("*-key")).write_text("[", encoding="utf-8")
    assert bytecode.remembered("key", lambda: [2]) == [2]
    assert bytecode.remembered("key", lambda: [3]) == [2]


def test_a_folder_that_is_gone_costs_only_time(run_folder):
    run_folder.rmdir()
    assert bytecode.remembered("key", lambda: [1]) == [1]
    assert bytecode.remembered("key", lambda: [2]) == [2]


def test_what_cannot_be_made_is_not_remembered(run_folder):
    def fails():
        raise ValueError("no")

    for _attempt in range(2):
        with pytest.raises(ValueError):
            bytecode.remembered("key", fails)
    assert bytecode.remembered("key", lambda: [1]) == [1]


def test_who_does_not_wait_gets_nothing_while_another_makes_it(run_folder):
    def meanwhile():
        return {"by": in_workers(1, lambda _index: str(bytecode.remembered("key", lambda: 2, wait=False)))[0]}

    assert bytecode.remembered("key", meanwhile) == {"by": "None"}
    assert bytecode.remembered("key", lambda: 3, wait=False) == {"by": "None"}


def test_a_note_of_one_worker_is_known_to_all(run_folder):
    before = bytecode.is_noted("refused")
    in_workers(1, lambda _index: str(bytecode.note("refused")))
    assert (before, bytecode.is_noted("refused")) == (False, True)
