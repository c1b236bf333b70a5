# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_iptables_backend."""

import json
import re
import subprocess
import sys

import pytest

import backend_trees
import node_tree
from iptables_programs import program
from node_manifests import DEBIAN, merged, running
from node_processes import needs_root, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Completed, Host, OK, OUTPUT_LIMIT
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.backends.iptables_backend import (
    PROGRAMS, collect_iptables_backend)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.rule_sets import Rules
from node_sections import collect_sections
from parsed_texts import parse_save


def look(manifest, tmp_path, place="live"):
    return look_at(node_tree.unpack(merged(DEBIAN, running("6.1.0"), manifest), tmp_path), place)


def look_at(root, place="live"):
    return collect_sections(["iptables_backend"], root, place)["node_iptables_backend"]


def debian(backend, programs=PROGRAMS):
    files = {"usr/sbin/xtables-nft-multi": node_tree.executable(program("nft", "1.8.9")),
             "usr/sbin/xtables-legacy-multi": node_tree.executable(program("legacy", "1.8.9"))}
    for name in programs:
        files["usr/sbin/" + name] = node_tree.link("/etc/alternatives/" + name)
        files["etc/alternatives/" + name] = node_tree.link("/usr/sbin/%s"
                                                           % name.replace("tables", "tables-" + backend, 1))
        files["usr/sbin/" + name.replace("tables", "tables-" + backend,
                                         1)] = node_tree.link("xtables-%s-multi" % backend)
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
    "xtables-multi": ({"sbin/iptables": node_tree.link("xtables-multi"), "sbin/xtables-multi": node_tree.executable()},
                      "legacy"),
    "something": ({"usr/sbin/iptables": node_tree.executable("text")}, None),
    "a link to nowhere": ({"usr/sbin/iptables": node_tree.link("/nowhere")}, "none"),
    "a build that is no link": ({"usr/sbin/iptables": node_tree.executable(program("nft", "1.8.9"))}, "nft"),
    "bridge tools of another backend": (merged(debian("nft"), debian("legacy", ["ebtables", "arptables"])), "nft"),
    "bridge tools alone": (debian("nft", ["ebtables"]), "none"),
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
    assert row == {"name": "iptables", "path": "/usr/sbin/iptables", "target": "/usr/sbin/xtables-nft-multi",
                   "backend": "nft", "version": "1.8.9",
                   "alternative": {"name": None, "mode": None, "auto": None, "link": "/usr/sbin/iptables-nft"}}


def test_links_without_alternatives(tmp_path):
    manifest = {"usr/sbin/iptables": node_tree.link("xtables-nft-multi"),
                "usr/sbin/xtables-nft-multi": node_tree.executable(program("nft", "1.8.5"))}
    row = look(manifest, tmp_path)["binaries"][0]
    assert (row["backend"], row["version"], row["alternative"]) == ("nft", "1.8.5", None)


def test_families_that_were_switched_apart(tmp_path):
    section = look(merged(debian("nft"), debian("legacy", ["ip6tables", "ip6tables-save", "ip6tables-restore"])),
                   tmp_path)
    assert (section["backend"], section["backend_by_family"]) == ("mixed", {"ipv4": "nft", "ipv6": "legacy"})


def group(mode, name, *slaves):
    lines = [mode, "/usr/sbin/" + name] + [line for slave in slaves for line in (slave, "/usr/sbin/" + slave)]
    return "\n".join(lines) + "\n\n/usr/sbin/%s-nft\n20\n" % name


DPKG, CHKCONFIG = "var/lib/dpkg/alternatives/", "var/lib/alternatives/"


def alternatives(section):
    return {row["name"]: (row["alternative"]["name"], row["alternative"]["mode"]) for row in section["binaries"]
            if row["alternative"]}


def test_alternatives_of_debian(tmp_path):
    groups = {DPKG + "iptables": group("manual", "iptables", "iptables-save", "iptables-restore"),
              DPKG + "ip6tables": group("auto", "ip6tables", "ip6tables-save")}
    section = look(merged(debian("nft"), groups), tmp_path)
    found = alternatives(section)
    assert (found["iptables"], found["iptables-restore"]) == (("iptables", "manual"), ("iptables", "manual"))
    assert (found["ip6tables-save"], found["ip6tables-restore"]) == (("ip6tables", "auto"), (None, None))
    assert section["collected"]["alternatives"] == "ok"


def test_alternatives_of_the_red_hat_family(tmp_path):
    found = alternatives(look(merged(debian("nft"), {CHKCONFIG + "iptables": group("auto", "iptables", "ip6tables",
                                                                                   "ip6tables-save")}), tmp_path))
    assert found["ip6tables-save"] == ("iptables", "auto") and found["ebtables"] == (None, None)


def choices(section, *names):
    return [(row["alternative"]["mode"], row["alternative"]["auto"]) for row in section["binaries"]
            if row["name"] in names]


