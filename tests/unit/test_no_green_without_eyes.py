# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A check passes only where each value that it rests on was read: one source of evidence after the other is taken out
of the bundle of a healthy node, and no check that needs it may pass."""

import functools
import pathlib
import re
import tempfile

import bundles
import pytest
import whole_nodes
from node_tree import merged, unpack

# {source: (the beginnings of its paths, checks that rest on it whatever they list as their needs, beginnings of the ids
# of checks that other evidence of this bundle shows)}.
SOURCES = {
    "loaded modules": (["proc/modules"], ["KMOD003", "KMOD004", "KMOD011", "KMOD012"], ()),
    # All required modules are loaded, those of the keys of sysctl.d, too.
    "modules of the kernels": (["lib/modules", "usr/lib/modules"], ["KMOD008", "KMOD009", "KMOD010", "KMOD013"],
                               ("KMOD", "CTRACK011")),
    "index of the running kernel": (["lib/modules/%s/modules.dep" % whole_nodes.RELEASE], ["KMOD013"], ()),
    "module files": (["lib/modules/%s/kernel" % each for each in (whole_nodes.RELEASE, whole_nodes.NEXT)], [], ()),
    "modprobe.d": (["etc/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d"], ["KMOD002", "KMOD007", "KMOD017"], ()),
    "modules-load.d": (["etc/modules-load.d", "usr/lib/modules-load.d"], ["KMOD005", "KMOD006", "KMOD017", "KMOD018"],
                       ()),
    "running sysctls": (["proc/sys/net"], ["CTRACK001", "CTRACK002", "CTRACK009", "CTRACK010", "CTRACK014",
                                           "CTRACK015", "CTRACK017"], ()),
    "sysctl.d": (["etc/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d"],
                 ["CTRACK011", "CTRACK012", "CTRACK013", "CTRACK016", "CTRACK018", "CTRACK020"], ()),
    "counters": (["proc/net/stat"], ["CTRACK003", "CTRACK019"], ()),
    "rules": (["rules-"], [], ()),
    "rules of IPv4": (["rules-4"], [], ()),
    # The rules show the mode.
    "configuration of kube-proxy": (["var/lib/kube-proxy"], ["KMOD015"], ("CHAIN", "BACKEND", "KMOD")),
    "network plugin": (["etc/cni"], ["CTRACK016"], ()),
    "processors and memory": (["proc/meminfo", "proc/stat"], ["CTRACK005", "CTRACK008"], ()),
    "metrics of kube-proxy": (["metrics"], ["KPROXY004", "KPROXY012"], ()),
    "health of kube-proxy": (["healthz"], ["KPROXY005"], ()),
    "logs": (["kube-proxy.log"], ["LOG001", "LOG002", "LOG003"], ()),
}
TEXTS = pathlib.Path(__file__).resolve().parents[1]
BUNDLE = merged(whole_nodes.HEALTHY, {
    "rules-4-save.txt": whole_nodes.printed(whole_nodes.IPV4),
    "rules-6-save.txt": whole_nodes.printed(whole_nodes.IPV6, "ip6tables"),
    "etc/modprobe.d/k8s.conf": "options nf_conntrack hashsize=65536\n",
    "usr/lib/sysctl.d/50-default.conf": "net.ipv4.conf.default.rp_filter = 2\n",
    "metrics.txt": (TEXTS / "strangers/metrics-whole/evidence/metrics.txt").read_text("utf-8"),
    "healthz.json": (TEXTS / "strangers/healthz-healthy/evidence/healthz.json").read_text("utf-8"),
    "kube-proxy.log": (TEXTS / "fixtures/logs/healthy-1.36.txt").read_text("utf-8")})
# {source: the network plugin that node_policy names}: only pods on a bridge need the switches of br_netfilter.
NETWORKS = {"network plugin": "auto", "running sysctls": "flannel"}


@functools.lru_cache(maxsize=None)
def _judged(cni, *beginnings):
    """({checks that pass}, {(section, source) that was read}) of the bundle without these paths."""
    files = {path: content for path, content in BUNDLE.items() if not path.startswith(beginnings)}
    with tempfile.TemporaryDirectory() as folder:
        found, evidence = bundles.judged(unpack(files, folder + "/node"), cni=cni)
    return set(bundles.told(found, "pass")), {
        (name, source) for name, section in evidence.items() for source, status in section.get("collected", {}).items()
        if status == "ok"}


def test_the_bundle_of_a_healthy_node_passes_what_is_taken_from_it():
    passed, _read = _judged("calico")
    assert "CTRACK014" in _judged("flannel")[0]
    assert {"KMOD001", "KMOD013", "KMOD002", "KMOD010", "CTRACK014", "CTRACK015", "CTRACK016", "CTRACK020",
            "KPROXY004", "KPROXY012", "LOG001", "LOG002", "LOG003"} <= passed


def test_rules_without_the_table_of_services_pass_no_check_of_them():
    files = {path: re.sub(r"\*nat\n.*?COMMIT\n", "", content, flags=re.DOTALL) if path.startswith("rules-") else content
             for path, content in BUNDLE.items()}
    with tempfile.TemporaryDirectory() as folder:
        found = bundles.judged(unpack(files, folder + "/node"), cni="calico")[0]
    assert not {"CHAIN001", "CHAIN008"} & set(bundles.told(found, "pass"))


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_what_was_not_read_passes_nothing(source):
    beginnings, resting, shown = SOURCES[source]
    passed, read = _judged(NETWORKS.get(source, "calico"), *beginnings)
    lost = _judged("calico")[1] - read
    needing = {check.id for check in whole_nodes.CHECKS.values() for need in check.needs
               if tuple(need.partition(".")[::2]) in lost and not check.id.startswith(shown)}
    assert not sorted(passed & (needing | set(resting))), sorted(lost)
