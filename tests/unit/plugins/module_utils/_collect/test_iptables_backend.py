# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_iptables_backend."""

import pytest

import node_tree
from node_manifests import DEBIAN, merged, running
from ansible_collections.kubenode.netfilter.plugins.module_utils import _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect.iptables_backend import PROGRAMS, collect_iptables_backend
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect.node import collect_sections


def look(manifest, tmp_path, place="live"):
    tree = node_tree.unpack(merged(DEBIAN, running("6.1.0"), manifest), tmp_path)
    return collect_sections(["iptables_backend"], tree, place)["node_iptables_backend"]


def debian(backend, programs=PROGRAMS):
    files = {"usr/sbin/xtables-nft-multi": node_tree.executable(), "usr/sbin/xtables-legacy-multi": node_tree.executable()}
    for program in programs:
        files["usr/sbin/" + program] = node_tree.link("/etc/alternatives/" + program)
        files["etc/alternatives/" + program] = node_tree.link("/usr/sbin/%s" % program.replace("tables", "tables-" + backend, 1))
        files["usr/sbin/" + program.replace("tables", "tables-" + backend, 1)] = node_tree.link("xtables-%s-multi" % backend)
    return files


WRAPPER = node_tree.executable("#!/bin/sh\nexit 1\n")
CASES = {
    "nft": (debian("nft"), "nft"),
    "legacy": (debian("legacy"), "legacy"),
    "mixed": (merged(debian("nft"), debian("legacy", ["ip6tables"])), "mixed"),
    "none": ({}, "none"),
    "a wrapper": ({"usr/sbin/iptables": WRAPPER}, None),
    "a wrapper beside real ones": (merged(debian("nft"), {"usr/sbin/iptables": WRAPPER}), None),
    "an old program of its own": ({"usr/sbin/iptables": node_tree.executable()}, "legacy"),
    "xtables-multi": ({"sbin/iptables": node_tree.link("xtables-multi"), "sbin/xtables-multi": node_tree.executable()}, "legacy"),
    "something": ({"usr/sbin/iptables": node_tree.executable("text")}, None),
    "a link to nowhere": ({"usr/sbin/iptables": node_tree.link("/nowhere")}, "none"),
    "the first in the path": (merged(debian("nft"), {"usr/local/sbin/iptables": WRAPPER}), None),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_backend(case, tmp_path):
    manifest, backend = CASES[case]
    section = look(manifest, tmp_path)
    assert section["backend"] == backend
    assert [row["name"] for row in section["binaries"]] == list(PROGRAMS)
    assert section["collected"]["binaries"] == ("absent" if backend == "none" else "ok")


def test_where_links_lead(tmp_path):
    row = look(debian("nft"), tmp_path)["binaries"][0]
    assert row == {"name": "iptables", "path": "/usr/sbin/iptables", "target": "/usr/sbin/xtables-nft-multi", "backend": "nft"}


@pytest.mark.parametrize("text, tables", [("nat\nfilter\n", ["filter", "nat"]), ("", []), (None, None)])
def test_legacy_tables(text, tables, tmp_path):
    assert look({"proc/net/ip_tables_names": text}, tmp_path)["legacy_tables"] == tables


def test_nothing_is_run_and_nothing_running_is_asked_in_an_image(tmp_path):
    section = look(merged(debian("nft"), {"proc/net/ip_tables_names": "nat\n"}), tmp_path, "image")
    assert (section["backend"], section["version"], section["legacy_tables"]) == ("nft", None, None)
    assert section["collected"] == {"binaries": "ok", "version": "absent", "legacy_tables": "absent"}


class Recorder(_host.Host):
    """A host that notes what it is asked to run."""

    def __init__(self, root):
        super(Recorder, self).__init__(root)
        self.ran = []

    def run(self, argv, timeout=5.0, limit=_host.OUTPUT_LIMIT):
        self.ran.append(argv)
        return _host.Completed(_host.OK, 0, "iptables-save v1.8.9 (nf_tables)\n")


def test_the_only_program_that_is_run_is_one_that_loads_no_module(tmp_path):
    # iptables --version loads nfnetlink with the nft backend; iptables-save --version does not.
    host = Recorder(node_tree.unpack(merged(DEBIAN, running("6.1.0"), debian("nft")), tmp_path))
    assert collect_iptables_backend(host, {"place": "live"})["version"] == "1.8.9"
    assert host.ran == [["/usr/sbin/iptables-save", "--version"]]


def test_a_wrapper_is_never_run(tmp_path):
    manifest = merged(debian("nft"), {"usr/sbin/iptables-save": WRAPPER})
    host = Recorder(node_tree.unpack(merged(DEBIAN, running("6.1.0"), manifest), tmp_path))
    assert collect_iptables_backend(host, {"place": "live"})["version"] is None
    assert host.ran == []
