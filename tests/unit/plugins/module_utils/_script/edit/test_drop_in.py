# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a drop-in, the start that restores without flushing, and command lines of units without what flushes."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd.exec import split_arguments
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.edit import drop_in, exec_line


def test_a_drop_in_is_read_as_it_was_written():
    made = drop_in.DropIn()
    made.commands = {"ExecStop": [], "ExecStart": ["-/bin/a 'b c'", "/bin/d"]}
    made.before, made.environment, made.refuse = ["kubelet.service", "k3s.service"], ["A=yes"], True
    read = drop_in.read_drop_in(made.text())
    assert (read.commands, read.before, read.environment,
            read.refuse) == (made.commands, made.before, made.environment, True)
    assert read.text() == made.text()
    assert drop_in.read_drop_in("").text() == drop_in.HEADER


@pytest.mark.parametrize("name, late", [("zzz.conf", True), ("zz-kubenode-netfilter.conf", False),
                                        ("override.conf", False), ("50-a.conf", False)])
def test_which_drop_ins_are_read_later(name, late):
    assert drop_in.sorts_behind("/etc/systemd/system/a.service.d/" + name) is late


SAVED = {"/etc/systemd/scripts/ip4save": True, "/etc/systemd/scripts/ip6save": True, "/etc/sysconfig/iptables": True,
         "/etc/sysconfig/ip6tables": False}
SWITCHES = ["IPTABLES_RESTORE_NOFLUSH=yes", "IP6TABLES_RESTORE_NOFLUSH=yes"]


@pytest.mark.parametrize("argv, settings, knows, expected",
                         [
                             (["/etc/systemd/scripts/iptables"], (), False,
                              (["/sbin/iptables-restore --noflush /etc/systemd/scripts/ip4save",
                                "/sbin/ip6tables-restore --noflush /etc/systemd/scripts/ip6save"], [])),
                             (["/usr/libexec/iptables/iptables.init", "start"], (), False,
                              (["/sbin/iptables-restore --noflush /etc/sysconfig/iptables"], [])),
                             (["/usr/libexec/iptables/ip6tables.init", "start"], (), False, None),
                             (["/usr/sbin/netfilter-persistent", "start"], (), True, (None, SWITCHES)),
                             (["/usr/sbin/netfilter-persistent", "start"], (), False, None),
                             (["/usr/sbin/netfilter-persistent", "start"], ("IPTABLES_RESTORE_NOFLUSH",), True, None),
                             (["/usr/sbin/nft", "-f", "/etc/nftables.conf"], (), True, None), ([], (), True, None),
                         ])
def test_a_start_that_does_not_flush(argv, settings, knows, expected):
    assert drop_in.noflush_start(argv, set(settings), knows, SAVED.get, "/sbin/{}".format) == expected


def test_what_is_not_there_is_not_restored():
    argv = ["/etc/systemd/scripts/iptables"]
    assert drop_in.noflush_start(argv, set(), False, {}.get, "/sbin/{}".format) == ([], [])
    assert drop_in.noflush_start(argv, set(), False, SAVED.get, {"iptables-restore": "/sbin/x"}.get) == (
        ["/sbin/x --noflush /etc/systemd/scripts/ip4save"], [])


@pytest.mark.parametrize("text, restores, expected",
                         [
                             ("/sbin/iptables -F", False, ""),
                             ("/sbin/iptables-restore /etc/rules", True, "/sbin/iptables-restore --noflush /etc/rules"),
                             ("/sbin/iptables-restore /etc/rules", False, ""),
                             ("/bin/sh -c 'iptables -F; logger a'", False, "/bin/sh -c ':; logger a'"),
                             ("/bin/sh -c 'iptables -F; iptables -X; true'", False, ""),
                             ("/bin/bash -ec \"iptables-restore < /etc/rules && logger a\"", True,
                              "/bin/bash -ec \"iptables-restore --noflush < /etc/rules && logger a\""),
                             ("/bin/sh -c 'iptables -F; iptables-restore < /etc/rules'", True,
                              "/bin/sh -c ':; iptables-restore --noflush < /etc/rules'"),
                             ("/bin/sh -c 'iptables -t $${T} -F; logger a'", False, "/bin/sh -c ':; logger a'"),
                             ("/bin/sh -c 'iptables -F; iptables -F; logger a'", False, None),
                             ("/bin/sh -c \"iptables -t \\\"nat\\\" -F; logger a\"", False, None),
                             ("/opt/fw/stop", False, None),
                         ])
def test_a_command_line_of_a_unit(text, restores, expected):
    argv = [word.replace("$$", "$") for word in split_arguments(text)]
    assert exec_line.without_flush(text, argv, restores) == expected
