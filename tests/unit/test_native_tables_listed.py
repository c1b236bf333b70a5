# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables of dumps: what the real nft lists of the tables that a live node is judged by, as text and as JSON,
in bundles."""

import functools
import json
import os
import re
import subprocess
import sys

import bundles
import native_tables as live
import pytest
from node_processes import needs_root, python_path

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules import nft_native
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.iptables_chains import (
    collect_iptables_chains)

pytestmark = needs_root
LIST = """\
import json, subprocess, sys
given, found = json.load(sys.stdin), []
subprocess.check_call("ip link set lo up && ip address add %s/32 dev lo" % given["own"], shell=True)
for text in given["tables"]:
    subprocess.run(["nft", "flush", "ruleset"], check=True)
    for name, rules in given["kube"]:
        subprocess.run([name], input=rules.encode(), check=True, shell=True)
    dumps = [] if given["mode"] == "nftables" else [subprocess.check_output([name + "-nft-save"]).decode() for name in ("iptables", "ip6tables")]
    subprocess.run(["nft", "-f", "-"], input=text.encode(), check=True)
    found.append([subprocess.check_output(["nft"] + options + ["list", "ruleset"]).decode() for options in ([], ["-j"])] + dumps)
print(json.dumps([open("/proc/net/fib_trie").read(), found]))
"""
FORMS = ("text", "json")
DROPPING = live.chain("forward", 0, policy="drop")
# A policy that refuses all forwarded traffic is certain, whatever the Services are.
REFUSES_ALL = [("unexpected_drop", "inet guard"), ("unjudged_table", "inet guard")]
COUNTED = re.compile(" and to [0-9]+ others")


@functools.lru_cache(maxsize=None)
def listings(mode, *tables):
    """(addresses of the node as /proc has them, [[nft's text, nft's JSON, iptables-save and ip6tables-save if
    any]])."""
    process = subprocess.Popen(["unshare", "-n", "-pf", "--mount-proc", sys.executable, "-c", LIST],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, PYTHONPATH=python_path()))
    given = {"tables": live.broken_into_lines(tables), "kube": live.kube(mode), "mode": mode,
             "own": live.kube_cluster.NODE_IP["ipv4"]}
    out = process.communicate(json.dumps(given).encode())[0]
    assert process.returncode == 0
    return json.loads(out.decode("utf-8"))


def rows_of(section):
    return [(row["kind"], row["table"], row["chain"], row["text"], row["detail"]) for row in section["observations"]
            if " " in row["table"] and "kube" not in row["table"]]


def told(path, files, mode):
    """([(kind, table, chain, text, detail)] of a bundle's native tables, {check: [finding]})."""
    findings, evidence = bundles.judged(bundles.folder(path, files), proxy_mode=mode)
    return rows_of(evidence["node_iptables_chains"]), findings


def unknown_in(findings):
    return " ".join(row["observed"] for row in findings["BUNDLE001"] if row["status"] == "unknown")


def looks(path, mode, tables, form):
    """What a bundle tells of each of these tables, beside the dumps of iptables-save where the mode has them."""
    trie, found = listings(mode, *tables)
    rows = []
    for number, printed in enumerate(found):
        files = {"nft": printed[FORMS.index(form)], "proc/net/fib_trie": trie}
        files.update(("save-%d" % index, dump) for index, dump in enumerate(printed[2:]))
        rows.append(told(path / str(number), files, mode)[0])
    return rows


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["nftables", "iptables"])
def test_a_listing_is_told_as_its_node_is(tmp_path, mode, form):
    tables = [table for _kind, table in live.HARMFUL]
    for (kind, table), here, there in zip(live.HARMFUL, looks(tmp_path, mode, tables, form), live.looks(mode, *tables)):
        assert [found[:3] for found in here] == [tuple(found[:3]) for found in there], (table, here, there)
        assert here[0][0] == kind, (table, here)
        # The set nodeport-ips tells the IPv6 address of a node too, which this one does not have.
        alike = [[COUNTED.sub("", found[4]) for found in rows] for rows in (here, there)]
        assert alike[0] == alike[1]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["nftables", "iptables"])
def test_what_only_looks_like_it(tmp_path, mode, form):
    found = list(zip(live.SILENT, looks(tmp_path, mode, live.SILENT, form)))
    # In JSON nft 1.0.6 prints the family or the name of a table in place of its flags.
    dormant = [rows for table, rows in found if "dormant" in table]
    assert [(table, rows) for table, rows in found if rows and "dormant" not in table] == []
    unjudged = [("unjudged_table", "inet guard")] if form == "json" else []
    assert [[row[:2] for row in rows] for rows in dormant] == [unjudged]


@pytest.mark.parametrize("mode, form", [("nftables", "text"), ("nftables", "json"), ("iptables", "text")])
def test_a_listing_alone(tmp_path, mode, form):
    rows, findings = told(tmp_path, {"nft": listings(mode, DROPPING)[1][0][FORMS.index(form)]}, mode)
    assert rows[0][:4] == ("unexpected_drop", "inet guard", "own", "policy drop")
    # nft does not print all that rules of iptables say: some of the Services may not be known.
    assert mode == "iptables" or len(rows) == 1
    failed = bundles.told(findings, "fail")
    assert len(failed["CHAIN015"]) == 1 and "inet guard own" in failed["CHAIN015"][0]


