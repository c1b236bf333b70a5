# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of scripts that take rules from others, in every form people write them, and what only looks like one; which
part of a script a finding is; and whatever a file holds, reading it ends, soon, and raises nothing."""

import random
import re

import pytest

import kube_audit
import work
from shell_commands import ONE_COMMAND
from shell_scripts import SCRIPTS
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.nft_script import (
    TABLES_LIMIT, forward_drops, own_tables, read_nft_includes, read_nft_script)
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.rule_files import harmful_rules
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


# Which part of a script a finding is: what would have to go, here between ⟦ and ⟧.

@cases
def test_the_place_of_a_finding(marked):
    text = marked.replace("⟦", "").replace("⟧", "")
    start = marked.index("⟦")
    found = read_script(text).effects
    assert [text[slice(*effect.span)] for effect in found] == [text[start:marked.index("⟧") - 1]]
    assert (found[0].span[0], found[0].line) == (start, text.count("\n", 0, start) + 1)


@cases
def test_the_command_is_told_in_one_line(text, command):
    assert [effect.command for effect in read_script(text).effects] == [command]


def test_what_was_found_says_the_same_alone():
    """Where nothing comes from the text around it."""
    seen = 0
    for text in list(ONE_COMMAND) + [text for text, _expected in SCRIPTS.values()]:
        for effect in read_script(text).effects:
            alone = text[slice(*effect.span)]
            if effect.confidence == "certain" and not re.search(r"@\(|\$|{}|<<|/tmp/|\(\)|#!", text):
                found = read_script(alone).effects
                assert effect._replace(line=0, span=None, comes_back=None) in [
                    one._replace(line=0, span=None, comes_back=None) for one in found], (text, alone)
                seen += 1
    assert seen > 150


# Any text.

PIECES = [
    "(", ")", "$(", "`", "\"", "'", "<<EOF\n", "EOF\n", "$((", "${", "${a:-", "}", "{ ", "; }", "if ", "; then ",
    "fi\n", "case $1 in ", "a) ", ";;", "esac\n", "while read x; do ", "done\n", "for t in nat filter; do ", "f() { ",
    "f ", "f \"$@\"\n", "$1 ", "\"$1\"\n", "[[ ", "\\", "\\\n", "|", "||", "&&", ";", "\n", "\r\n", "#", "a=b\n",
    "a=$a$a\n", "a+=$a\n", "a=(b c)\n", "$a ", "${a[@]} ", "{a,b}", "{,}{,}", "<(", ">x ", "< x ", "iptables ", "-F ",
    "-t nat ", "-t $t ", "ip{,6}tables ", "iptables-save ", "iptables-restore ", "nft -f - ", "flush ruleset", "eval ",
    "eval '", "sh -c '", "sh -c \"", "trap ", "exit\n", "return\n", "break\n", "shift\n", "set -- a b\n", "xargs ",
    "sudo ", "env ", "find . -exec ", "echo ", "printf '%s\\n' ", "tee x ", ". x\n", "local ", "read ",
    "systemctl restart iptables\n", "crontab -\n", "* * * * * iptables -F\n", "nsenter -t ", "timeout ",
    "tee /etc/nftables.conf ", "cp x /etc/nftables.conf\n", ">>/etc/nftables.conf ", "<abc ", "add\n", "table inet ",
    "chain x { ", "policy drop;", "awk 'BEGIN{system(\"", "\0", "\ufffd", "\udc80", "é", "! ", "exec ", "unset a\n",
    "tmux new ", "parallel a ::: ",
]
SHEBANGS = ["", "", "", "#!/bin/sh\n", "#!/usr/bin/python3\n", "#!/usr/bin/perl\n", "#!/usr/sbin/nft -f\n",
            "#!/sbin/openrc-run\n", "#!"]


def texts(seed, count):
    for number in range(count):
        source = random.Random("%s %s" % (seed, number))
        if number % 4:
            yield number, source.choice(SHEBANGS) + "".join(source.choice(PIECES)
                                                            for _piece in range(source.randrange(1, 80)))
        else:
            data = bytes(source.randrange(256) for _byte in range(source.randrange(300)))
            yield number, data.decode("utf-8", source.choice(("replace", "surrogateescape")))


def test_any_text_has_a_reading():
    seed = kube_audit.seed()
    for number, text in texts(seed, 1500):
        for arguments in (None, ["stop"]):
            reading = read_script(text, arguments)
            where = "seed %s, text %s: %r" % (seed, number, text)
            for found in reading.effects + reading.runs:
                assert 0 <= found.span[0] <= found.span[1] <= len(text), where
                assert found.line == text.count("\n", 0, found.span[0]) + 1, where
        read_nft_script(text)
        read_nft_includes(text)
        assert len(own_tables(text)) == 2 and set(map(type, forward_drops(text) + list(harmful_rules(text)))) <= {
            bool, str}, where


def test_a_long_text_of_nft_takes_no_square_of_its_length():
    assert forward_drops("x " + "{ a } " * 60000) == forward_drops("x { " * 60000 + "} " * 60000) == []
    assert len(own_tables("".join("table t%d\n" % number for number in range(60000)))[0]) == TABLES_LIMIT


def test_a_script_that_writes_a_long_text_many_times_is_cut():
    text = "f() { tee -a /etc/nftables.conf <<'E'\n%s\nE\n}\n" % ("a" * 100000)
    assert not read_script(text + "".join("f %d\n" % number for number in range(3000))).declared


def test_parts_of_a_file_name_no_file_together():
    assert read_script("curl x | tee /etc/nftables.conf\necho '<abc' >> /etc/nftables.conf\n"
                       "echo \"$y\" >> /etc/nftables.conf\n").effects == []


def test_a_reading_does_not_depend_on_the_one_before():
    seed = kube_audit.seed()
    for number, text in texts(seed, 100):
        assert read_script(text) == read_script(text), "seed %s, text %s" % (seed, number)


@pytest.mark.parametrize("shebang", ["#!/bin/sh\n", "#!/usr/bin/perl\n", "#!/usr/sbin/nft -f\n"])
@pytest.mark.parametrize("piece", PIECES)
def test_the_work_stays_below_the_square_of_the_text(shebang, piece):
    """What starts a shell inside of what starts a shell is read once for each of a few levels."""
    small, large = (work.calls_of(read_script, shebang + piece * (size // len(piece))) for size in (1 << 10, 1 << 13))
    assert large < 32 * small + 1000


def test_what_grows_by_itself_is_cut():
    calls = "".join("f%d() { f%d a; f%d b; }\n" % (number, number + 1, number + 1) for number in range(60)) + "f0\n"
    variables = "a=xx\nb=yy\n" + "a=$a$b\nb=$b$a\n" * 60 + "$a $b\n"
    loops = "".join("for v%d in 1 2 3 4 5 6 7 8 9; do " % number
                    for number in range(20)) + "iptables -t $v0$v1$v2$v3$v4 -F" + "; done" * 20
    written = "echo 'echo iptables -F >> /tmp/a; bash /tmp/a' > /tmp/a\n" + "bash /tmp/a\n" * 50
    itself = "eval \"$x\"\nx='eval \"$x\"; eval \"$x\"'\neval \"$x\"\n"
    started = ("echo a b c d | " + "xargs " * 500 + "iptables -F\n" + "chroot x " * 5000 + "exec " * 5000
               + "sudo " * 5000)
    doubled = "echo iptables -F > /tmp/a\n" + "cat /tmp/a /tmp/a >> /tmp/a\n" * 200 + "sh /tmp/a\n"
    piped = "echo iptables -F " + "| cat - - - - - - - - " * 30 + "| sh\n"
    trapped = "x='trap \"$x\" EXIT'\neval \"$x\"\n"
    for text in (calls, variables, loops, written, itself, started, doubled, piped, trapped):
        assert work.calls_of(read_script, text) < 5000000, text[:80]


def test_findings_do_not_get_lost_behind_what_cannot_be_read():
    reading = read_script("fi\nx (y\niptables -F\n")
    assert [effect.line for effect in reading.effects] == [3]
    assert not reading.declared


@pytest.mark.parametrize("text, cut, declared", [
    ("eval true\n" * 80000, "was not followed further than 50000 statements", False),
    ("eval true\n" * 20000, None, True),
    ("f() {\n%s}\n" % ("true\n" * 900) + "".join("f %d\n" % number for number in range(30))
     + "g() {\niptables -F\n}\ng\n", "was not followed further than", False),
    ("iptables -F\n" * 3000, "was not followed further than 2000 commands of interest", False),
    ("iptables -F\n" * 1000, None, True), ("iptables -L", None, True), ("echo 'open", None, False),
    ("(" * 1000, None, False), ("x='eval \"$x\"; eval \"$x\"'\neval \"$x\"\n", "nested deeper than 60 levels", False)])
def test_a_limit_that_ended_the_reading_is_said(text, cut, declared):
    reading = read_script(text)
    assert (cut in reading.cut if cut else reading.cut is None) and reading.statements <= 50000
    assert reading.declared is declared
