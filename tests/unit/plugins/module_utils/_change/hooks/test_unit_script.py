# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where programs may be started, a script's own shell has to parse what comes out, as it has to parse what was
there."""

import pytest
from case_rows import cases
from node_tree import executable, unpack

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.hooks.unit import edited_script
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import TIMEOUT, Completed, Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.edit.removal import shell_of

ROW = {"sort": "flush", "command": "iptables -F", "service": None, "triggers": ["by_hand"]}


def edited(tmp_path, text, line):
    unpack({"fw.sh": executable(text)}, tmp_path)
    return edited_script(Host("/"), str(tmp_path / "fw.sh"), [dict(ROW, line=line)])[1]


@pytest.mark.parametrize("first", ["#!/bin/bash\n", "#!/usr/bin/env bash\n", "#! /usr/bin/bash -e\n", ""])
def test_what_its_shell_parses_is_edited(tmp_path, first):
    line = 2 if first else 1
    assert edited(tmp_path, first + "iptables -F\ntables=(nat filter)\necho ${tables[0]}\n",
                  line) == first + "tables=(nat filter)\necho ${tables[0]}\n"


@pytest.mark.parametrize("text",
                         ["#!/bin/sh\niptables -F\ntables=(nat filter)\n", "#!/bin/bash\niptables -F\nif true; then\n"])
def test_what_its_shell_does_not_parse_is_left_alone(tmp_path, text):
    with pytest.raises(_errors.ChangeFailed, match="refuses it already now"):
        edited(tmp_path, text, 2)


def test_a_shell_that_hangs_is_not_said_to_refuse(tmp_path, monkeypatch):
    monkeypatch.setattr(Host, "run", lambda *_arguments: Completed(TIMEOUT))
    with pytest.raises(_errors.ChangeFailed, match="sh -n did not answer within 30 s$"):
        edited(tmp_path, "#!/bin/sh\niptables -F\n", 2)


def test_nothing_of_a_script_is_run(tmp_path):
    edited(tmp_path, "#!/bin/bash\niptables -F\ntouch %s\n: $(touch %s)\n" % ((tmp_path / "made",) * 2), 2)
    assert not (tmp_path / "made").exists()


@cases
def test_which_shell_reads_a_script(first, shells):
    assert shell_of(first + "\n") == shells