ROUTES = ("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
          "wg0\t0000F40A\t0100000A\t0003\t0\t0\t0\t0000FFFF\t0\t0\t0\n")


@pytest.mark.parametrize("interface, routes, kinds", [
    ("lxcbr0", ROUTES, []), ("docker0", ROUTES, []), ("wg0", ROUTES, ["unexpected_drop"]),
    ("wg0", "", ["unjudged_table"]), ("tun0", ROUTES, ["unjudged_table"])])
def test_a_bridge_of_others_is_no_tunnel_of_the_nodes(tmp_path, interface, routes, kinds):
    """A route to the pods of other nodes leads through a gateway on the tunnel."""
    trie, [[text, _json]] = listings("nftables", live.chain("forward", -5, 'iifname "%s" drop' % interface))
    files = {"nft": text, "proc/net/fib_trie": trie, "proc/net/route": routes}
    rows, findings = told(tmp_path, files, "nftables")
    assert [row[0] for row in rows] == kinds
    assert ("CHAIN015" in bundles.told(findings, "fail")) is (kinds == ["unexpected_drop"])


@pytest.mark.parametrize("form", FORMS)
def test_a_table_that_breaks_off_has_its_name(tmp_path, form):
    _trie, [[text, as_json, four, six]] = listings("iptables", DROPPING)
    printed = (text[:text.index("table inet guard")] + text[text.index("table inet guard"):][:90]
               if form == "text" else as_json[:-40])
    rows, findings = told(tmp_path, {"nft": printed, "save-4": four, "save-6": six}, "iptables")
    assert [(row[:3], row[4]) for row in rows] == [
        (("unjudged_table", "inet guard", ""), "the end of this table is missing in its listing")]
    assert set(bundles.told(findings, "fail")) == {"CHAIN032"} and "table inet guard" in unknown_in(findings)
    # The whole of it in another file counts.
    rows, _findings = told(tmp_path / "both", {"a": printed, "b": text, "save-4": four, "save-6": six}, "iptables")
    assert [row[0] for row in rows] == ["unexpected_drop"]


def test_a_table_that_is_too_large(tmp_path):
    text = listings("nftables", DROPPING)[1][0][0]
    more = "\t\tip saddr 198.51.100.7 accept\n" * (nft_native.LIST_LIMIT // 20)
    large = text.replace("policy drop;\n", "policy drop;\n" + more)
    assert large != text
    rows = told(tmp_path, {"nft": large}, "nftables")[0]
    assert [(row[:2], row[4]) for row in rows] == [(("unjudged_table", "inet guard"), "this table is too large")]


def test_rules_of_a_file_are_not_those_of_the_machine_that_reads_it(tmp_path):
    """The node's addresses are not in a file: a single endpoint may be one of them."""
    tables = [DROPPING, live.chain("forward", 0, "ip daddr %s accept" % live.PODS, policy="drop", family="ip"),
              live.chain("forward", 0, "ip daddr %s reject" % live.WEB.endpoints[0].address)]
    found = []
    for number, (_text, as_json, *saved) in enumerate(listings("iptables", *tables)[1]):
        files = bundles.folder(tmp_path / str(number),
                               dict({"nft": as_json}, **{"save-%d" % index: dump for index, dump in enumerate(saved)}))
        section = collect_iptables_chains(Host("/"), {"place": "live", "kernel_release": ""}, {
            "src": [str(path) for path in sorted(files.iterdir())], "proxy_mode": "iptables"})
        found.append(rows_of(section)[0][:2])
    assert found == [("unexpected_drop", "inet guard"), ("unjudged_table", "ip guard"),
                     ("unexpected_drop", "inet guard")]


def test_tables_without_those_of_kube_proxy(tmp_path):
    text = listings("nftables", DROPPING)[1][0][0]
    rows, findings = told(tmp_path, {"nft": text[text.index("table inet guard"):]}, "iptables")
    assert [row[:2] for row in rows] == REFUSES_ALL and rows[1][4] == "the Services of this node are not known"
    assert list(bundles.told(findings, "fail")) == ["CHAIN015"] and "CHAIN001" not in bundles.told(findings, "pass")


def test_what_is_not_known_of_json_is_not_passed_over(tmp_path):
    drop = {"rule": {"family": "inet", "table": "guard", "chain": "own",
                     "expr": [{"somethingnew": {}}, {"drop": None}]}}
    strange = {"rule": {"family": "inet", "table": "guard", "chain": "own", "expr": [{"jump": {"target": "\ud800"}}]}}
    other = {"set": {"family": "inet", "table": "guard", "name": "some", "type": "ipv4_addr",
                     "elem": [{"somethingnew": {}}]}}
    rows = []
    for number, added in enumerate((drop, other, strange)):
        told_json = json.loads(listings("nftables", live.chain("forward", 0))[1][0][1])
        told_json["nftables"].append(added)
        rows += [row[:2] for row in told(tmp_path / str(number), {"nft": json.dumps(told_json)}, "nftables")[0]]
    assert rows == [("unjudged_table", "inet guard")] * 2
