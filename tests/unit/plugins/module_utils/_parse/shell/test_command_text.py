# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of scripts without their secrets."""

import hypothesis
import pytest
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.shell.command_text import LIMIT, masked_text

SECRET = "hunter2-XyZZy"


@pytest.mark.parametrize(
    "command", [
        "iptables -t nat -F", "iptables-save | grep -v KUBE- | iptables-restore --noflush",
        "systemctl restart iptables", "nft flush ruleset", "/sbin/iptables -D INPUT -i lo -p tcp --dport 22 -j ACCEPT",
        "sudo -n /usr/sbin/iptables -F", "sh -c 'iptables -F; iptables -X'", "ip{,6}tables -X",
        '"$IPTABLES" -t "$t" -F', "$IPT -F", "${IPTABLES}-restore $OPT /etc/rules", "timeout -k 5 30s iptables -X",
        "iptables-restore < /etc/iptables/rules.v4", "nft 'flush table ip nat'",
        "update-alternatives --set iptables /usr/sbin/iptables-legacy", "if ! iptables -F; then iptables -X; fi",
        "$tool -t nat -F", '"$tool" -P FORWARD DROP', "${TOOL} -X",
    ])
def test_what_holds_no_secret_stays(command):
    assert masked_text(command) == command


@pytest.mark.parametrize(
    "command, shown", [
        ("TOKEN=%s iptables -F", "TOKEN=*** iptables -F"), ("x='%s' iptables -F", "x=*** iptables -F"),
        ("curl -H 'Authorization: Bearer %s' https://h/ | iptables-restore", "curl -H '...' ... | iptables-restore"),
        ("curl https://u:%s@h/ | iptables-restore", "curl ... | iptables-restore"),
        ("sshpass -p %s iptables -F", "sshpass -p ... iptables -F"),
        ("mysql -p '%s' -e x; iptables -F", "mysql -p ... -e ...; iptables -F"),
        ("echo %s | sudo -S iptables -F", "echo ... | sudo -S iptables -F"),
        ("sudo -S iptables -F <<< '%s'", "sudo -S iptables -F <<< ..."),
        ("iptables-restore <<EOF\n# %s\nEOF", "iptables-restore <<EOF ..."),
        ("sh -c 'A=%s iptables -F'", "sh -c 'A=*** iptables -F'"),
        ("login %s | iptables-restore", "login ... | iptables-restore"),
        ("sh -c 'login %s; iptables -F'", "sh -c 'login ...; iptables -F'"),
        ("trap 'login %s; iptables -F' EXIT", "trap '...; iptables -F' ..."), ("iptables -F # %s", "iptables -F"),
        ("os.system('login %s; iptables -F')", "os.system('...; iptables -F')"),
        ("$login %s | iptables-restore", "... | iptables-restore"),
        ("for w in nat %s; do iptables -F; done", "for ... in nat ...; do iptables -F; done"),
        ('iptables -D INPUT -m comment --comment "%s" -j DROP', "iptables -D INPUT -m comment --comment *** -j DROP"),
        ("x=$(login %s; iptables -F)", "x=$(login ...; iptables -F)"),
        ("vault login %s && iptables -F", "vault ... && iptables -F"),
    ])
def test_secrets(command, shown):
    assert masked_text(command % SECRET) == shown


PIECES = ["iptables -F", ";", "|", "&&", "'", '"', "(", ")", "{ ", " }", "$(", "`", "sh -c", "login", "-p", "sudo", " ",
          "\n", "x=", "<<<"]


@hypothesis.given(st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join))
def test_a_word_beside_a_tool_is_never_shown(text):
    assert SECRET not in masked_text("login %s %s; iptables -F"
                                     % (SECRET, text)) and SECRET not in masked_text("%s ; login %s" % (text, SECRET))


def test_a_long_command_is_cut():
    assert len(masked_text("iptables -F " * 1000)) == LIMIT and masked_text("\n\t iptables\n -F ") == "iptables -F"


@hypothesis.given(st.text(max_size=400))
def test_any_text(text):
    shown = masked_text(text)
    assert len(shown) <= LIMIT and "\n" not in shown


@pytest.mark.parametrize("text", ["echo " * 4000, "<<" * 9000, "A=" * 9000, "-u " * 9000, "'" * 9000, "\\" * 9000,
                                  "a=\"" * 4000])
def test_no_text_takes_long(text):
    assert len(masked_text(text)) <= LIMIT
