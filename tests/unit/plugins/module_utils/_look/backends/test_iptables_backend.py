# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_iptables_backend: the programs that run for it, its rules, and the tools of this machine."""


import pytest
import node_tree
from iptables_programs import debian_programs
from node_manifests import DEBIAN, merged, running
from parsed_texts import parse_save
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import OK, OUTPUT_LIMIT, Completed, Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.backends.iptables_backend import (
    collect_iptables_backend)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.rule_sets import Rules

NODE = merged(DEBIAN, running("6.1.0"), debian_programs("nft"))


class Recorder(Host):
    """A host that notes what it is asked to run."""

    def __init__(self, root):
        super(Recorder, self).__init__(root)
        self.ran = []

    def run(self, argv, timeout=5.0, limit=OUTPUT_LIMIT):
        self.ran.append(argv)
        return Completed(OK, 0, "iptables-save v1.8.9 (nf_tables)\n")


@pytest.mark.parametrize("changed, version, ran", [
    ({}, "1.8.9", []),
    # iptables --version loads nfnetlink with the nft backend; iptables-save --version does not.
    ({"usr/sbin/xtables-nft-multi": node_tree.executable(b"\x7fELF that tells nothing")}, "1.8.9",
     [["/usr/sbin/iptables-save", "--version"]]),
    ({"usr/sbin/iptables-save": node_tree.executable("#!/bin/sh\nexit 1\n")}, None, []),
], ids=["the file has its version", "the only program that loads no module", "a wrapper is never run"])
def test_what_is_run_for_the_version(changed, version, ran, tmp_path):
    host = Recorder(node_tree.unpack(merged(NODE, changed), tmp_path))
    assert collect_iptables_backend(host, {"place": "live"})["version"] == version
    assert host.ran == ran


HINT = "*mangle\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n"


def read(collected, *sets):
    rules = Rules("live")
    rules.collected.update(collected)
    rules.take("nft_ipv4", [parse_save(text, "live", family, backend) for backend, family, text in sets])
    return rules


def section_of(rules, tmp_path):
    return collect_iptables_backend(Host(node_tree.unpack(NODE, tmp_path)), {"place": "live"}, rules)


@pytest.mark.parametrize("status", ["denied", "timeout", "unparsed"])
def test_rules_that_were_not_read(status, tmp_path):
    rules = read({"nft_ipv4": "ok", "nft_ipv6": "absent"}, ("nft", "ipv4", HINT))
    rules.miss("legacy_ipv4", status, "iptables-legacy-save did not end")
    section = section_of(rules, tmp_path)
    assert section["collected"]["rules"] == status and section["mixing"]["verdict"] == "unknown"
    assert [row["readable"] for row in section["sets"]] == [True, False]


NO_LEGACY = {"nft_ipv4": "ok", "nft_ipv6": "ok", "legacy_ipv4": "absent", "legacy_ipv6": "absent"}


@pytest.mark.parametrize("collected, sets, read_rules, kubelet, because", [
    ({"nft_ipv4": "ok", "legacy_ipv4": "absent", "nftables": "denied"}, [("nft", "ipv4", HINT)], "ok", "nft", None),
    # The file ip_tables_names does not exist.
    (NO_LEGACY, [("nft", "ipv4", HINT)], "ok", "nft", None),
    (dict.fromkeys(NO_LEGACY, "absent"), [], "absent", "none", "there are no rules"),
], ids=["rules of one family", "legacy support is gone", "no rules"])
def test_rules_that_were_read(collected, sets, read_rules, kubelet, because, tmp_path):
    section = section_of(read(collected, *sets), tmp_path)
    assert (section["collected"]["rules"], section["kubelet_backend"]["ipv4"]) == (read_rules, kubelet)
    assert section["mixing"]["verdict"] == "none" and because in (None, section["mixing"]["because"])
    assert [row["hint"] for row in section["sets"]] == [True] * len(sets)
    assert section["collected"]["legacy_tables"] == "absent" and section["legacy_tables"] is None
