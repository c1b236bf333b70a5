# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of files: secrets are masked, and all other text is shown."""

import hypothesis
import pytest
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.secrets import LIMIT, masked_line

SECRET = "hunter2-XyZZy"


@pytest.mark.parametrize(
    "line", [
        "net.netfilter.nf_conntrack_max = 524288", "options nf_conntrack hashsize=524288", "install ip_vs /bin/true",
        "blacklist ip_vs", '-A KUBE-SVC-X -m comment --comment "kube-system/token-service:http -> 10.1.0.2:53" -j '
                           'KUBE-SEP-X', ":KUBE-SERVICES - [0:0]", "*nat", "COMMIT",
        "[77:7700] -A INPUT -p tcp -m tcp --dport 22 -m recent --set --name key --rsource -j ACCEPT",
        "  iptables -t nat -F", "iptables -p tcp -j DROP", "systemctl restart iptables",
        'Environment="IPTABLES_RESTORE_NOFLUSH=yes"', "ExecStop=", "Before=kubelet.service", "FOO=bar",
        "sudo -u root x", '  "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",',
        '  "/etc/modprobe.d/a.conf": {', "/etc/keys/monkey=4", "/opt/token/x -a", "flush ruleset", "KEYMAP=us",
        "*/5 * * * * root iptables -t nat -F; logger x", "*** was masked by somebody else ***",
    ])
def test_what_is_no_secret_is_shown(line):
    assert masked_line(line) == line


@pytest.mark.parametrize(
    "line, shown", [
        ("password=%s", "password=***"), ("  DB_PASS='a %s' run", "  DB_PASS='***' run"),
        ('"token": "%s",', '"token": "***",'), ("secret: %s", "secret: ***"),
        ("x --token %s --w 5", "x --token *** --w 5"), ("x --api-key=%s -w", "x --api-key=*** -w"),
        ("key = %s", "key = ***"),
        ("curl -H 'Authorization: Bearer %s' x; iptables -F", "curl -H 'Authorization: ***' x; iptables -F"),
        ("curl -u me:%s y", "curl -u me:*** y"), ("git clone https://u:%s@h/x", "git clone https://***@h/x"),
        ("machine h login u password %s", "machine h login u password ***"),
        ("sshpass -p %s iptables -F", "sshpass -p *** iptables -F"), ("mysql -p%s -e x", "mysql -p*** -e x"),
        ("export API_TOKEN=%s", "export API_TOKEN=***"),
        ("install ip_vs curl --user=a:%s h", "install ip_vs curl --user=a:*** h"),
        ("net.ipv6.conf.all.stable_secret = %s", "net.ipv6.conf.all.stable_secret = ***"),
        ('-A X -m comment --comment "password=%s" -j DROP', '-A X -m comment --comment "password=***" -j DROP'),
        (' "before": "install x y --password=\\"%s\\"\\n"', ' "before": "install x y --password=\\"***\\"\\n"'),
    ])
def test_secrets_are_masked_and_the_rest_of_the_line_stays(line, shown):
    assert masked_line(line % SECRET) == shown


PIECES = ["iptables -F", ";", "|", "'", '"', "(", "$(", "sh -c", "-p", " ", "\\", "x=", ":", "https://", "@", "KEY",
          "token", "=", "--"]


@hypothesis.given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
                  st.sampled_from(["--token ", "password=", "API_KEY=", "secret: "]))
def test_nothing_before_it_brings_a_secret_to_light(before, name):
    assert SECRET not in masked_line("%s %s%s" % (before, name, SECRET))


@hypothesis.given(st.text(max_size=400))
def test_any_text_stays_one_line(text):
    assert masked_line(text).count("\n") <= text.count("\n")


def test_a_long_line_is_cut():
    assert len(masked_line("a.token-" * 10 ** 6)) == LIMIT and len(masked_line("mysql -" * 10 ** 6)) == LIMIT
