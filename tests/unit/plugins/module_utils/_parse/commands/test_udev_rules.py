# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that udev's rules start."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.udev_rules import parse_udev_rules


@pytest.mark.parametrize("rule, wanted", [
    ('ACTION=="add", RUN+="/sbin/iptables -F"', ["/sbin/iptables -F"]),
    ("RUN+=\"/bin/sh -c '/sbin/iptables -F; echo %k'\"", ["/bin/sh -c '/sbin/iptables -F; echo %k'"]),
    ('RUN+="/sbin/iptables -F; echo done"', ["/sbin/iptables '-F;' echo done"]),
    ('RUN{program}="fw"', ["/usr/lib/udev/fw"]),
    ('RUN:="/a", RUN+="/b c"', ["/a", "/b c"]),
    ('RUN{builtin}+="kmod load iptable_nat"', []),
    ('RUN-="/sbin/iptables -F"', []),
    ('PROGRAM=="/bin/x -F $$1 50%%", NAME="y"', ["/bin/x -F '$1' 50%"]),
    ('IMPORT{program}="/lib/udev/z a\'b c\'d"', ["/lib/udev/z 'ab cd'"]),
    ('IMPORT{file}="/etc/iptables -F"', []),
    ('ENV{RUN}="/sbin/iptables -F"', []),
    ('RUN+="/bin/sh -c \\"iptables -F\\""', ["/bin/sh -c 'iptables -F'"]),
    ('RUN+=e"/bin/sh -c \\"iptables\\t-F\\""', ["/bin/sh -c 'iptables\t-F'"]),
    ('# RUN+="/sbin/iptables -F"', []),
    ('RUN+=""', []),
])
def test_values(rule, wanted):
    assert [each.text for each in parse_udev_rules(rule + "\n")] == wanted


def test_a_rule_goes_on_behind_a_backslash_and_over_comments():
    text = '# one\nSUBSYSTEM=="net", \\\n  # two\n  ACTION=="add", \\\n  RUN+="/opt/fw.sh"\nRUN+="/b" \\'
    assert [(each.line, each.text, each.when)
            for each in parse_udev_rules(text)] == [(2, "/opt/fw.sh", "event"), (6, "/b", "event")]


@given(st.text(alphabet='RUNPOGAM+=":{}\\\'\n #e$%/a b', max_size=200))
def test_no_text_is_too_odd(text):
    for each in parse_udev_rules(text):
        assert 1 <= each.line <= text.count("\n") + 1
