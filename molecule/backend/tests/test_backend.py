# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused changes nothing, a reboot moves the rules, and what is done once is done."""

import json
import os
import pathlib
import re

import pytest

testinfra_hosts = ["local://"]

FOLDER = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
CLUSTER = {"node61": ("nft", "legacy"), "node612": ("legacy", "nft")}
NODES = [node for node in ("node61", "node612", "node72") if (FOLDER / ("parted-%s.json" % node)).exists()]
OWN = (r"KUBE-(IPTABLES-HINT|KUBELET-CANARY|PROXY-CANARY|FIREWALL|SERVICES|EXTERNAL-SERVICES|NODEPORTS|FORWARD|PROXY-"
       r"FIREWALL|MARK-MASQ|"
       r"POSTROUTING|(SVC|SEP|EXT|SVL|FW)-[A-Z2-7]{16})")
# A chain of kubelet or kube-proxy, a rule in it, or a jump to it; what a comment says counts for nothing.
LINE = re.compile("^(:|-A )%s |.* -[jg] %s$" % (OWN, OWN))

cluster_nodes = pytest.mark.parametrize("node", [node for node in CLUSTER if node in NODES])
fresh_node = pytest.mark.parametrize("node", [node for node in NODES if node not in CLUSTER])


def record(label, node):
    return json.loads((FOLDER / ("%s-%s.json" % (label, node))).read_text())


def rules(label, node, backend):
    """The lines of both families of one backend; none where the kernel has no tables of it."""
    saves = record(label, node)["rules"]
    return [(program, line) for program in sorted(saves) if "-%s-" % backend in program for line in saves[program]]


def held(label, node, backend):
    return [line for _program, line in rules(label, node, backend) if LINE.match(line)]


def programs(label, node, names=("iptables", "ip6tables")):
    """The backends behind all links of these groups."""
    targets = [line for name in names for line in record(label, node)["groups"][name] if line.startswith("/")]
    return {re.search("xtables-(.*)-multi", target).group(1) for target in targets}


def findings(label, node, status="fail"):
    rows = json.loads((FOLDER / "reports" / label / "nodes" / (node + ".json")).read_text())["findings"]
    return [row for row in rows if row["status"] == status]


def reasons(label, node):
    """What the findings about backends tell, for a test that fails."""
    return [(row["check"], status, row["reason"] or row["observed"]) for status in ("fail", "unknown")
            for row in findings(label, node, status) if row["check"].startswith("BACKEND")]


@cluster_nodes
def test_what_is_refused_changes_nothing(node):
    assert held("parted", node, CLUSTER[node][1])
    assert record("refused", node) == record("parted", node)


@cluster_nodes
def test_the_run_says_why(node):
    assert "the node %s is not cordoned" % node in " ".join((FOLDER / ("refused-%s.txt" % node)).read_text().split())


@fresh_node
def test_a_fresh_node_is_aligned(node):
    assert programs("parted", node) == {"nft", "legacy"}
    assert programs("refused", node, ("iptables", "ip6tables", "arptables", "ebtables")) == {"nft"}
    assert record("refused", node)["rules"] == record("parted", node)["rules"]
    assert not [row for row in findings("refused", node) if row["check"] == "BACKEND002"]


@cluster_nodes
def test_the_rules_moved_through_a_reboot(node):
    target, old = CLUSTER[node]
    assert record("migrated", node)["boot"] != record("parted", node)["boot"]
    assert programs("migrated", node) == {target}
    assert not held("migrated", node, old), reasons("migrated", node)
    assert set(held("parted", node, old)) == set(held("migrated", node, target))
    assert not [row for row in findings("migrated", node) if row["check"].startswith("BACKEND")]
    assert not {"CHAIN001", "CHAIN003", "CHAIN004"} & {row["check"] for row in findings("migrated", node)
                                                       + findings("migrated", node, "unknown")}


@fresh_node
def test_a_node_that_is_right_was_not_rebooted(node):
    assert record("migrated", node) == record("refused", node)


@cluster_nodes
def test_again_and_an_undo_that_would_part_live_rules_change_nothing(node):
    assert record("undone", node) == record("migrated", node)


@fresh_node
def test_undo_puts_the_alternatives_back(node):
    assert record("undone", node)["groups"] == record("parted", node)["groups"]
