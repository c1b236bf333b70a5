# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_iptables_chains: it passes on readings and observations, is bounded, and is the same for the same
rules."""

import gc
import json
import os

import chain_texts as texts
import kube_audit
import node_tree
import pytest
from case_rows import cases
from fake_tools import LIVE, LOADED, NO_RULES, script, tools, unpacked
from node_manifests import merged
from pod_networks import masquerading, pods

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.bounds import SIZE_LIMIT
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules import answers
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.iptables_chains import (
    collect_iptables_chains,
)

# The counts that node_dump gives for a cluster with every kind of Service, beside Calico's rules.
SERVICES, ENDPOINTS, EMPTY_CHAINS = 53, 75, 29
NO_KUBE_PROXY, KUBELET = {"mode": None, "version": None}, {"running": True, "version": "1.30.2",
                                                           "version_source": "kubelet --version"}


def saved(backend="nft"):
    return kube_audit.sample("1.8.9-%s-ipv4" % backend)


IPVS = "*nat\n:KUBE-LOAD-BALANCER - [0:0]\n:KUBE-SERVICES - [0:0]\nCOMMIT\n"


def judge(tmp_path, dumps, **options):
    """The section of files {name: content}."""
    return collect_iptables_chains(unpacked(tmp_path, dumps), LIVE,
                                   dict(options, src=["/" + name for name in sorted(dumps)]))


def live(tmp_path, *manifests, **options):
    return collect_iptables_chains(unpacked(tmp_path, LOADED, *manifests), LIVE, options, NO_KUBE_PROXY, KUBELET)


def prints(text):
    """Tools of which iptables-save prints a dump and ip6tables-save nothing."""
    return merged(tools('case $name in iptables*) cat "${0%/*}/dump";; esac'), {"usr/sbin/dump": text})


def test_a_healthy_dump(tmp_path):
    section = judge(tmp_path, {"v4.gz": node_tree.compressed(saved())})
    assert (section["source"], section["collected"], section["unread"]) == ("files", {"v4.gz": "ok"}, [])
    assert (section["mode"], section["kubernetes"]) == ("iptables", None)
    assert section["observed"] == {"without_endpoints": 3} and len(section["observations"]) == 1
    row = section["rule_sets"][0]
    assert (row["family"], row["backend"], row["source"], row["version"]) == ("ipv4", "nft", "v4.gz", "1.8.9")
    nat = sum(line.startswith("-A KUBE-")
              for line in saved().partition("*nat\n")[2].partition("COMMIT")[0].splitlines())
    assert row["kube_rules_by_table"]["nat"] == nat and section["rules"] == row["rules"] > nat
    assert (section["services"], section["rules_per_service"]) == (SERVICES, 6.2)
    assert len(section["service_rows"]) == 20 and section["service_rows_left_out"] == SERVICES - 20
    rows = {row["address"]: row for row in section["service_rows"]}
    assert (rows["10.96.0.1"]["name"], rows["10.96.0.1"]["endpoints"],
            rows["10.96.0.1"]["port"]) == ("default/kubernetes:https", 1, 443)
    assert section["digest"]["endpoint_count"] == ENDPOINTS and section["digest"]["read_at"] == section["read_at"]
    assert section["counters"] is None and section["footprint"]["own_peak_bytes"] > 0 and section["schema"] == 1
    assert [row["owner"] for row in section["owners"]] == ["calico", "cni", "kube_proxy", "kubelet", "other", "portmap"]


def test_the_same_rules_live_and_in_a_file_mean_the_same(tmp_path):
    (tmp_path / "a").mkdir()
    file, node = judge(tmp_path / "a", {"v4": saved("legacy")}), live(tmp_path, prints(saved()))
    same = ("services", "service_rows", "rules", "rules_per_service", "mode")
    assert [file[key] for key in same] == [node[key] for key in same]
    # Services without endpoints are asked of dumps alone.
    assert file["observed"] == dict(node["observed"], without_endpoints=3)
    assert {key: file["digest"][key]
            for key in ("services", "endpoints")} == {key: node["digest"][key] for key in ("services", "endpoints")}
    assert node["collected"] == {"nft_ipv4": "ok", "nft_ipv6": "ok", "legacy_ipv4": "absent", "legacy_ipv6": "absent",
                                 "nftables": "absent"}
    assert (node["source"], node["kubernetes"], node["kubernetes_source"]) == ("live", "1.30", "kubelet --version")


def test_damage_is_told_and_examples_are_limited(tmp_path):
    damaged = saved().replace("-m mark ! --mark 0x4000/0x4000 -j RETURN", "-j RETURN")
    damaged = "".join(line + "\n" for line in damaged.splitlines() if "-j KUBE-SEP-" not in line)
    section = judge(tmp_path, {"v4": damaged}, max_offenders=2)
    assert section["observed"]["lost_match"] == 1 and section["observed"]["empty_service_chain"] == EMPTY_CHAINS
    assert [row["kind"] for row in section["observations"]].count("empty_service_chain") == 2
    repairs = {row["kind"]: row["repair"] for row in section["observations"]}
    assert repairs["lost_match"].endswith(" -w 5 -t nat -D KUBE-POSTROUTING -j RETURN")
    assert repairs["empty_service_chain"].endswith(" -w 5 -t mangle -X KUBE-PROXY-CANARY")


def test_a_repair_has_the_program_beside_the_one_that_printed_the_rules():
    assert answers._programs({
        "nft_ipv6": ["/usr/sbin/ip6tables-save"], "legacy_ipv6": ["/usr/sbin/ip6tables-legacy-save"],
        "legacy_ipv4": ["/usr/sbin/xtables-multi", "iptables-save"]}) == {
            ("ipv6", "nft"): "ip6tables", ("ipv6", "legacy"): "ip6tables-legacy"}


@cases
def test_what_is_judged_for(options, mode, kubernetes, tmp_path):
    section = judge(tmp_path, {"v4": saved()}, **options)
    assert (section["mode"], section["kubernetes"]) == (mode, kubernetes)
    assert section["mode_source"] == ("given as an option" if options else "from KUBE-SERVICES in nat")


def test_dumps_of_several_modes_are_not_called_healthy(tmp_path):
    section = judge(tmp_path, {"a": saved(), "b": IPVS})
    assert section["mode"] is None and "give proxy_mode" in section["unread"][-1]["evidence"]
    assert not any(row["source"] == "files"
                   for row in judge(tmp_path, {"a": saved(), "b": IPVS}, proxy_mode="iptables")["unread"])


def test_the_running_kube_proxy_tells_its_mode(tmp_path):
    host = unpacked(tmp_path, LOADED, prints(saved()))
    section = collect_iptables_chains(host, LIVE, {},
                                      {"mode": "ipvs", "mode_source": "--proxy-mode", "version": "1.31.0"}, KUBELET)
    assert (section["mode"], section["mode_source"], section["kubernetes"]) == ("ipvs", "--proxy-mode", "1.31")


def test_what_could_not_be_read_is_missing_nowhere(tmp_path):
    hint = saved().replace(":KUBE-IPTABLES-HINT - [0:0]\n", "")
    one = tools('case $name in ip6*) exit 1;; *) cat "${0%/*}/dump";; esac')
    section = live(tmp_path, one, {"usr/sbin/dump": hint, "proc/net/ip_tables_names": "mangle\n"})
    assert (section["collected"]["nft_ipv6"], section["collected"]["legacy_ipv4"]) == ("unparsed", "unparsed")
    # The hint may be in the legacy table that could not be read, and so may Services.
    assert "hint_missing" not in section["observed"] and section["digest"]["services"] is None
    (tmp_path / "again").mkdir()
    known = live(tmp_path / "again", prints(hint))
    assert known["observed"]["hint_missing"] == 1 and known["digest"]["services"]


def test_nothing_at_all_where_kube_proxy_runs_is_told(tmp_path):
    proxy = {"mode": "iptables", "mode_source": "--proxy-mode", "version": None}
    bare = unpacked(
        tmp_path, {"proc/modules": "", "proc/sys/kernel/modprobe": "x", "lib/modules/6.1.0-49-amd64/modules.dep": "",
                   "lib/modules/6.1.0-49-amd64/modules.dep.bin": "x", "lib/modules/6.1.0-49-amd64/modules.builtin": ""})
    section = collect_iptables_chains(bare, LIVE, {}, proxy, KUBELET)
    assert set(section["collected"].values()) == {"absent"} and section["observed"]["chains_missing"] == 1
    silent = collect_iptables_chains(unpacked(tmp_path, {"proc/modules": "nf_tables 1 0 - Live 0x0\n"}), LIVE, {},
                                     proxy, KUBELET)
    assert silent["observed"] == {} and silent["collected"]["nft_ipv4"] == "unparsed" and silent["unread"]


def test_an_image_is_not_judged(tmp_path):
    host = unpacked(tmp_path, LOADED, prints(saved()))
    section = collect_iptables_chains(host, dict(LIVE, place="image"), {}, NO_KUBE_PROXY, KUBELET)
    assert (host.ran, section["source"], section["rule_sets"], section["observations"]) == ([], None, [], [])
    assert set(section["collected"].values()) == {"absent"}


NFT = {"usr/sbin/nft": script('echo "Error: No such file or directory" >&2; exit 1')}


@pytest.mark.parametrize("mode, nft, status, ran", [
    ("iptables", {}, "absent", 0), (None, {}, "unparsed", 0), ("nftables", {}, "unparsed", 0),
    # Two of the nft commands are for host ports.
    ("iptables", NFT, "absent", 4), ("nftables", NFT, "unparsed", 3),
    ("nftables", {"usr/sbin/nft": script("exit 1")}, "unparsed", 3),
    ("iptables", {"usr/sbin/nft": script("exit 1")}, "unparsed", 4),
    ("nftables", {"usr/sbin/nft": script("echo junk")}, "absent", 3)])
def test_how_much_is_asked_of_nft(mode, nft, status, ran, tmp_path):
    host = unpacked(tmp_path, LOADED, tools(NO_RULES), nft)
    section = collect_iptables_chains(host, LIVE, {"proxy_mode": mode}, NO_KUBE_PROXY, KUBELET)
    assert section["collected"]["nftables"] == status
    assert len([line for line in host.ran if line.startswith("/usr/sbin/nft")]) == ran
    assert bool([row for row in section["unread"] if row["source"] == "nftables"]) is (status == "unparsed")


HOSTILE = "*filter\n" + "".join(":%s%d DROP [0:0]\n:KUBE-%d%s - [0:0]\n" % ("P" * 500, n, n, "K" * 500)
                                for n in range(300)) + "".join(
                                    '-A KUBE-%d -m comment --comment "\x1b[31m<script>%s\n" -j NOWHERE-%d\n-A FORWARD '
                                    '-j DROP\n-A KUBE-SVC-%d -j DROP\n%s\n' % (
                                        n, "\u202e" * 5000, n, n, "junk" * 500) for n in range(300)) + "COMMIT\n"


@pytest.mark.parametrize("number", [1, 20])
def test_the_section_stays_small_whatever_the_files_hold(number, tmp_path):
    tables = "".join(HOSTILE.replace("*filter", "*table%d" % n) for n in range(3)) + HOSTILE
    section = judge(tmp_path, {"n" * 200 + str(n): tables if n < 3 else saved() for n in range(number)})
    size = len(json.dumps(section))
    assert size <= SIZE_LIMIT, {key: len(json.dumps(section[key])) for key in section}
    assert section["observed"] and section["observations"] and section["notices"]
    assert {row["kind"] for row in section["observations"]} == set(section["observed"])
    assert len(section["collected"]) == number


def test_a_megabyte_of_comment_is_a_notice(tmp_path):
    section = judge(tmp_path, {"v4": saved().replace("*nat\n", '*nat\n-A PREROUTING -m comment --comment "%s" -j '
                                                               'ACCEPT\n' % ("x" * 1000000))})
    assert len(json.dumps(section)) < SIZE_LIMIT and section["notices"] and "anchor_shadowed" not in section["observed"]


@cases
def test_bad_input_is_one_sentence(options, why, tmp_path):
    with pytest.raises(_errors.BadInput, match=why):
        collect_iptables_chains(unpacked(tmp_path), LIVE, options, NO_KUBE_PROXY, KUBELET)
    assert gc.isenabled()


COUNTS = """case $name in ip6*) exit 0;; esac
runs=$(cat "${0%/*}/runs"); echo $((runs + 1)) > "${0%/*}/runs"
printf '%s' "$DUMP"
case $1 in
-c) printf '*nat\\n:KUBE-SERVICES - [0:0]\\n[%d:0] -A KUBE-SERVICES -j RETURN\\n[9:9] -A INPUT -j ACCEPT\\nCOMMIT\\n' $((BEGIN + runs * STEP));;
*) printf '*nat\\n:KUBE-SERVICES - [0:0]\\n-A KUBE-SERVICES -j RETURN\\nCOMMIT\\n';;
esac"""


# Nothing leads to KUBE-SERVICES here, so the rules are read twice before the counters.
@pytest.mark.parametrize("begin, step, moved, packets", [(5, 0, False, 0), (0, 7, True, 7), (140, -40, True, 20)])
def test_counters_that_move(begin, step, moved, packets, tmp_path):
    text = COUNTS.replace("BEGIN", str(begin)).replace("STEP", str(step)).replace("printf '%s' \"$DUMP\"\n", "")
    section = live(tmp_path, tools(text), {"usr/sbin/runs": "0"}, window_seconds=1)
    assert (section["counters"]["moved"], section["counters"]["packets"]) == (moved, packets)
    assert section["counters"]["seconds"] >= 1


def test_counters_that_cannot_be_read(tmp_path):
    section = live(tmp_path, tools('test -z "$1"'), window_seconds=1)
    assert section["collected"]["nft_ipv4"] == "ok" and section["counters"] is None


def test_what_is_not_named_is_counted_wherever_it_was_cut(tmp_path):
    lines = ["-A MINE -s 192.0.2.%d/32 -p tcp -m comment --comment %s -j NOWHERE%d" % (number, "x" * 200, number)
             for number in range(40)]
    damaged = texts.adding(texts.healthy(), "filter", ":MINE - [0:0]", *lines)
    for shown in (1, 5, 50):
        section = judge(tmp_path / str(shown), {"v4": damaged}, max_offenders=shown)
        named = sum(row["kind"] == "dangling_jump" for row in section["observations"])
        assert named <= shown and named + section["left_out"].get("dangling_jump", 0) == 40
    jumps = [line for line in texts.healthy().split("\n")
             if line.startswith(("-A INPUT", "-A FORWARD", "-A OUTPUT", "-A PREROUTING", "-A POSTROUTING"))]
    section = judge(tmp_path / "anchors", {"v4": texts.without(texts.healthy(), *jumps)}, kubernetes_version="1.30")
    told = [(row["table"], row["text"]) for row in section["observations"] if row["kind"] == "anchor_missing"]
    assert told[:3] == [("nat", "-A OUTPUT -j KUBE-SERVICES"), ("nat", "-A PREROUTING -j KUBE-SERVICES"),
                        ("nat", "-A POSTROUTING -j KUBE-POSTROUTING")]
    assert section["left_out"]["anchor_missing"] == len(jumps) - len(told)


def test_rules_that_pods_lost(tmp_path):
    host = unpacked(tmp_path, pods([2]), masquerading([]))
    for path in tmp_path.glob("var/lib/cni/results/*"):
        os.utime(str(path), (1e9, 1e9))
    section = collect_iptables_chains(host, LIVE, None, NO_KUBE_PROXY, KUBELET)
    assert [(row["kind"], row["missing"], row["pods"]) for row in section["expected"]] == [
        ("pod_masquerade", 1, ["shop/web-2"])]
