# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of cron and anacron."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.cron_table import (parse_anacron_table,
                                                                                                    parse_cron_table)

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


@pytest.mark.parametrize("command, wanted", [
    ("date +\\%F", "date +%F"),
    ("sh%iptables -F%iptables -X", "sh <<< 'iptables -F\niptables -X'"),
    ("mail -s x root % it's \\% here", "mail -s x root <<< ' it'\\''s % here'"),
])
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
def test_no_text_is_too_odd(text, with_user):
    for each in parse_cron_table(text, with_user) + parse_anacron_table(text):
        assert 1 <= each.line <= text.count("\n") + 1
