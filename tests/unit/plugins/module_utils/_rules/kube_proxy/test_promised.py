# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that kube-proxy counts against rules in the kernel: real captures of both."""

import pytest

import kube_captures
import kube_proxy_captures
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_health import is_waiting
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.save import SaveReader
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_metrics import (
    parse_kube_proxy_metrics)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.promised import (
    compare_rules, own_rules)


def counted(text):
    reader = SaveReader("test")
    reader.feed(text)
    return {name: own_rules(table) for rules in reader.close() for name, table in rules.tables.items()}


def compared(place):
    """{"family/table": (promised, in the kernel, state)} of a capture, where they are not equal."""
    text = kube_proxy_captures.texts()[place]["metrics"].decode("utf-8")
    families = parse_kube_proxy_metrics(text)["families"]
    dumps = kube_captures.packed().get(place[0], {}).get(place[1], {})
    readings = {family: [counted(dumps.get(name + "-save-c.txt", b""))]
                for family, name in (("ipv4", "iptables"), ("ipv6", "ip6tables"))}
    rows = compare_rules({family: row["rules"] for family, row in families.items()}, readings,
                         [family for family, row in families.items() if is_waiting(row)])
    return {"%(family)s/%(table)s" % row: (row["promised"], row["in_kernel"], row["state"])
            for row in rows if row["state"] != "equal"}


def test_every_healthy_capture_is_equal():
    places = [place for place in kube_proxy_captures.texts() if place[0].startswith("iptables-mode/") and not place[1]]
    assert len(places) >= 9
    assert [place for place in places if compared(place)] == []


@pytest.mark.parametrize(
    "directory, snapshot, found", [
        ("flush-nat/kube-proxy-1.36.3-iptables-nft", "2-flushed", {"ipv4/nat": (314, 0, "fewer")}),
        ("flush-nat/kube-proxy-1.36.3-iptables-nft", "5-36s-later", {"ipv4/nat": (311, 63, "fewer")}),
        ("flush-nat/kube-proxy-1.34.9-iptables-legacy", "4-after-endpoint-change", {"ipv4/nat": (311, 63, "fewer")}),
        ("flush-filter-and-nat-with-chains/kube-proxy-1.36.3-iptables-legacy", "2-36s-later",
         {"ipv4/filter": (18, 0, "fewer"), "ipv4/nat": (314, 0, "fewer")}),
        ("flush-all-with-chains-one-family/kube-proxy-1.36.3-iptables-nft", "3-ipv6-flushed",
         {"ipv6/filter": (17, 0, "fewer"), "ipv6/nat": (300, 0, "fewer")}),
        ("flush-all-with-chains-one-family/kube-proxy-1.36.3-iptables-nft", "4-36s-later", {}),
        ("old-dump-restored/kube-proxy-1.36.3-iptables-legacy", "3-36s-later", {"ipv4/nat": (259, 314, "more")}),
        ("old-dump-restored/kube-proxy-1.36.3-iptables-legacy", "5-36s-later", {}),
        # One series counts both families: a number equal to that of either family is right, and 249 equals neither.
        ("old-dump-restored/kube-proxy-1.30.5-iptables-nft", "2-restored", {"all/nat": (249, 248, "fewer")}),
        ("flush-nat/kube-proxy-1.30.5-iptables-legacy", "2-flushed", {}),
        ("flush-nat/kube-proxy-1.30.5-iptables-legacy", "5-36s-later", {"all/nat": (301, 300, "fewer")}),
        # The wanted rules do not exist yet.
        ("lock-held/kube-proxy-1.36.3-iptables-legacy", "2-41s-held", {"ipv4/nat": (311, 314, "unknown")}),
        ("restore-hangs/kube-proxy-1.36.3-iptables-nft", "2-70s-hanging", {"ipv4/nat": (311, 314, "unknown")}),
        ("backend-switched/kube-proxy-1.36.3-iptables-nft", "1-first-backend", {}),
        ("many-changes/kube-proxy-1.36.3-iptables-nft", "2-during", {}),
        ("deleted-jumps/kube-proxy-1.36.3-iptables-legacy", "1-deleted", {}),
    ])
def test_what_was_provoked(directory, snapshot, found):
    assert compared(("failures/" + directory, snapshot)) == found


OTHERS = """\
*nat
:KUBE-MARK-DROP - [0:0]
:KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]
:OTHER - [0:0]
-A KUBE-MARK-DROP -j MARK --or-mark 0x8000
-A KUBE-SVC-AAAAAAAAAAAAAAAA -j RETURN
-A OTHER -j KUBE-SVC-AAAAAAAAAAAAAAAA
COMMIT
*filter
:KUBE-FIREWALL - [0:0]
:KUBE-FORWARD - [0:0]
:KUBE-NWPLCY-AAAAAAAAAAAAAAAA - [0:0]
:KUBE-ROUTER-INPUT - [0:0]
-A KUBE-FIREWALL -m mark --mark 0x8000/0x8000 -j DROP
-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -j DROP
-A KUBE-FORWARD -j ACCEPT
-A KUBE-NWPLCY-AAAAAAAAAAAAAAAA -j RETURN
-A KUBE-ROUTER-INPUT -j RETURN
COMMIT
"""


def test_chains_of_kubelet_and_kube_router_are_not_counted():
    counts = counted(OTHERS.encode())
    assert counts == {"nat": (1, 0), "filter": (1, 1)}
    # KUBE-FIREWALL belongs to kube-proxy or to kubelet.
    for promised in (1, 2):
        assert compare_rules({"ipv4": {"filter": promised}}, {"ipv4": [counts], "ipv6": [{}]},
                             [])[0]["state"] == "equal"
    assert compare_rules({"ipv4": {"filter": 3}}, {"ipv4": [counts], "ipv6": [{}]}, [])[0]["in_kernel"] == 2


@pytest.mark.parametrize(
    "readings, state, why", [
        ([None], "unknown", "the rules could not be read"), ([{"nat": None}], "unknown", "the rules could not be read"),
        ([None, {"nat": (5, 0)}], "equal", ""), ([{"nat": (4, 0)}, None], "unknown", "the rules could not be read"),
        ([{"nat": (9, 0)}, {"nat": (5, 0)}], "equal", ""), ([{}], "fewer", ""),
        ([{"nat": (9, 0)}, {"nat": (4, 0)}], "fewer", ""),
    ])
def test_rules_of_two_backends_and_rules_that_could_not_be_read(readings, state, why):
    row = compare_rules({"ipv4": {"nat": 5}}, {"ipv4": readings, "ipv6": [{}]}, [])[0]
    assert (row["state"], row["because"]) == (state, why)


def test_a_version_that_counts_nothing():
    assert compare_rules({"all": None}, {"ipv4": [{}], "ipv6": [{}]}, []) == []
