# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in files of other formats: what runs, at which line, and when."""

import shlex

from hypothesis import given, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.apt_conf import parse_apt_conf
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.cron_table import (
    parse_anacron_table, parse_cron_table)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.dnf_actions import parse_dnf_actions
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.dpkg_cfg import parse_dpkg_cfg
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.embedded import (
    TIMER, command, in_place, line_in_file, shell_words)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.interfaces_file import parse_interfaces
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.logrotate_conf import (
    parse_logrotate_conf)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.udev_rules import parse_udev_rules


# Commands that apt runs around its work. What apt itself makes of SAMPLE is what `apt-config -c FILE dump` prints.

SAMPLE = r"""# DPkg::Post-Invoke { "a comment"; };
DPkg::Post-Invoke { "echo \"a\" b"; "two; 2"; }; // DPkg::Post-Invoke { "a comment"; };
DPkg::Pre-Invoke {"one-line"; };  # "hash"
DPkg { Post-Invoke { "nested; with semi"; }; Options { "--force-confold"; }; };
dpkg::POST-invoke:: "colon";
DPkg::Post-Invoke::named "named";
/* DPkg::Post-Invoke {
 "block"; };
*/
APT::Update::Post-Invoke-Success {
  // "inside";
  "# no // comment /* here */";
  # "inside";
};
DPkg::Post-Invoke "scalar";
DPkg::Post-Invoke { unquoted; };
#clear DPkg::Pre-Invoke;
DPkg::Post-Invoke-Not { "other"; };
Unattended-Upgrade::Allowed-Origins { "x:y"; };
"""


def test_every_form_of_a_hook():
    assert [(each.line, each.text) for each in parse_apt_conf(SAMPLE)] == [
        (2, "echo \\a\\ b"), (2, "two; 2"), (3, "one-line"), (4, "nested; with semi"), (5, "colon"), (6, "named"),
        (12, "# no // comment /* here */"), (15, "scalar"), (16, "unquoted")]
    assert {each.when for each in parse_apt_conf(SAMPLE)} == {"package_upgrade"}


def test_scopes_end():
    text = 'DPkg { Post-Invoke { "in"; }; };\nDir { Cache { "out"; }; };\n}}}\nDPkg::Post-Invoke { "again";\n'
    assert [each.text for each in parse_apt_conf(text)] == ["in", "again"]


@given(st.text(alphabet='DPkg:-IvoetsP{};"/*#\n \\', max_size=200))
def test_no_text_is_too_odd(text):
    for each in parse_apt_conf(text):
        assert 1 <= each.line <= text.count("\n") + 1


# Tables of cron and anacron.

SYSTEM = """\
# iptables -F in a comment
SHELL=/bin/bash
IPT = "/usr/sbin/iptables"
PATH=/usr/sbin:/usr/bin

*/5 * * * 1-5\troot\t$IPT -F
@reboot root sleep 10; iptables -X
  17 4-6,8 1 jan sun  nobody   /opt/fw.sh --all
-*/15 * * * * root quiet
@daily root ${IPT}6 -L
0 ~ * * * root random
1 2 3 root too few
@reboot root
garbage
"""


def rows(found):
    return [(each.line, each.text, each.when) for each in found]


def test_a_table_of_the_system_names_a_user_before_the_command():
    assert rows(parse_cron_table(SYSTEM, with_user=True)) == [
        (6, "IPT='/usr/sbin/iptables'; $IPT -F", "timer"),
        (7, "sleep 10; iptables -X", "boot"),
        (8, "/opt/fw.sh --all", "timer"),
        (9, "quiet", "timer"),
        (10, "IPT='/usr/sbin/iptables'; ${IPT}6 -L", "timer"),
        (11, "random", "timer"),
    ]


def test_a_user_s_own_table_does_not():
    assert rows(parse_cron_table("MAILTO=\"\"\n* * * * * iptables -F\n@hourly root\n@reboot  x y\r\n")) == [
        (2, "iptables -F", "timer"), (3, "root", "timer"), (4, "x y", "boot")]


@cases
def test_percent_signs(command, wanted):
    assert rows(parse_cron_table("* * * * * %s\n" % command)) == [(1, wanted, "timer")]


def test_a_setting_counts_for_the_lines_below_it_only():
    text = "* * * * * $A\nA='one two'\n* * * * * $A $AB\n\"A\"=it's\n* * * * * $A\n"
    assert [each.text for each in parse_cron_table(text)] == ["$A", "A='one two'; $A $AB", "A='it'\\''s'; $A"]


def test_anacron():
    text = ("SHELL=/bin/sh\nRANDOM_DELAY=45\n#1 2 x y\n1\t5\tcron.daily\tnice run-parts /etc/cron.daily\n@monthly 45 "
            "m.x iptables -F\n7 x a b\n")
    assert rows(parse_anacron_table(text)) == [
        (4, "nice run-parts /etc/cron.daily", "timer"), (5, "iptables -F", "timer")]


@given(st.text(), st.booleans())
def test_no_text_is_too_odd_cron_table(text, with_user):
    for each in parse_cron_table(text, with_user) + parse_anacron_table(text):
        assert 1 <= each.line <= text.count("\n") + 1


# Commands that dnf runs after its transactions.

@cases
def test_lines_of_dnf(line, wanted):
    assert [(each.line, each.text, each.when) for each in parse_dnf_actions("\n%s\n" % line)] == (
        [(2, wanted, "package_upgrade")] if wanted else [])


