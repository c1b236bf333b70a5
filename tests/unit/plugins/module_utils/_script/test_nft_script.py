# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts of nft: what their statements take from others."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._script.nft_script import (read_nft_includes,
                                                                                            read_nft_script)

SCRIPT = """\
#!/usr/sbin/nft -f

# flush ruleset
flush ruleset
define t = nat
include "/etc/nftables.d/*.nft"
table inet site {
    # delete table ip nat
    chain input { type filter hook input priority 0; policy accept; flush ruleset; }
    comment "flush ruleset; delete table ip nat"
}
delete table ip $t; flush chain ip filter FORWARD
flush \\
  table filter
include "one.nft"
"""


def told(text):
    return ["%d %s %s %s %s" % (effect.line, effect.sort, ",".join(effect.families), ",".join(effect.tables),
                                ",".join(effect.chains)) for effect in read_nft_script(text)]


def test_a_script():
    assert told(SCRIPT) == [
        "4 ruleset ipv4,ipv6,inet,arp,bridge * *", "12 table ipv4 nat *", "12 flush ipv4 filter FORWARD",
        "13 table ipv4 filter *"]
    assert [SCRIPT[slice(*effect.span)] for effect in read_nft_script(SCRIPT)] == [
        "flush ruleset", "delete table ip $t", "flush chain ip filter FORWARD", "flush \\\n  table filter"]
    assert read_nft_script(SCRIPT)[3].command == "flush table filter"
    assert [(run.line, run.path_or_name, run.how) for run in read_nft_includes(SCRIPT)] == [
        (6, "/etc/nftables.d/*.nft", "source"), (15, "one.nft", "source")]


@pytest.mark.parametrize("text, expected", [
    ("flush ruleset ip6", ["1 ruleset ipv6 * *"]),
    ("flush ruleset;add table x", ["1 ruleset ipv4,ipv6,inet,arp,bridge * *"]),
    ("destroy table ip6 mangle", ["1 table ipv6 mangle *"]),
    ("flush table raw", ["1 table ipv4 raw *"]),
    ("delete table ip kube-proxy", ["1 table ipv4 kube-proxy *"]),
    ("flush table ip flannel-ipv4", ["1 table ipv4 flannel-ipv4 *"]),
    ("flush chain ip kube-proxy services", ["1 table ipv4 kube-proxy services"]),
    ("delete chain ip nat KUBE-SERVICES", ["1 delete ipv4 nat KUBE-SERVICES"]),
    ("flush chain ip6 nat POSTROUTING", ["1 flush ipv6 nat POSTROUTING"]),
    ("delete table ip $unknown", ["1 table ipv4 * *"]),
    ("flush ruleset\r\nadd table inet x\r\n", ["1 ruleset ipv4,ipv6,inet,arp,bridge * *"]),
    ("delete chain ip nat POSTROUTING", []),
    ("flush chain ip filter site-input", []),
    ("flush table inet filter", []),
    ("delete table inet site", []),
    ("flush table ip site", []),
    ("table ip nat { chain x { } }", []),
    ("add table ip nat", []),
    ("delete rule ip nat POSTROUTING handle 5", []),
    ("flush set inet site blocked", []),
    ("list ruleset", []),
    ("add rule inet x y log prefix \"flush ruleset\"", []),
    ("flush", []),
    ("delete table", []),
    ("", []),
])
def test_statements(text, expected):
    assert told(text) == expected


def test_whether_others_come_instead():
    assert [effect.comes_back for effect in read_nft_script("flush ruleset")] == ["no"]
    assert [effect.comes_back for effect in read_nft_script("flush ruleset\ntable inet x { }")] == ["replaced"]
