# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of scripts that take rules from others, in every form people write them, and what only looks like one."""

import pytest

from shell_commands import ONE_COMMAND
from shell_scripts import SCRIPTS
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.script import read_script


def told(text, **how):
    """Each effect as: line, sort, families, tables or unit, chains or verb, and how sure where that is not certain."""
    lines = []
    for effect in read_script(text, **how).effects:
        words = [str(effect.line), effect.sort, ",".join(effect.families).replace("ipv", ""),
                 effect.unit or ",".join(effect.tables), effect.verb or ",".join(effect.chains)]
        if effect.sort in ("ruleset", "apply"):
            words[2] = ""
        if effect.confidence != "certain":
            words.append(effect.confidence)
        lines.append(" ".join(word for word in words if word))
    return lines


@pytest.mark.parametrize("text", ONE_COMMAND)
def test_one_command(text):
    assert told(text) == ONE_COMMAND[text]


def test_a_program_is_only_what_its_whole_name_says():
    assert [text for text in ("xiptables -F", "iptablesx -F", "iptables_ -F", "nftx flush ruleset", "./iptables/run -F")
            if told(text)] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts(name):
    text, expected = SCRIPTS[name]
    assert told(text) == expected


INIT = """\
#!/bin/sh
. /lib/lsb/init-functions
start() { iptables-restore < /etc/rules; }
stop() {
    iptables -F
}
case "$1" in
    start) start ;;
    stop) stop ;;
    restart) stop; start ;;
    *) echo usage; exit 1 ;;
esac
"""


@cases
def test_what_a_script_is_started_with(arguments, expected):
    assert [effect.line for effect in read_script(INIT, arguments).effects] == expected


def test_functions_that_others_call():
    library = "flush_all() {\n iptables -F\n}\n"
    assert told(library) == []
    assert told(library, called=("flush_all", "not_there")) == ["2 flush 4 filter *"]


@cases
def test_whether_rules_come_back(text, expected):
    assert " ".join(effect.comes_back for effect in read_script(text).effects) == expected


@cases
def test_the_file_a_restore_reads(text, expected):
    assert [effect.file for effect in read_script(text).effects] == [expected]


@cases
def test_what_a_script_starts(text, expected):
    assert [(run.how, run.path_or_name, run.arguments) for run in read_script(text).runs] == expected
