# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_conntrack on trees of nodes and images."""

import json

import pytest

import node_tree
from conntrack_node import (
    BOOT_ID, BR, BRIDGE, ESTABLISHED, FORWARD, GB, LISTED, MAX, NF, RELEASE, counters, fate, live, look, machine,
    tracking)
from node_manifests import merged, node
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.node import COLLECTORS

RECORD = "var/lib/kubenode-netfilter/conntrack/record.json"


def test_the_figures(tmp_path):
    section = look(tracking(), tmp_path)
    assert (section["max"], section["count"], section["buckets"], section["used_percent"],
            section["max_per_bucket"]) == (131072, 20480, 65536, 15.6, 2.0)
    assert (section["memory_bytes"], section["cpus"]) == (8 * GB, 4)
    assert (section["entry_bytes"], section["entry_bytes_from"],
            section["total_bytes"]) == (320, "the kernel", 131072 * 320 + 65536 * 8)
    assert (section["memory_percent"] == 0.5 and section["timeouts"][ESTABLISHED] == 432000
            and len(section["timeouts"]) == 5)
    assert section["collected"] == {"table": "ok", "counters": "ok", "slab": "ok", "sysctl_d": "absent",
                                    "consumers": "absent", "kernel_log": "absent", "module_options": "absent"}
    assert (section["rates"], section["consumers"], section["kube_proxy"],
            section["missing_keys"]) == (None, None, None, [])
    assert section["hashsize"] == {"now": 65536, "option": None, "option_by": None}
    assert len(json.dumps(section)) < 8 * 1024


def test_nf_conntrack_is_not_loaded(tmp_path):
    section = look(node(RELEASE, ("nf_conntrack", "br_netfilter"), (), merged(machine(), LISTED)), tmp_path)
    assert (section["max"], section["count"], section["used_percent"], section["counters"],
            section["lost"]) == (None, None, None, {}, None)
    assert ([row["key"] for row in section["missing_keys"]][-2:] == [BRIDGE, "net.bridge.bridge-nf-call-ip6tables"]
            and len(section["missing_keys"]) == 10)
    assert section["missing_keys"][0] == {"key": MAX, "module": "nf_conntrack",
                                          "reason": "nf_conntrack is not in the running kernel"}
    assert section["collected"]["table"] == "absent" and fate(section) == (None, 262144, None, 262144, None, None)
    assert (section["size"]["max"] == 131072 and section["size"]["enough"] is True
            and section["limit_when_loaded"] == 262144)


def recorded(**changes):
    return {RECORD: json.dumps({"lost": dict({"boot_id": BOOT_ID, "dropped": 10, "evicted": 300,
                                              "uptime_seconds": 5000}, **changes)})}


@pytest.mark.parametrize(
    "record, lost", [
        (recorded(), (0, 4, "the limit was raised", 5000)),
        (recorded(dropped=50, evicted=304), (0, 0, "the limit was raised", 5000)),
        (recorded(boot_id="another"), (10, 304, "boot", 0)), ({RECORD: "{"}, (10, 304, "boot", 0)),
        ({RECORD: "[]"}, (10, 304, "boot", 0)), ({RECORD: "[" * 100000}, (10, 304, "boot", 0)),
        (recorded(dropped="many"), (10, 304, "boot", 0)), ({RECORD: node_tree.FIFO}, (10, 304, "boot", 0))])
def test_losses_before_the_limit_was_raised_count_no_more(record, lost, tmp_path):
    section = look(tracking(counters(drop=10, early_drop=304), record), tmp_path)
    assert tuple(section["lost"][name] for name in ("dropped", "evicted", "since", "since_uptime_seconds")) == lost


LOG = """\
[    0.000000] Linux version 6.1.0
[ 4999.100000] nf_conntrack: nf_conntrack: table full, dropping packet
[ 5000.100000] nf_conntrack: table full, dropping packet
[ 5100.100000] nf_conntrack: nf_conntrack: table full in netns 4026532000, dropping packet
[ 5100.200000] net_ratelimit: 214 callbacks suppressed
[ 5100.300000] my_nf_conntrack: table fullness
nf_conntrack: table full, dropping packet"""


def dmesg(text, status=0):
    return {"usr/bin/dmesg": node_tree.executable("#!/bin/sh\ncat <<'END'\n%s\nEND\nexit %d\n" % (text, status))}


def test_the_log_is_read_where_something_was_lost(tmp_path):
    section, host = live(tmp_path / "a", counters(early_drop=1), dmesg(LOG))
    assert (section["kernel_log"], section["collected"]["kernel_log"]) == ({"table_full": 4, "since": "boot"}, "ok")
    section, host = live(tmp_path / "b", dmesg(LOG))
    assert (section["kernel_log"]["table_full"], host.ran) == (None, [])
    section, host = live(tmp_path / "c", dmesg(LOG), kernel_log=True)
    assert (section["kernel_log"]["table_full"] == 4
            and section["size"]["peak_because"] == "the table was full since boot")
    section, host = live(tmp_path / "d", counters(early_drop=301), recorded(), dmesg(LOG))
    assert section["kernel_log"] == {"table_full": 2, "since": "the limit was raised"}
    section, host = live(tmp_path / "e", counters(early_drop=1), dmesg("", 1))
    assert (section["kernel_log"]["table_full"], section["collected"]["kernel_log"]) == (None, "denied")
    # Where the counters are missing, the log is the only source.
    section, host = live(tmp_path / "f", {"proc/net/stat/nf_conntrack": None}, dmesg(LOG))
    assert (section["kernel_log"]["table_full"],
            section["size"]["peak_because"]) == (4, "the kernel log shows that it was full")