@pytest.mark.parametrize("nft, legacy, auto", [(20, 10, "nft"), (10, 20, "legacy"), (10, 10, "nft")])
def test_the_choice_of_mode_auto(nft, legacy, auto, tmp_path):
    """With dpkg's own update-alternatives: it chooses in auto mode what the section predicts in manual mode."""
    def update(*arguments):
        subprocess.run(["update-alternatives", "--root", root] + list(arguments), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    tree = {name: value for name, value in backend_trees.debian().items()
            if "alternatives" not in name and not re.search(r"sbin/ip6?tables\Z", name)}
    folders = dict.fromkeys(("etc/alternatives", "var/lib/dpkg/alternatives", "var/log"), node_tree.DIRECTORY)
    root = node_tree.unpack(dict(tree, **folders), tmp_path)
    for backend, priority in (("nft", nft), ("legacy", legacy)):
        update("--install", "/usr/sbin/iptables", "iptables", "/usr/sbin/iptables-" + backend, str(priority))
    update("--set", "iptables", "/usr/sbin/iptables-nft")
    by_hand = look_at(root)
    assert choices(by_hand, "iptables") == [("manual", auto)] and by_hand["backend_by_family"]["ipv4"] == "nft"
    update("--auto", "iptables")
    assert look_at(root)["backend_by_family"]["ipv4"] == auto


def test_the_choice_of_mode_auto_in_the_red_hat_family(tmp_path):
    kept = backend_trees.red_hat(mode="manual", choices=(("nft", "@iptables@10"), ("legacy", "@iptables@50")))
    assert choices(look(kept, tmp_path / "a"), "iptables", "ip6tables") == [("manual", "legacy")] * 2
    # A removed program is no choice any more; if a program is of an unknown backend, the choice is unknown.
    assert choices(look(dict(kept, **{"usr/sbin/iptables-legacy": None}), tmp_path / "b"),
                   "iptables") == [("manual", "nft")]
    assert choices(look(dict(kept, **{"usr/sbin/iptables-legacy": WRAPPER}), tmp_path / "c"),
                   "iptables") == [("manual", None)]


@pytest.mark.parametrize("content, status", [("garbage", "unparsed"), (node_tree.FIFO, "unparsed"), (None, "absent")])
def test_alternatives_that_cannot_be_read(content, status, tmp_path):
    section = look(merged(debian("nft"), {DPKG + "iptables": content}), tmp_path)
    assert section["collected"]["alternatives"] == status
    assert section["binaries"][0]["alternative"]["mode"] is None and section["backend"] == "nft"


@pytest.mark.parametrize("text, tables", [("nat\nfilter\n", ["filter", "nat"]), ("", []), (None, None)])
def test_legacy_tables(text, tables, tmp_path):
    assert look({"proc/net/ip_tables_names": text}, tmp_path)["legacy_tables"] == tables


def test_nothing_is_run_and_nothing_running_is_asked_in_an_image(tmp_path):
    section = look(merged(debian("nft"), {"proc/net/ip_tables_names": "nat\n"}), tmp_path, "image")
    assert (section["backend"], section["version"], section["legacy_tables"]) == ("nft", None, None)
    assert section["collected"] == {"binaries": "ok", "version": "absent", "legacy_tables": "absent",
                                    "alternatives": "absent", "rules": "absent", "containers": "absent"}
    assert (section["mixing"]["verdict"] == "unknown" and section["sets"] == []
            and section["kubelet_backend"] == {"ipv4": None, "ipv6": None})


class Recorder(Host):
    """A host that notes what it is asked to run."""

    def __init__(self, root):
        super(Recorder, self).__init__(root)
        self.ran = []

    def run(self, argv, timeout=5.0, limit=OUTPUT_LIMIT):
        self.ran.append(argv)
        return Completed(OK, 0, "iptables-save v1.8.9 (nf_tables)\n")


def test_nothing_is_run_where_the_file_tells_its_version(tmp_path):
    host = Recorder(node_tree.unpack(merged(DEBIAN, running("6.1.0"), debian("nft")), tmp_path))
    assert collect_iptables_backend(host, {"place": "live"})["version"] == "1.8.9"
    assert host.ran == []


def test_the_only_program_that_is_run_is_one_that_loads_no_module(tmp_path):
    # iptables --version loads nfnetlink with the nft backend; iptables-save --version does not.
    silent = {"usr/sbin/xtables-nft-multi": node_tree.executable(b"\x7fELF that tells nothing")}
    host = Recorder(node_tree.unpack(merged(DEBIAN, running("6.1.0"), debian("nft"), silent), tmp_path))
    assert collect_iptables_backend(host, {"place": "live"})["version"] == "1.8.9"
    assert host.ran == [["/usr/sbin/iptables-save", "--version"]]


def test_a_wrapper_is_never_run(tmp_path):
    manifest = merged(debian("nft"), {"usr/sbin/iptables-save": WRAPPER})
    host = Recorder(node_tree.unpack(merged(DEBIAN, running("6.1.0"), manifest), tmp_path))
    assert collect_iptables_backend(host, {"place": "live"})["version"] is None
    assert host.ran == []


HINT = "*mangle\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n"


def read(collected, *sets):
    rules = Rules("live")
    rules.collected.update(collected)
    rules.take("nft_ipv4", [parse_save(text, "live", family, backend) for backend, family, text in sets])
    return rules


def section_of(rules, tmp_path):
    tree = node_tree.unpack(merged(DEBIAN, running("6.1.0"), debian("nft")), tmp_path)
    return collect_iptables_backend(Host(tree), {"place": "live"}, rules)


def test_rules_that_were_read(tmp_path):
    section = section_of(read({"nft_ipv4": "ok", "legacy_ipv4": "absent", "nftables": "denied"}, ("nft", "ipv4", HINT)),
                         tmp_path)
    assert section["kubelet_backend"]["ipv4"] == "nft" and section["sets"][0]["hint"] is True
    assert section["mixing"]["verdict"] == "none" and section["collected"]["rules"] == "ok"


@pytest.mark.parametrize("status", ["denied", "timeout", "unparsed"])
def test_rules_that_were_not_read(status, tmp_path):
    rules = read({"nft_ipv4": "ok", "nft_ipv6": "absent"}, ("nft", "ipv4", HINT))
    rules.miss("legacy_ipv4", status, "iptables-legacy-save did not end")
    section = section_of(rules, tmp_path)
    assert section["collected"]["rules"] == status and section["mixing"]["verdict"] == "unknown"
    assert [row["readable"] for row in section["sets"]] == [True, False]


def test_legacy_support_that_is_gone_is_no_error(tmp_path):
    # The file ip_tables_names does not exist.
    section = section_of(read({"nft_ipv4": "ok", "nft_ipv6": "ok", "legacy_ipv4": "absent", "legacy_ipv6": "absent"},
                              ("nft", "ipv4", HINT)), tmp_path)
    assert section["collected"]["legacy_tables"] == "absent" and section["legacy_tables"] is None
    assert section["collected"]["rules"] == "ok" and section["mixing"]["verdict"] == "none"


def test_kernel_without_any_rules(tmp_path):
    section = section_of(read(dict.fromkeys(("nft_ipv4", "nft_ipv6", "legacy_ipv4", "legacy_ipv6"), "absent")),
                         tmp_path)
    assert section["collected"]["rules"] == "absent" and section["mixing"] == {"verdict": "none",
                                                                               "because": "there are no rules"}


SCRIPT = """\
import json
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.rule_sets import rules_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import open_tree
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.backends.iptables_backend import collect_iptables_backend
host, node = open_tree("/", "live")
print(json.dumps(collect_iptables_backend(host, node, rules_of(host, node))))
"""
KUBELET = "iptables-%s -t mangle -N KUBE-IPTABLES-HINT"
PROXY = ("iptables-%s -t nat -N KUBE-SERVICES; iptables-%s -t nat -A PREROUTING -j KUBE-SERVICES; iptables-%s -t nat "
         "-A KUBE-SERVICES -j RETURN")


@needs_root
@pytest.mark.parametrize(
    "commands, verdict, kubelet, proxy", [
        (["true"], "none", "none", "none"),
        ([KUBELET % "nft", PROXY % (("nft",) * 3)], "none", "nft", "nft"),
        ([KUBELET % "legacy", PROXY % (("legacy",) * 3)], "none", "legacy", "legacy"),
        ([KUBELET % "nft", PROXY % (("legacy",) * 3)], "conflicting", "nft", "legacy"),
        ([KUBELET % "nft", PROXY % (("nft",) * 3), "iptables-legacy -t filter -S"], "harmless", "nft", "nft"),
        ([KUBELET % "nft", PROXY % (("nft",) * 3), "iptables-legacy -A INPUT -p tcp --dport 22 -j ACCEPT"],
         "suspicious", "nft", "nft"),
        ([KUBELET % "nft", PROXY % (("nft",) * 3), "iptables-legacy -A INPUT -j DROP",
          "iptables-nft -A INPUT -s 192.0.2.1 -j DROP"], "conflicting", "nft", "nft"),
        # A native rule that iptables cannot print: the table is not empty.
        ([KUBELET % "nft", "nft add table ip nat", "nft add chain ip nat x",
          "nft 'add rule ip nat x numgen inc mod 2 vmap { 0 : accept, 1 : drop }'"], "unknown", "nft", None),
    ])
def test_against_both_backends_of_this_kernel(commands, verdict, kubelet, proxy, tmp_path):
    environment = {"PYTHONPATH": python_path(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                   "XTABLES_LOCKFILE": str(tmp_path / "lock")}
    process = subprocess.Popen(["unshare", "-n", "sh", "-c", "{ %s; } >&2; exec \"$@\"" % "; ".join(commands), "sh",
                                sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment)
    out, err = process.communicate()
    assert process.returncode == 0, err.decode("utf-8")
    section = json.loads(out.decode("utf-8"))
    assert section["mixing"]["verdict"] == verdict, section["mixing"]
    assert (section["kubelet_backend"]["ipv4"], section["kube_proxy_backend"]["ipv4"]) == (kubelet, proxy)
