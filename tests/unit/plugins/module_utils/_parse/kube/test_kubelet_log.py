# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubelet logs of its one-shot set-up, in the forms it had."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kubelet_log import (PATTERN,
                                                                                                 parse_kubelet_log)

SAID = {
    "1.20": ("W1121 10:00:00.1     812 kubelet_network_linux.go:75] Failed to initialize %s iptables rules; some "
             "functionality may be missing.",
             "I1121 10:00:00.1     812 kubelet_network_linux.go:68] Initialized %s iptables rules."),
    "before 1.24": ('I1121 10:00:00.1 812 kubelet_network_linux.go:80] "Failed to initialize protocol iptables rules; '
                    'some functionality may be missing."'
                    " protocol=%s", 'I1121 10:00:00.1 812 kubelet_network_linux.go:71] "Initialized protocol iptables '
                                    'rules." protocol=%s'),
    "1.24": ('I1121 10:00:00.1     812 kubelet_network_linux.go:71] "Failed to initialize iptables rules; some '
             'functionality may be missing." protocol=%s',
             'I1121 10:00:00.1     812 kubelet_network_linux.go:63] "Initialized iptables rules." protocol=%s'),
    "1.26": ('I1121 10:00:00.1     812 kubelet_network_linux.go:58] "Failed to initialize iptables rules; some '
             'functionality may be missing." protocol="%s"',
             'I1121 10:00:00.1     812 kubelet_network_linux.go:50] "Initialized iptables rules." protocol="%s"'),
    "json": ('{"ts":1763719200000.1,"caller":"kubelet/kubelet_network_linux.go:58","msg":"Failed to initialize '
             'iptables rules; some functionality may be missing.","v":0,"protocol":"%s"}',
             '{"ts":1763719200000.1,"msg":"Initialized iptables rules.","v":0,"protocol":"%s"}'),
    "k0s": ('time="2026-11-21 10:00:00" level=info msg="I1121 10:00:00.1 812 kubelet_network_linux.go:58] \\"Failed to '
            'initialize iptables rules; some functionality may be missing.\\" protocol=\\"%s\\"" component=kubelet '
            'stream=stderr',
            'time="2026-11-21 10:00:00" level=info msg="I1121 10:00:00.1 812 kubelet_network_linux.go:50] '
            '\\"Initialized iptables rules.\\" protocol=\\"%s\\"" component=kubelet stream=stderr'),
}


@pytest.mark.parametrize("version", sorted(SAID))
def test_every_form(version):
    failed, done = SAID[version]
    found = parse_kubelet_log(failed % "IPv4" + "\n" + done % "IPv6" + "\n")
    assert (found["ipv4"][0], found["ipv6"][0]) == (True, False)
    assert "iptables rules" in found["ipv4"][1] and "IPv4" in found["ipv4"][1] and "\\" not in found["ipv4"][1]
    # journalctl is asked with a pattern that has to find both; in small letters it does not tell capitals apart.
    assert all(re.search(PATTERN, line, re.IGNORECASE) for line in (failed, done))


def test_what_was_said_last_counts():
    failed, done = SAID["1.24"]
    assert parse_kubelet_log("\n".join([failed % "IPv4", done % "IPv4"]))["ipv4"][0] is False
    assert parse_kubelet_log("\n".join([done % "IPv4", failed % "IPv4"]))["ipv4"][0] is True


@pytest.mark.parametrize(
    "line", [
        "", "-- No entries --", '"Initialized iptables rules."', 'Initialized iptables rules.\nprotocol="IPv4"',
        "Failed to initialize CSINode", "-- Boot 4 --",
        'E1121 kubelet_network_linux.go:83] "Failed to ensure that iptables hint chain exists" err="exit status 4"',
        '"Initialized iptables rules." protocol="IPv5"',
    ])
def test_what_says_nothing(line):
    assert parse_kubelet_log(line) == {}


@given(st.text() | st.lists(st.sampled_from([line % "IPv4" for pair in SAID.values()
                                             for line in pair]) | st.text(max_size=30)).map("\n".join))
def test_any_text(text):
    found = parse_kubelet_log(text)
    assert set(found) <= {"ipv4",
                          "ipv6"} and all(len(line) < 250 and "\n" not in line for _failed, line in found.values())