TABLE = """\
tcp      6 431999 ESTABLISHED src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 src=10.0.0.2 dst=10.0.0.1 sport=2 dport=1 [ASSURED] mark=0 use=1
tcp      6 431998 ESTABLISHED src=10.0.0.1 dst=10.0.0.2 sport=3 dport=2 src=10.0.0.2 dst=10.0.0.1 sport=2 dport=3 [ASSURED] mark=0 use=1
tcp      6 100 TIME_WAIT src=10.0.0.1 dst=10.0.0.2 sport=4 dport=2 src=10.0.0.2 dst=10.0.0.1 sport=2 dport=4 [ASSURED] mark=0 use=1
udp      17 25 src=10.0.0.1 dst=10.96.0.10 sport=5 dport=53 [UNREPLIED] src=10.0.0.9 dst=10.0.0.1 sport=53 dport=5 mark=0 use=1
udp      17 20 src=10.0.0.1 dst=10.96.0.10 sport=6 dport=53 src=10.0.0.9 dst=10.0.0.1 sport=53 dport=6 mark=0 use=1
unknown  2 599 src=10.0.0.1 dst=224.0.0.22 [UNREPLIED] src=224.0.0.22 dst=10.0.0.1 mark=0 use=1
conntrack v1.4.7 (conntrack-tools): 6 flow entries have been shown.
"""


def test_who_fills_the_table(tmp_path):
    tool = {"usr/sbin/conntrack": node_tree.executable("#!/bin/sh\ncat <<'END'\n%sEND\n" % TABLE)}
    loaded = {"proc/modules": "nf_conntrack_netlink 1 0 - Live 0x0\nnf_conntrack 1 0 - Live 0x0\n"}
    section, host = live(tmp_path / "a", tool, loaded, top=True)
    assert [(row["protocol"], row["state"], row["count"]) for row in section["consumers"]] == [
        ("tcp", "ESTABLISHED", 2), ("tcp", "TIME_WAIT", 1), ("udp", None, 1), ("udp", "UNREPLIED", 1),
        ("unknown", "UNREPLIED", 1)]
    # The tool would load nf_conntrack_netlink, so the look does not run it.
    section, host = live(tmp_path / "b", tool, top=True)
    assert (section["consumers"], section["collected"]["consumers"], host.ran) == (None, "absent", [])
    section, host = live(tmp_path / "c", loaded, top=True)
    assert (section["consumers"], section["collected"]["consumers"]) == (None, "absent")
    section, host = live(tmp_path / "d", loaded, {"usr/sbin/conntrack": node_tree.executable("#!/bin/sh\nexit 1\n")},
                         top=True)
    assert (section["consumers"], section["collected"]["consumers"]) == (None, "denied")


def test_a_window(tmp_path):
    section, _host = live(tmp_path, counters(drop=5), window_seconds=1)
    assert section["rates"]["window_seconds"] >= 1.0 and section["rates"]["highest_count"] == 20480
    assert section["rates"]["per_second"]["drop"] == 0.0 and "entries" not in section["rates"]["per_second"]


def test_what_is_lost_during_the_look(tmp_path, monkeypatch):
    """The first section of the look takes so long that the counters grow."""
    root = node_tree.unpack(tracking(counters(drop=7, insert_failed=5, early_drop=1)), tmp_path)

    def busy(look):
        node_tree.unpack(counters(drop=10, insert_failed=7, early_drop=9), tmp_path)
        return {}

    monkeypatch.setitem(COLLECTORS, "cni", busy)
    section = collect_sections(["cni", "conntrack"], root, "live")["node_conntrack"]
    assert (section["growth"]["drop"], section["growth"]["insert_failed"],
            sorted(section["growth"])) == (3, 2, ["drop", "insert_failed", "seconds"])


def test_what_was_lost_before_the_look(tmp_path):
    growth = look(tracking(counters(drop=4711, insert_failed=4711)), tmp_path / "a")["growth"]
    assert (growth["drop"], growth["insert_failed"]) == (0, 0) and growth["seconds"] >= 0
    section, _host = live(tmp_path / "b", counters(drop=5), window_seconds=1)
    assert section["growth"]["drop"] == 0 and section["growth"]["seconds"] >= 1.0
    assert look(tracking({"proc/net/stat/nf_conntrack": None}), tmp_path / "c")["growth"] is None
    assert look(tracking(), tmp_path / "d", "image")["growth"] is None


@pytest.mark.parametrize("seconds", [-1, 301])
def test_a_window_that_is_none(seconds, tmp_path):
    with pytest.raises(BadInput, match="window_seconds is %d" % seconds):
        live(tmp_path, window_seconds=seconds)


def test_hostile_texts_stay_small_and_whole(tmp_path):
    evil = u"\u202e\x1b[31m" * 400
    names = (MAX, BRIDGE, FORWARD, ESTABLISHED)
    manifest = tracking(LISTED, {"etc/sysctl.d/%03d.conf" % number: "%s = %s\n" % (name, evil)
                                 for number, name in enumerate(names)},
                        {NF + "max": evil, BR + "iptables": "\0\xff", NF + "count": "-5\n"})
    section = look(manifest, tmp_path)
    assert section["max"] is None and section["count"] is None and len(json.dumps(section)) < 10 * 1024
