# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of nftables mode, read from a real kernel."""

import json

import pytest
import chain_texts as texts
import kube_cluster
import kube_dumps
import kube_nft
from fake_tools import LIVE, unpacked
from node_processes import answer_of, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.iptables_chains import (
    collect_iptables_chains)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import save_lines
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft import kube_tables


def judge(tmp_path, dumps, **options):
    """The section of files {name: content}."""
    return collect_iptables_chains(unpacked(tmp_path, dumps), LIVE,
                                   dict(options, src=["/" + name for name in sorted(dumps)]))


LOOK = """\
import json, os, subprocess, sys
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import host as _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.iptables_chains import collect_iptables_chains
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft import kube_tables as nft_kube_tables
nft_kube_tables.WHOLE_BALANCING = int(sys.argv[3])
subprocess.check_call(["nft", "-f", sys.argv[1]])
node = {"place": "live", "kernel_release": os.uname()[2]}
options = json.loads(sys.argv[2])
json.dump([collect_iptables_chains(_host.Host("/"), node, dict(options, deep=deep)) for deep in (False, True)], sys.stdout)
"""


def looks(tmp_path, text, balancing=kube_tables.WHOLE_BALANCING, **options):
    """[section, section with deep] of a node with these nft rules, and none of this machine's processes; `balancing`:
    a table with more balancing chains than this is read only in part without deep."""
    (tmp_path / "rules").write_text(text, encoding="utf-8")
    arguments = [str(tmp_path / "rules"), json.dumps(options), str(balancing)]
    return answer_of(["unshare", "-n", "-pf", "--mount-proc"], LOOK, *arguments)


@needs_root
@pytest.mark.parametrize("services, balancing, whole", [(30, 7000, True), (3100, 7000, True), (300, 200, False)])
def test_nftables_mode_means_the_same_as_iptables_mode(services, balancing, whole, tmp_path):
    cluster = kube_cluster.plain_cluster("ipv4", services, 3)
    quick, deep = looks(tmp_path, kube_nft.table(cluster).text()
                        + kube_nft.table(kube_cluster.cluster("ipv6", [])).text(), balancing)
    observed = {} if whole else {"unjudged_table": 1}
    assert (quick["mode"], quick["collected"]["nftables"], quick["observed"],
            quick["services"]) == ("nftables", "ok", observed, services)
    iptables = judge(tmp_path, {"v4": kube_dumps.node_dump((1, 30), "iptables", "nft", cluster)[0]})["digest"]
    assert quick["digest"]["services"] == deep["digest"]["services"] == iptables["services"]
    assert (quick["digest"]["endpoints"],
            deep["digest"]["endpoints"]) == (iptables["endpoints"] if whole else None, iptables["endpoints"])
    assert (quick["service_rows"][0]["endpoints"], deep["service_rows"][0]["endpoints"]) == (3 if whole else None, 3)


def kinds(section):
    return [(row["kind"], row["family"], row["chain"]) for row in section["observations"]]


@needs_root
@pytest.mark.parametrize("layout", ["1.30", "1.36"])
def test_rules_of_single_chains_of_a_big_table(layout, tmp_path):
    """nft does not list single chains, because that would fetch every set of the table: the kernel is asked for the
    rules of kube-proxy's own chains only."""
    cluster = kube_cluster.plain_cluster("ipv6", 300, 1)
    text = kube_nft.table(cluster, layout).text() + kube_nft.table(kube_cluster.cluster("ipv4", []), layout).text()
    damage = ("insert rule ip6 kube-proxy services counter drop\nflush chain ip6 kube-proxy nat-output\nflush chain "
              "ip6 kube-proxy masquerading\n")
    quick, deep = looks(tmp_path, text + "flush chain ip6 kube-proxy filter-input\nadd rule ip6 kube-proxy "
                                         "filter-input ct state new accept\n" + damage, 200)
    assert ("unexpected_drop", "ipv6",
            "services") in kinds(quick) and ("anchor_missing", "ipv6", "masquerading") in kinds(quick)
    assert ("anchor_missing", "ipv6",
            "nat-output") in kinds(quick) and set(kinds(quick)) - {("unjudged_table", "ipv6", "")} <= set(kinds(deep))
    assert looks(tmp_path, text, 200)[0]["observed"] == {"unjudged_table": 1}


def test_a_table_that_is_too_large_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(save_lines, "LINES_LIMIT", 40)
    section = judge(tmp_path, {"v4": texts.healthy()})
    assert any("is too large: " in row["evidence"] and " lines of this dump were not read" in row["evidence"]
               for row in section["unread"])


def test_a_saved_table_is_read_as_a_whole_whatever_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(kube_tables, "WHOLE_BALANCING", 0)
    section = judge(tmp_path, {"v4": kube_nft.table(kube_cluster.plain_cluster("ipv4", 3, 2)).text()})
    assert section["service_rows"][0]["endpoints"] == 2
