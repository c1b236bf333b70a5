# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All sections together: which sections are collected, which input is refused, and how large the result may become."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
import node_tree
from node_manifests import DEBIAN, WHOLE, kernel, merged, node, process, running
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors, _module_data
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.bounds import ALL_LIMIT, OTHERS_LIMIT, fitted
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.node import SECTIONS

NAMES = sorted(set(_module_data.DEFAULT_MODULES) | {"xt_extension_%02d" % number for number in range(60)})[:90]
RELEASES = ["6.%d.0-%d-cloud-amd64" % (number, 40 + number) for number in range(10)]
LIMIT = 64 * 1024


def look(manifest, tmp_path, names=None, sections=SECTIONS, **options):
    options.setdefault("place", "live")
    return collect_sections(sections, node_tree.unpack(manifest, tmp_path), modules=names or NAMES, **options)


def many_kernels(modules, **fields):
    return merged(DEBIAN, running(RELEASES[3], modules), *[kernel(release, modules, **fields) for release in RELEASES])


LONG = "y" * 200
BLOCKS = "".join("blacklist %s\ninstall %s /bin/true # %s\n" % (name, name, "x" * 150) for name in NAMES * 28)
WIDE = "\ufffd\u4e16" * 300 + "\n"
TREES = {
    "ten healthy kernels": many_kernels(NAMES, config=WHOLE),
    "ten kernels that differ": merged(
        DEBIAN, running(RELEASES[3], []), *[kernel(release, NAMES[number * 9:], NAMES[:number * 3], suffix=".ko.xz")
                                            for number, release in enumerate(RELEASES)]),
    "5000 blocks": merged(many_kernels(NAMES), {"etc/modprobe.d/a.conf": BLOCKS}),
    "5000 blocks in a file of a long name": merged(many_kernels(NAMES), {"etc/modprobe.d/%s.conf" % LONG: BLOCKS}),
    "garbage in every list": merged(
        many_kernels(NAMES), {
            "etc/modprobe.d/%s.conf" % LONG: WIDE * 3000, "etc/modules-load.d/%s.conf" % LONG: WIDE * 1000,
            "etc/os-release": 'ID="%s"\nNAME="%s"\n' % (WIDE, WIDE * 9),
            "etc/cni/net.d/1.conf": json.dumps({"plugins": [{"type": WIDE}] * 90}), "proc/cmdline": WIDE * 90}),
    "listed a hundred times": merged(
        many_kernels(NAMES), {
            "etc/modules-load.d/%s%d.conf" % (LONG, number): "".join(name + "\n" for name in NAMES)
            for number in range(100)}),
    "a proxy with arguments without end": merged(
        many_kernels(NAMES), process(5, "kube-proxy", ["--config=" + "/x" * 50000]),
        process(6, "kubelet", ["x" * 100000])),
    "sysctls with names and values without end": merged(
        many_kernels(NAMES), {
            "etc/sysctl.d/%s%d.conf" % (LONG, number): "".join(
                "net.netfilter.nf_conntrack_%s = %s\n" % (key, WIDE.strip()) for key in (
                    "max", "buckets", "tcp_timeout_established", "*")) for number in range(100)}),
    "deep module paths": many_kernels(NAMES, folder="/".join(["deep" * 20] * 10)),
    "names that are no text": merged(
        many_kernels(NAMES), {
            b"etc/modprobe.d/\xff\xfe.conf".decode("utf-8", "surrogateescape"): "nonsense\nblacklist ip_vs\ninstall "
                                                                                "ip_tables /bin/x\n",
            b"etc/cni/net.d/\xff.conf".decode("utf-8", "surrogateescape"): '{"type": "\\ud800"}',
            b"etc/modules-load.d/\xff.conf".decode("utf-8", "surrogateescape"): "ip_vs\n"}),
}


