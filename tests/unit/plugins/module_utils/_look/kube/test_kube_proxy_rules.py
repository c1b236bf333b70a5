# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of a live kube-proxy against the rules of the same node."""

import pytest
import kube_captures
import loopback
from fake_tools import LIVE, LOADED, tools, unpacked
from kube_proxy_captures import replay
from node_manifests import DEBIAN, process
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.node import collect_from

FLUSH = ("failures/flush-nat/kube-proxy-1.36.3-iptables-nft", "2-flushed")
BEFORE = (FLUSH[0], "1-before")


def kube_proxy_of(host, **options):
    return collect_from(host, LIVE, ["kube_proxy"], **options)["node_kube_proxy"]


def look(tmp_path, answers, rules):
    files = {"usr/sbin/" + name: data.decode("utf-8")
             for name, data in kube_captures.packed()[rules[0]][rules[1]].items()}
    print_them = tools('cat "${0%/*}/${name%%-*}-save-c.txt"')
    with loopback.answering(answers) as server:
        place = "127.0.0.1:%d" % server.port
        proxy = process(500, "kube-proxy",
                        ("kube-proxy", "--metrics-bind-address=" + place, "--healthz-bind-address=" + place))
        host = unpacked(tmp_path, DEBIAN, LOADED, print_them, files, proxy)
        return kube_proxy_of(host), server.asked


def states(section):
    return {"%(family)s/%(table)s" % row: row["state"] for row in section["rules"]}


EQUAL = dict.fromkeys(("ipv4/filter", "ipv4/nat", "ipv6/filter", "ipv6/nat"), "equal")


@pytest.mark.parametrize("place, nat, readings", [(BEFORE, "equal", 1), (FLUSH, "fewer", 2)])
def test_equal_rules_are_read_once_and_flushed_ones_are_confirmed(place, nat, readings, tmp_path):
    section, asked = look(tmp_path, replay(*place), place)
    assert (states(section), section["rules_because"]) == (dict(EQUAL, **{"ipv4/nat": nat}), "")
    assert asked.count("/metrics") == readings


class Turns(dict):
    """Other metrics for each reading."""

    def __init__(self, *replays):
        super().__init__(replays[0])
        self.turns = [answers["/metrics"] for answers in replays]

    def get(self, path, default=None):
        return (self.turns.pop(0) if self.turns else (b"",)) if path == "/metrics" else super().get(path, default)


@pytest.mark.parametrize("later", [[replay(FLUSH[0], "4-after-endpoint-change")], []])
def test_a_sync_during_the_look_is_no_difference(later, tmp_path):
    section = look(tmp_path, Turns(replay(*FLUSH), *later), FLUSH)[0]
    assert [(row["family"], row["table"], row["state"], row["because"])
            for row in section["rules"] if row["state"] != "equal"] == [
                ("ipv4", "nat", "unknown", "kube-proxy wrote rules while they were read")]


def test_rules_that_were_written_during_the_look(tmp_path):
    """The first reading of the metrics is from before a change; the rules and the second reading are from after it."""
    after = ("failures/flush-all-with-chains-one-family/kube-proxy-1.36.3-iptables-nft", "4-36s-later")
    changed = replay("flush-nat/kube-proxy-1.36.3-iptables-nft", "4-after-endpoint-change")
    section = look(tmp_path, Turns(changed, replay(*after)), after)[0]
    assert states(section) == EQUAL


@pytest.mark.parametrize("mode, answers", [
    ("nftables", replay("nftables-mode/kube-proxy-1.36.3/small")),
    ("ipvs", dict(replay(*FLUSH), **{"/proxyMode": (b"HTTP/1.0 200 OK\r\n\r\nipvs",)}))])
def test_other_modes_count_nothing(mode, answers, tmp_path):
    section = look(tmp_path, answers, FLUSH)[0]
    assert (section["rules"], section["rules_because"]) == ([], "kube-proxy 1.36.3 counts no rules in %s mode" % mode)


STALE = b"""\
-A KUBE-SVC-ZZZZZZZZZZZZZZZZ ! -s 10.128.0.0/14 -d 172.30.9.9/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ
-A KUBE-SVC-ZZZZZZZZZZZZZZZZ -j KUBE-SEP-ZZZZZZZZZZZZZZZZ
-A KUBE-SEP-ZZZZZZZZZZZZZZZZ -s 10.128.9.9/32 -j KUBE-MARK-MASQ
-A KUBE-SEP-ZZZZZZZZZZZZZZZZ -p tcp -m tcp -j DNAT --to-destination 10.128.9.9:80
"""


@pytest.mark.parametrize("jump, state", [(b"", "equal"), (
    b"-A KUBE-SERVICES -d 172.30.9.9/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-ZZZZZZZZZZZZZZZZ\n", "more")])
def test_chains_that_a_large_cluster_deletes_later_are_not_an_old_dump(jump, state, tmp_path, monkeypatch):
    """A deleted Service in large cluster mode: its chains stay, and no rule leads to them."""
    dumps = dict(kube_captures.packed()[BEFORE[0]][BEFORE[1]])
    text, name = dumps["iptables-save-c.txt"], "iptables-save-c.txt"
    begin, nat, rest = text.partition(b"*nat\n")
    chains = b":KUBE-SVC-ZZZZZZZZZZZZZZZZ - [0:0]\n:KUBE-SEP-ZZZZZZZZZZZZZZZZ - [0:0]\n"
    body, commit, more = rest.partition(b"COMMIT\n")
    dumps[name] = begin + nat + chains + body + STALE + jump + commit + more
    monkeypatch.setitem(kube_captures.packed()[BEFORE[0]], BEFORE[1], dumps)
    section = look(tmp_path, replay(*BEFORE), BEFORE)[0]
    assert states(section) == dict(EQUAL, **{"ipv4/nat": state})


def test_files_of_a_bundle(tmp_path):
    answers = replay("restore-hangs/kube-proxy-1.36.3-iptables-nft", "2-70s-hanging")
    paths = {}
    for source in ("metrics", "healthz"):
        paths[source + "_src"] = str(tmp_path / source)
        (tmp_path / source).write_bytes(answers["/" + source][0])
    host = unpacked(tmp_path / "tree", DEBIAN)
    host.root = "/"
    section = kube_proxy_of(host, **paths)
    assert (section["running"], section["version"], section["pid"]) == (None, "1.36.3", None)
    assert [(row["family"], row["waiting"]) for row in section["sync"]] == [("ipv4", True), ("ipv6", False)]
    assert 60 < section["sync"][0]["waiting_seconds"] < 80
    assert section["health"]["healthz_code"] == 503 and section["health"]["unhealthy_families"] == ["ipv4"]
    # Without the time of the node waiting_seconds is not known.
    section = kube_proxy_of(host, metrics_src=paths["metrics_src"])
    assert (section["sync"][0]["waiting"], section["sync"][0]["waiting_seconds"]) == (True, None)
    # A body alone, as kubectl get --raw saves it.
    body = (tmp_path / "healthz").read_bytes().partition(b"\r\n\r\n")[2]
    (tmp_path / "healthz").write_bytes(body)
    assert kube_proxy_of(host, **paths)["health"]["healthz_code"] == 503