@given(st.text())
def test_no_text_is_too_odd_dnf_actions(text):
    for each in parse_dnf_actions(text):
        assert 1 <= each.line <= text.count("\n") + 1


# Hooks of dpkg.

@cases
def test_what_runs(text, told):
    assert [(found.line, found.text) for found in parse_dpkg_cfg(text)] == told


# Shell commands that stand in files of other formats: their lines.

def test_lines_of_a_text_that_stands_in_the_file_as_it_is_and_of_one_that_does_not():
    assert [line_in_file(command(5, "a\nb\n", TIMER), line) for line in (1, 2)] == [5, 6]
    assert [line_in_file(command(5, "a\nb\n", TIMER, exact=False), line) for line in (1, 2)] == [5, 5]


@cases
def test_pieces_of_one_script_keep_their_lines(pieces, wanted):
    assert in_place(pieces) == wanted


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=8))
def test_every_piece_begins_at_its_own_line(gaps):
    pieces, line = [], 1
    for number, (gap, height) in enumerate(gaps):
        line += gap
        pieces.append((line, "\n".join("%d.%d" % (number, each) for each in range(height))))
        line += height
    first, text, exact = in_place(pieces)
    assert exact
    lines = text.split("\n")
    for start, piece in pieces:
        assert lines[start - first:start - first + piece.count("\n") + 1] == piece.split("\n")


@given(st.lists(st.text(alphabet="a '\"$\\;\n"), min_size=1))
def test_words_stay_what_they_are(words):
    assert shlex.split(shell_words(words)) == words


# Commands in /etc/network/interfaces.

SAMPLE_INTERFACES_FILE = """\
# pre-up iptables -F
source /etc/network/interfaces.d/*
source-directory more.d
auto lo eth0
allow-hotplug wlan0
pre-up stray
iface lo inet loopback

iface eth0 inet static
    address 192.0.2.1/24
    pre-up iptables-restore < /etc/iptables.rules
\tup iptables -F \\
       -t nat
    post-down iptables -X
    # post-up no
    gateway up
iface eth1 inet dhcp
    post-up by hand
mapping eth2
    script /opt/map.sh
    map up down
iface wlan0 inet6 auto
    up six
"""


def test_commands_of_interfaces():
    assert [(each.line, each.text, each.when) for each in parse_interfaces(SAMPLE_INTERFACES_FILE)] == [
        (11, "iptables-restore < /etc/iptables.rules", "boot"),
        (12, "iptables -F        -t nat", "boot"),
        (14, "iptables -X", "event"),
        (18, "by hand", "event"),
        (20, "/opt/map.sh", "event"),
        (23, "six", "boot"),
    ]


def test_a_pattern_behind_auto():
    assert [each.when for each in parse_interfaces("auto /ens*\niface ens3 inet dhcp\n up x\niface eth0 inet dhcp\n up "
                                                   "x\n")] == ["boot", "event"]


@given(st.text(alphabet="auto ifcep-n\\\n#\r", max_size=200))
def test_no_text_is_too_odd_interfaces_file(text):
    for each in parse_interfaces(text):
        assert 1 <= each.line <= text.count("\n") + 1


# Scripts inside of logrotate's configuration.

SAMPLE_LOGROTATE_CONF = """\
# postrotate is a word of this comment
weekly
/var/log/iptables.log /var/log/other {
    rotate 4
    postrotate
        if [ -x /sbin/iptables ]; then
            systemctl restart iptables
        fi
    endscript
    sharedscripts
    prerotate
    endscript
\tlastaction
iptables -F
\tendscript\x20\x20
}
"""


def test_scripts_keep_their_lines():
    found = parse_logrotate_conf(SAMPLE_LOGROTATE_CONF)
    assert [(each.line, each.when, each.exact) for each in found] == [(6, "timer", True), (14, "timer", True)]
    assert [each.text for each in found] == [
        "        if [ -x /sbin/iptables ]; then\n            systemctl restart iptables\n        fi\n", "iptables -F\n"]


def test_a_file_whose_script_does_not_end_is_refused_as_logrotate_does():
    assert parse_logrotate_conf(SAMPLE_LOGROTATE_CONF + "/x {\npostrotate\niptables -F\n}\n") == []


@given(st.text())
def test_no_text_is_too_odd_logrotate_conf(text):
    for each in parse_logrotate_conf(text):
        assert 1 <= each.line <= text.count("\n") + 1


# Programs that udev's rules start.

@cases
def test_values(rule, wanted):
    assert [each.text for each in parse_udev_rules(rule + "\n")] == wanted


def test_a_rule_goes_on_behind_a_backslash_and_over_comments():
    text = '# one\nSUBSYSTEM=="net", \\\n  # two\n  ACTION=="add", \\\n  RUN+="/opt/fw.sh"\nRUN+="/b" \\'
    assert [(each.line, each.text, each.when)
            for each in parse_udev_rules(text)] == [(2, "/opt/fw.sh", "event"), (6, "/b", "event")]


@given(st.text(alphabet='RUNPOGAM+=":{}\\\'\n #e$%/a b', max_size=200))
def test_no_text_is_too_odd_udev_rules(text):
    for each in parse_udev_rules(text):
        assert 1 <= each.line <= text.count("\n") + 1
