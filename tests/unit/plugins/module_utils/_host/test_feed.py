# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that is given a text to work on."""

from case_rows import cases
from node_processes import is_gone
from node_tree import executable, unpack

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.feed import feed
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host


def program(tmp_path, text):
    unpack({"tool": executable("#!/bin/sh\n" + text)}, tmp_path)
    return [str(tmp_path / "tool")]


def test_the_text_arrives_byte_for_byte(tmp_path):
    text = "\udcff\u00e9 '$(x)\n" * 50000
    assert feed(Host(), program(tmp_path, "cat > %s/got" % tmp_path), text, 60) is None
    assert (tmp_path / "got").read_bytes() == text.encode("utf-8", "surrogateescape")


@cases
def test_why_it_failed_is_said(tmp_path, script, said):
    assert feed(Host(), program(tmp_path, script), "x" * 200000, 60) == said


def test_one_that_hangs_is_ended_with_its_children(tmp_path):
    argv = program(tmp_path, "echo $$ > %s/pid; sleep 1000 & echo $! >> %s/pid; wait" % (tmp_path, tmp_path))
    assert feed(Host(), argv, "", 1) == "tool did not end within 1 seconds"
    for pid in (tmp_path / "pid").read_text().split():
        assert is_gone(int(pid))


def test_nothing_is_run_in_an_image(tmp_path):
    assert feed(Host(str(tmp_path)), program(tmp_path, "touch %s/ran" % tmp_path), "", 60) == "no commands are run here"
    assert feed(Host(), ["/nowhere/at/all"], "", 60) == "/nowhere/at/all cannot be run: No such file or directory"
    assert not (tmp_path / "ran").exists()
