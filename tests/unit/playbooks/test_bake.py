# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""bake.yml, really run: on the tree of an image, and on this machine as a builder that has booted its image."""

import json
import os
import pathlib
import re
import sys

import backend_trees
import fleets
import hook_nodes
import node_tree
import pytest
from node_manifests import merged, node

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

OWN = "etc/modules-load.d/kubenode-netfilter.conf"
CRON = "MAILTO=root\n0 3 * * * root iptables -t nat -F\n5 4 * * * root /usr/bin/true\n"
KEYS = ("ipv4.ip_forward", "ipv6.conf.all.forwarding", "bridge.bridge-nf-call-iptables",
        "bridge.bridge-nf-call-ip6tables")
SYSCTLS = "".join("net.%s = 1\n" % key for key in KEYS)
BLOCK = "# hardening\ninstall nf_conntrack /bin/true\noptions loop max_loop=8\n"
# A Debian that runs cron, without the links of a merged /usr.
IMAGE = merged(
    hook_nodes.SYSTEMD, dict.fromkeys(("lib", "sbin", "bin")), hook_nodes.CRON_DEBIAN,
    node("6.1.0-49-amd64", modules=[name for name in policies.default_policy().module_names if name != "ip_tables"]),
    {"etc/cron.d/firewall": CRON, "etc/modprobe.d/site.conf": BLOCK, "etc/sysctl.d/90-site.conf": SYSCTLS,
     "usr/sbin/xtables-nft-multi": node_tree.executable()},
    {"usr/sbin/%s%s" % (name, what): node_tree.link("xtables-nft-multi") for name in ("iptables", "ip6tables")
     for what in ("", "-save", "-restore")})
BUILDER = ("/" + OWN, "/etc/cron.d/firewall", "/var/lib/kubenode-netfilter")


def bake(tmp_path, *arguments, **variables):
    """(exit status, output, what node_report wrote) of one run."""
    given = dict({"node_report_folder": str(tmp_path / "report"), "ansible_python_interpreter": sys.executable,
                  "node_policy_proxy_mode": "iptables", "node_policy_kubernetes_version": "1.33",
                  "node_policy_cni": "none"}, **variables)
    done = fleets.run_playbook(fleets.TOP / "playbooks/bake.yml", "-i", str(fleets.TOP / "tests/tools/localhost.yml"),
                               "--extra-vars", json.dumps(given), *arguments)
    return done.returncode, done.stdout, fleets.report_of(tmp_path)


def files(root):
    """{path: content} of a tree, without what the collection keeps for an undo."""
    found = {}
    for folder, _folders, names in os.walk(root):
        for name in names:
            path = pathlib.Path(folder) / name
            if not path.is_symlink() and "var/lib/kubenode-netfilter" not in folder:
                found[str(path.relative_to(root))] = path.read_bytes()
    return found


def changed_files(before, root):
    after = files(root)
    return {path for path in after if after[path] != before.get(path)}


def failing(report):
    return {(row["check"], row["subject"]) for row in report["findings"] if row["status"] == "fail"}


@pytest.fixture
def tree(tmp_path):
    return node_tree.unpack(IMAGE, tmp_path / "image")


def test_the_tree_of_an_image(tree, tmp_path):
    before, builder = files(tree), [os.path.exists(path) for path in BUILDER]
    code, said, report = bake(tmp_path, "--check", node_assess_root=tree)
    assert code == 2, said
    assert {("KMOD002", "nf_conntrack"), ("HOOK001", "/etc/cron.d/firewall")} <= failing(report), said
    assert files(tree) == before, "--check changes nothing"

    code, said, report = bake(tmp_path, node_assess_root=tree)
    assert (code, failing(report)) == (0, set()), said
    assert changed_files(before, tree) == {OWN, "etc/cron.d/firewall", "etc/modprobe.d/site.conf"}
    after = files(tree)
    cron, block = after["etc/cron.d/firewall"], after["etc/modprobe.d/site.conf"]
    assert "nf_conntrack" in after[OWN].decode().split()
    assert b"-F" not in re.sub(b"#.*", b"", cron) and b"/usr/bin/true" in cron
    assert not re.search(b"^install", block, re.M) and b"max_loop=8" in block

    code, said, report = bake(tmp_path, node_assess_root=tree)
    assert (code, fleets.recap(said)["changed"], failing(report), files(tree)) == (0, 0, set(), after), said
    assert [os.path.exists(path) for path in BUILDER] == builder