@pytest.mark.parametrize("tree", sorted(TREES))
def test_evidence_stays_small_and_is_text(tree, tmp_path):
    try:
        sections = look(TREES[tree], tmp_path)
    except UnicodeEncodeError:
        pytest.skip("this Python's file system encoding has no such names")
    assert len(json.dumps(sections)) < LIMIT
    json.dumps(sections, ensure_ascii=False).encode("utf-8")
    rows = sections["node_kernel_modules"]["modules"]
    assert [row["name"] for row in rows] == NAMES
    assert (sections["node_kernel_modules"]["kernels_left_out"] == 4
            and len(sections["node_kernel_modules"]["kernels"]) == 6)


@pytest.mark.parametrize("tree", ["5000 blocks", "5000 blocks in a file of a long name"])
def test_verdicts_survive_the_cut(tree, tmp_path):
    rows = look(TREES[tree], tmp_path)["node_kernel_modules"]["modules"]
    assert all(row["blocked_for"] == ["load", "autoload", "boot"] for row in rows)
    shown = [row["blocks"][0] for row in rows if row["blocks"]]
    assert len(shown) >= 25 and all(block["file"].endswith(".conf") and block["line"] > 0 for block in shown)


def test_a_hundred_names_of_full_length(tmp_path):
    names = [("n%02d" % number).ljust(64, "x") for number in range(100)]
    sections = look(merged(many_kernels(names),
                           {"etc/modprobe.d/%s.conf" % LONG: "".join("blacklist %s\n" % name for name in names)}),
                    tmp_path, names)
    assert len(json.dumps(sections)) < LIMIT
    with pytest.raises(_errors.BadInput, match="101 module names are given, but one call takes at most 100"):
        look(DEBIAN, tmp_path, names + ["one_more"])


@pytest.mark.parametrize("name", ["../x", "ip tables", "", "-a", "a/b", "x" * 65])
def test_a_malformed_name(name, tmp_path):
    with pytest.raises(_errors.BadInput, match="is not a kernel module name"):
        look(DEBIAN, tmp_path, [name])


@pytest.mark.parametrize("release", ["9.9.9", "", "../../etc", "6.1.0-49-amd64/kernel"])
def test_a_kernel_that_is_not_installed(release, tmp_path):
    with pytest.raises(_errors.BadInput, match="is not installed; installed: 6.1.0-49-amd64"):
        look(node(), tmp_path, ["ip_vs"], kernel=release)


def test_only_what_is_asked_for(tmp_path):
    assert sorted(look(node(), tmp_path, sections=["cni", "host"])) == ["node_cni", "node_host"]
    assert sorted(look(node(), tmp_path)) == ["node_" + section for section in SECTIONS]


def test_a_look_changes_nothing(tmp_path):
    tree = node_tree.unpack(many_kernels(NAMES), tmp_path)

    def state():
        return sorted((os.path.join(folder, name), os.lstat(os.path.join(folder, name)).st_mtime,
                       os.lstat(os.path.join(folder, name)).st_size) for folder, folders, names in os.walk(tree)
                      for name in folders + names)
    before = state()
    collect_sections(SECTIONS, tree, "live", NAMES)
    assert state() == before


GARBAGE_PLACES = [
    "etc/os-release", "etc/modprobe.d/a.conf", "etc/modules-load.d/a.conf", "etc/modules", "etc/cni/net.d/1.conf",
    "boot/grub/grub.cfg", "boot/grub/grubenv", "boot/loader/entries/a.conf", "boot/loader/loader.conf",
    "boot/config-6.1.0", "proc/modules", "proc/cmdline", "proc/sys/kernel/osrelease", "proc/sys/kernel/modprobe",
    "proc/uptime", "proc/meminfo", "proc/stat", "proc/net/ip_tables_names", "proc/net/ip_tables_matches",
    "sys/kernel/security/lockdown", "c", "proc/500/stat", "proc/500/cmdline",
] + ["lib/modules/6.1.0/modules." + name for name in ("dep", "builtin", "alias", "order", "softdep", "builtin.modinfo")]
WORDS = st.sampled_from([
    b"ip_vs", b"kernel/ip_vs.ko", b":", b"\n", b" ", b"\0", b"\xff", b"blacklist ", b"install ", b"alias ", b"softdep ",
    b"CONFIG_IP_VS=y\n", b"{", b"}", b"menuentry 'a' {\n", b"linux /vmlinuz-6.1.0\n", b"version ", b"9" * 30, b"Live",
    b"=", b"\\\n", b"\\", b"*", b"[", b"../..", b"\r\n", b"cpu0", b"MemTotal:", b"pre: "])


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow]
          + [check for check in HealthCheck if check.name == "function_scoped_fixture"])
