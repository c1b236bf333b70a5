# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in /etc/network/interfaces."""

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.interfaces_file import parse_interfaces

SAMPLE = """\
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
    assert [(each.line, each.text, each.when) for each in parse_interfaces(SAMPLE)] == [
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
def test_no_text_is_too_odd(text):
    for each in parse_interfaces(text):
        assert 1 <= each.line <= text.count("\n") + 1