@pytest.mark.parametrize("variables, code, fixed", [
    ({"bake_fix": "safe"}, 2, OWN), ({"node_assess_sections": ["HOOK"]}, 0, "etc/cron.d/firewall"),
    ({"node_assess_checks": ["HOOK*", "KMOD00?"], "node_assess_skip": ["KMOD*"]}, 0, "etc/cron.d/firewall")])
def test_only_what_is_asked_for_and_judged_is_fixed(tree, tmp_path, variables, code, fixed):
    before = files(tree)
    status, output, report = bake(tmp_path, node_assess_root=tree, **variables)
    assert (status, changed_files(before, tree)) == (code, {fixed}), output
    assert bool(failing(report)) == bool(code)
    assert code or {row["check"][:4] for row in report["findings"]} == {"HOOK"}


def test_a_disabled_check_is_shown_and_not_fixed(tree, tmp_path):
    waiver = {"check": "KMOD002", "subject": "xt_*", "reason": "r", "owner": "o", "expires": "2099-01-01"}
    code, said, report = bake(tmp_path, node_assess_root=tree,
                              node_policy_disabled_checks=[{"check": "HOOK001", "reason": "ours"}],
                              node_policy_severities={"KMOD002": "low"}, node_policy_waivers=[waiver])
    assert (code, failing(report)) == (0, set()), said
    assert files(tree)["etc/cron.d/firewall"].decode() == CRON and OWN in files(tree)
    assert "  disabled: HOOK001 (ours)\n  waiver for KMOD002 'xt_*' matched nothing\n" in said
    rows = {row["check"]: (row["status"], row["severity"]) for row in report["findings"]}
    assert (rows["HOOK001"], rows["KMOD002"]) == (("skip", "high"), ("pass", "low"))


def test_a_wrong_value_of_a_later_role_is_refused_before_the_node_is_looked_at(tree, tmp_path):
    code, said, report = bake(tmp_path, node_assess_root=tree, harden_conntrack_timeouts={"tcp_established_timeout": 1})
    assert (code, report) == (2, {}), said
    assert "the timeout tcp_established_timeout is not known; did you mean tcp_timeout_established?" in said
    code, said, report = bake(tmp_path, node_assess_root=os.path.relpath(tree))
    assert (code, report) == (2, {}) and "give the whole path on the node, such as /mnt/image" in said, said


def test_a_builder_that_has_booted_its_image_is_judged_as_one(tmp_path):
    code, said, report = bake(tmp_path, "--check", node_gate_mode="warn")
    assert code == 0, said
    assert report["summary"]["place"] == "image"
    # Nothing of this machine's running kernel and rules counts.
    assert {row["status"] for row in report["findings"] if row["check"].startswith(("XLOCK", "CHAIN"))} == {"skip"}


def links(root):
    folder = pathlib.Path(root) / "etc/alternatives"
    return {path.name: os.readlink(str(path)) for path in folder.iterdir()}


def test_an_image_whose_families_differ_is_aligned(tmp_path):
    tree = node_tree.unpack(merged(IMAGE, backend_trees.debian("nft", "legacy", "manual")), tmp_path / "image")
    before = links(tree)
    code, said, report = bake(tmp_path, "--check", node_assess_root=tree)
    assert code == 2 and ("BACKEND002", "iptables and ip6tables") in failing(report), said
    assert "(guarded)" in next(row["remediation"] for row in report["findings"]
                               if row["check"] == "BACKEND002" and row["status"] == "fail")

    code, said, report = bake(tmp_path, node_assess_root=tree)
    assert (code, failing(report)) == (0, set()), said
    now = links(tree)
    assert {name for name in before if before[name] != now[name]} == {
        "ip6tables", "ip6tables-restore", "ip6tables-save"}
    assert now["ip6tables-save"] == "/usr/sbin/ip6tables-nft-save"


def test_an_image_is_not_switched_to_what_its_kernel_lacks(tmp_path):
    tree = node_tree.unpack(merged(IMAGE, backend_trees.debian()), tmp_path / "image")
    before = links(tree)
    code, said, report = bake(tmp_path, node_assess_root=tree, node_policy_iptables_backend="legacy",
                              node_gate_mode="warn")
    row = next(row for row in report["findings"] if row["check"] == "BACKEND010")
    assert (code, row["status"], links(tree)) == (0, "fail", before), said
    assert "lacks ip_tables" in row["reason"], said