@given(st.dictionaries(st.sampled_from(GARBAGE_PLACES),
                       st.lists(WORDS | st.binary(max_size=20), max_size=12).map(b"".join), max_size=6))
def test_no_content_of_any_file_makes_a_traceback(tmp_path_factory, files):
    base = merged(node("6.1.0", {"ip_vs": ["nf_conntrack"], "nf_conntrack": []}),
                  process(500, "kube-proxy", ["--config=/c"]))
    sections = look(merged(base, files), tmp_path_factory.mktemp("garbage"), ["ip_vs", "nf_conntrack", "xt_comment"])
    assert len(json.dumps(sections)) < LIMIT
    assert all(row["state"] in ("loaded", "builtin", "loadable", "installable", "absent", "unknown")
               for row in sections["node_kernel_modules"]["modules"])


# Which section is cut where all sections together become too large.

CHAINS = {"digest": "d" * 64, "observations": ["o" * 200] * (OTHERS_LIMIT // 200 + 1)}
SMALL = {"because": "b" * 100}


def modules(number):
    """A section of kernel modules of some 700 bytes a row."""
    row = {"evidence": "e" * 60, "at_boot_cause": "c" * 60, "persisted_by": ["p" * 200],
           "kernels": [{"state": "loaded", "evidence": "e" * 200}],
           "blocks": [{"effect": "blocks", "for": ["load"], "text": "t" * 100}]}
    return {"unreadable": [], "modules": [dict(row, name="module_%02d" % index) for index in range(number)]}


def test_a_section_that_is_large_by_itself_cuts_no_other():
    assert len(json.dumps(CHAINS)) > OTHERS_LIMIT
    assert fitted({"node_iptables_chains": CHAINS,
                   "node_ipvs": SMALL}) == {"node_iptables_chains": CHAINS, "node_ipvs": SMALL}


def test_too_many_others_are_cut():
    number = OTHERS_LIMIT // 100
    assert fitted({"node_ipvs": ["b" * 100] * number}) == {"node_ipvs": ["b" * 40] * number}


def test_a_value_that_no_answer_may_have_costs_only_itself():
    odd = {"up": float("inf"), "none": float("nan"), "large": 10 ** 400, "b\udcff": ["c\udcff", -2 ** 64, 1.5, True, 7]}
    found = {"up": None, "none": None, "large": None, "b?": ["c?", None, 1.5, True, 7]}
    for section in ("node_ipvs", "node_conntrack", "node_logs"):
        assert fitted({section: odd}) == {section: found}


@pytest.mark.parametrize("number", [30, 90])
def test_modules_give_way_to_the_chains(number):
    alone = fitted({"node_kernel_modules": modules(number)})
    both = fitted({"node_kernel_modules": modules(number), "node_iptables_chains": CHAINS})
    assert both["node_iptables_chains"] == CHAINS
    assert [row["name"] for row in both["node_kernel_modules"]["modules"]] == [
        row["name"] for row in alone["node_kernel_modules"]["modules"]]
    assert len(json.dumps(both)) <= ALL_LIMIT
    assert (both["node_kernel_modules"] == alone["node_kernel_modules"]) == (number == 30)
