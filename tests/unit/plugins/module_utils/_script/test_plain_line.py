# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of nft that are read without a shell: the same as with one."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._script import script
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.plain_line import read_plain_line

READ = [
    "/usr/sbin/nft -f /etc/nftables.conf", "/sbin/nft flush ruleset", "nft flush ruleset ip6", "nft list ruleset",
    "nft delete table ip nat", "nft destroy table inet kube-proxy", "nft delete table inet site",
    "nft flush chain ip filter FORWARD", "nft add table ip nat", "nft flush table filter", "nft flush table ip6 raw",
    "/nft flush ruleset"]
LEFT = [
    "nft", "nft -c -f /etc/nftables.conf", "nft -f -", "nft -f /dev/stdin", "nft -f relative",
    "nft -f /etc/nftables.conf -c", "nft -j list ruleset", "nft flush ruleset; true", "nft 'flush ruleset'",
    "nft -f $FILE", "nft -f /etc/*.nft", "nft flush ruleset > /dev/null", "sudo nft flush ruleset",
    "nft flush ruleset &", "nft add rule ip nat x counter -f", "/usr/sbin/nftables flush ruleset",
    "/usr/sbin/iptables -F", "X=1 nft flush ruleset"]


@pytest.mark.parametrize("text", READ)
def test_it_reads_what_the_walk_of_a_script_reads(text, monkeypatch):
    found = read_plain_line(text + "\n")
    monkeypatch.setattr(script, "read_plain_line", lambda _text: None)
    assert found == script.read_script(text + "\n")


@pytest.mark.parametrize("text", [line + "\n" for line in LEFT] + ["nft flush ruleset",
                                                                   "nft flush ruleset\nnft flush ruleset\n", "\n", ""])
def test_everything_else_is_left_to_it(text):
    assert read_plain_line(text) is None
