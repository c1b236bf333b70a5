# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of iptables as nft 1.0.6 lists them, and as iptables-nft-save 1.8.9 prints them."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.ruleset import save_text_of

LISTED = ("table ip filter {\n\tchain FORWARD {\n"
          "\t\ttype filter hook forward priority filter; policy accept;\n\t\t%s\n\t}\n}")


@pytest.mark.parametrize("printed, rule", [
    ("ct state related,established counter packets 0 bytes 0 accept",
     "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"),
    ("ct state ! invalid counter packets 0 bytes 0 accept", "-m conntrack ! --ctstate INVALID -j ACCEPT"),
    ("ct state != invalid counter packets 0 bytes 0 accept", "-m conntrack ! --ctstate INVALID -j ACCEPT"),
    ("ct status dnat counter packets 0 bytes 0 accept", "-m conntrack --ctstate DNAT -j ACCEPT"),
    ("ct status snat counter packets 0 bytes 0 accept", "-m conntrack --ctstate SNAT -j ACCEPT"),
    ("ct status seen-reply,assured counter packets 0 bytes 0 accept",
     "-m conntrack --ctstatus SEEN_REPLY,ASSURED -j ACCEPT")])
def test_states_and_status_of_connections(printed, rule):
    text = save_text_of((LISTED % printed).split("\n"))["ipv4", "filter"]
    assert text.rules == ["-A FORWARD %s" % rule] and text.whole and not text.doubts
