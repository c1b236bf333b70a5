# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Predicted sysctls: modules that are loaded late, programs that override sysctl.d, and kube-proxy of every version."""

import pytest

import node_tree
from conntrack_node import (
    BRIDGE, BUCKETS, ESTABLISHED, FORWARD, LISTED, MAX_LINE, TUNED, UFW, configured, fate, key, kube_proxy, kubelet,
    live, look, starts, table, tracking)
from fake_tools import LIVE, unpacked
from node_manifests import merged, process
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack.conntrack import collect_conntrack
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.host.identity import identify
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy

OF_PROXY = "kube-proxy (conntrack.maxPerCore and conntrack.min)"
OF_FILE = "/etc/sysctl.d/90.conf:1"
RAISED = merged(LISTED, {"etc/sysctl.d/90.conf": MAX_LINE % 1048576})


# The limit that sysctl.d raises, after the start of a kube-proxy of each kind.
@pytest.mark.parametrize(
    "proxy, version, after, owner", [
        (None, None, 1048576, OF_FILE), (kube_proxy(), "1.22.17", 131072, OF_PROXY),
        (kube_proxy(), "1.27.3", 1048576, OF_FILE), (kube_proxy(), "1.33.1", 131072, OF_PROXY),
        (kube_proxy(), "1.45.0", 1048576, OF_FILE), (kube_proxy(), "1.38.0", None, OF_PROXY),
        (kube_proxy(), None, None, OF_PROXY), (configured("  maxPerCore: 0\n"), "1.33.1", 1048576, OF_FILE),
        (kube_proxy("--conntrack-max-per-core=0"), None, 1048576, OF_FILE),
        (configured("  maxPerCore: 32768\n  min: 1048576\n"), "1.33.1", 1048576, OF_PROXY),
        (kube_proxy("--conntrack-min", "2097152"), "1.33.1", 2097152, OF_PROXY),
        (configured("  min: many\n"), "1.33.1", None, OF_PROXY),
        (kube_proxy("--config=/none"), "1.33.1", None, OF_PROXY),
    ])
def test_what_kube_proxy_leaves_of_a_raised_limit(proxy, version, after, owner, tmp_path):
    section, _host = live(tmp_path, table(limit=1048576), RAISED, proxy or {}, version=version)
    assert fate(section) == (1048576, 1048576, OF_FILE, after, owner, None if after is None else after == 1048576)
    assert key(section)["kube_proxy_decides"] is (owner == OF_PROXY)
    assert key(section)["overruled"] is (None if after is None else after != 1048576)
    assert bool(section["size"]["advice"]) is (after is None or after < 1048576)


def test_its_own_version_is_asked_before_kubelet(tmp_path):
    host = unpacked(tmp_path, tracking(RAISED, kube_proxy()))
    own = dict(collect_kube_proxy(host, LIVE), version="1.27.1")
    section = collect_conntrack(host, identify(host, "live"), own, lambda: 1 / 0)
    assert section["kube_proxy"]["versions"] == ["1.27.1"] and section["kube_proxy"]["writes"] == "raises"


def test_kubelet_is_asked_only_where_a_kube_proxy_runs(tmp_path):
    host = unpacked(tmp_path, tracking(kubelet("1.33.1")))
    collect_conntrack(host, identify(host, "live"), collect_kube_proxy(host, LIVE), lambda: 1 / 0)
    assert host.ran == []


def test_what_kube_proxy_is_told_to_write(tmp_path):
    section, _host = live(tmp_path, configured("  maxPerCore: 16384\n  min: null\n  tcpEstablishedTimeout: 2h\n  "
                                               "tcpCloseWaitTimeout: 0s\n"), version="1.33.1")
    assert section["kube_proxy"] == {
        "versions": ["1.33", "1.32", "1.31", "1.30"], "by": "kube-proxy", "max_per_core": 16384, "min": None,
        "settings_known": True, "writes": "exactly", "value": 131072, "capped": False}
    assert fate(section, ESTABLISHED) == (432000, 432000, None, 7200, "kube-proxy (conntrack.tcpEstablishedTimeout)",
                                          False)
    assert fate(section, "net.netfilter.nf_conntrack_tcp_timeout_close_wait")[3:] == (60, None, True)


def test_its_defaults_write_timeouts_too(tmp_path):
    line = {"etc/sysctl.d/90.conf": "net.netfilter.nf_conntrack_tcp_timeout_established = 3600\n"}
    section, _host = live(tmp_path, kube_proxy(), line, LISTED, version="1.33.1")
    row = key(section, ESTABLISHED)
    assert (row["assigned"], row["after_kube_proxy"], row["overruled"],
            row["kube_proxy_decides"]) == (3600, 86400, True, True)
    assert row["reason"] == "kube-proxy (conntrack.tcpEstablishedTimeout) overrides it"


def test_k3s_sets_them_itself(tmp_path):
    section, _host = live(tmp_path / "a", RAISED, process(500, "k3s-server", ["/usr/local/bin/k3s", "server"]))
    assert fate(section)[3:] == (131072, "k3s (conntrack.maxPerCore and conntrack.min)",
                                 True) and fate(section, FORWARD)[3:] == (1, "k3s", True)
    assert "kube-proxy-arg" in section["size"]["advice"]
    given = {"etc/rancher/k3s/config.yaml": '# conntrack-max-per-core=5\nkube-proxy-arg:\n  - '
                                            '"conntrack-max-per-core=0"\n'}
    section, _host = live(tmp_path / "b", table(limit=1048576), RAISED, given,
                          process(500, "k3s-agent", ["k3s", "agent"]))
    assert fate(section)[3:] == (1048576, OF_FILE, True)


def test_ipvs_mode_turns_on_forwarding(tmp_path):
    section, _host = live(tmp_path, kube_proxy("--proxy-mode=ipvs"), version="1.33.1")
    assert fate(section, FORWARD) == (1, 0, None, 1, "kube-proxy", True)


def test_buckets_grow_with_the_limit_of_kube_proxy(tmp_path):
    section, _host = live(tmp_path, kube_proxy("--conntrack-min=4194304"), version="1.33.1")
    assert fate(section, BUCKETS)[1:5] == (262144, None, 1048576, "kube-proxy")


@pytest.mark.parametrize(
    "modules_load, at_boot, late", [
        ({}, 262144, True), (LISTED, 524288, False),
        ({"etc/modules-load.d/x.conf": "nf_conntrack_netlink\n"}, 524288, False),
        (merged(LISTED, {"etc/systemd/system/systemd-modules-load.service": node_tree.MASKED}), 262144, True),
        (merged(LISTED, {"etc/modprobe.d/x.conf": "install nf_conntrack /bin/true\n"}), 262144, True),
    ])
def test_a_line_counts_only_where_its_module_is_loaded_first(modules_load, at_boot, late, tmp_path):
    section = look(tracking({"etc/sysctl.d/90.conf": MAX_LINE % 524288}, modules_load), tmp_path)
    row = key(section)
    assert (row["at_boot"], row["late"], row["assigned"], row["overruled"]) == (at_boot, late, 524288, late)
    assert ("is ignored" in row["reason"]) is late


def test_a_late_line_that_does_no_harm(tmp_path):
    """br_netfilter sets its keys to 1 by itself."""
    section = look(tracking({"etc/sysctl.d/90.conf": BRIDGE + " = 1\n"}), tmp_path)
    assert (key(section, BRIDGE)["late"], key(section, BRIDGE)["overruled"],
            key(section, BRIDGE)["at_boot"]) == (True, False, 1)


def test_nobody_reads_sysctl_d(tmp_path):
    section = look(tracking(RAISED, {"etc/systemd/system/systemd-sysctl.service": node_tree.MASKED}), tmp_path)
    assert (key(section)["at_boot"], key(section)["overruled"], key(section)["late"]) == (262144, True, False)
    assert key(section)["reason"] == "systemd-sysctl.service is masked, so %s is not read" % OF_FILE


OWN_PROFILE = "etc/tuned/throughput/tuned.conf"
OF_PROFILE = "tuned (/%s:2)" % OWN_PROFILE


def profile(value):
    """A node with tuned, whose profile sets the limit."""
    return merged(TUNED, LISTED, {OWN_PROFILE: "[sysctl]\nnet.netfilter.nf_conntrack_max=%s\n" % value})


# the limit at boot, and its source
@pytest.mark.parametrize(
    "more, value, by", [
        (UFW, 262144, None), (merged(UFW, {"etc/ufw/sysctl.conf": "net/netfilter/nf_conntrack_max=65536\n"}), 65536,
                              "ufw (/etc/ufw/sysctl.conf:1)"),
        (merged(UFW, LISTED, {"etc/ufw/sysctl.conf": "#\nnet/netfilter/nf_conntrack_max=65536\n",
                              "etc/sysctl.d/z.conf": MAX_LINE % 524288}), 65536, "ufw (/etc/ufw/sysctl.conf:2)"),
        (merged(UFW, {"etc/ufw/sysctl.conf": "net/netfilter/nf_conntrack_max=65536\n",
                      "etc/ufw/ufw.conf": "ENABLED=no\n"}), 262144, None),
        (merged(UFW, {"etc/ufw/sysctl.conf": "net/netfilter/nf_conntrack_max=65536\n"}, dict.fromkeys(starts("ufw"))),
         262144, None),
        (merged(UFW, {"etc/ufw/sysctl.conf": "net/netfilter/nf_conntrack_max=65536\n",
                      "etc/default/ufw": "IPT_SYSCTL=\n"}), 262144, None),
        (merged(TUNED, LISTED), 262144, None), (profile("400000"), 400000, OF_PROFILE),
        # tuned applies /etc/sysctl.d once more, but no sysctl.d below /usr.
        (merged(profile("400000"), {"etc/sysctl.d/a.conf": MAX_LINE % 500000}), 500000,
         "tuned (/etc/sysctl.d/a.conf:1)"),
        (merged(profile("400000"), {"usr/lib/sysctl.d/a.conf": MAX_LINE % 500000}), 400000, OF_PROFILE),
        (merged(profile("400000"), {"etc/sysctl.d/a.conf": MAX_LINE % 500000,
                                    "etc/tuned/tuned-main.conf": "reapply_sysctl = 0\n"}), 400000, OF_PROFILE),
        # A profile that includes its own name means the profile that it hides; its own setting wins, and only raises.
        (merged(TUNED, LISTED,
                {OWN_PROFILE: "[main]\ninclude=throughput\n[sysctl]\nnet.netfilter.nf_conntrack_max=>300000\n",
                 "usr/lib/tuned/throughput/tuned.conf": "[sysctl]\nnet.netfilter.nf_conntrack_max=100000\n"
                                                        "net.ipv4.ip_forward=1\n"}), 300000,
         "tuned (/%s:4)" % OWN_PROFILE),
        (profile("${x}"), None, OF_PROFILE),
        # Whether nf_conntrack is loaded when tuned starts is not known.
        (merged(profile("400000"), dict.fromkeys(LISTED)), None, OF_PROFILE),
    ])
def test_rivals_of_sysctl_d(more, value, by, tmp_path):
    assert fate(look(tracking(more), tmp_path))[1:3] == (value, by)


def test_a_circle_of_profiles_ends(tmp_path):
    profile = "[main]\ninclude=b,throughput\n[sysctl]\nnet.netfilter.nf_conntrack_max=5\n"
    tree = {"etc/tuned/%s/tuned.conf" % name: profile.replace("b,", other)
            for name, other in (("throughput", "b,"), ("b", "throughput,"))}
    assert fate(look(tracking(TUNED, LISTED, tree), tmp_path))[1] == 5


@pytest.mark.parametrize(
    "more, value, by", [
        ({}, 0, None), (starts("docker"), 1, "docker"),
        (merged(starts("docker"), {"etc/docker/daemon.json": '{"ip-forward" : false}'}), 0, None),
        (merged(starts("docker"), {"etc/docker/daemon.json": '{"x": {"ip-forward": false}, "y": 1}'}), 1, "docker"),
        (merged(starts("docker"), {"etc/docker/daemon.json": '{"ip-forward": true}'}), 1, "docker"),
        (merged(starts("docker"), {"etc/docker/daemon.json": ""}), 1, "docker"),
        ({"etc/docker/daemon.json": '{"ip-forward": '}, 0, None),
        (merged(starts("docker"), {"etc/sysctl.d/a.conf": "net.ipv4.ip_forward=0\n"}), 1, "docker"),
        ({"etc/sysctl.d/a.conf": "net.ipv4.ip_forward=1\n"}, 1, "/etc/sysctl.d/a.conf:1")])
def test_who_turns_on_forwarding(more, value, by, tmp_path):
    assert fate(look(tracking(more), tmp_path), FORWARD)[1:3] == (value, by)


@pytest.mark.parametrize("text", ['{"ip-forward": false', '{"ip-forward": "false"}', "[]", "ip-forward",
                                  node_tree.FIFO])
def test_whether_docker_turns_on_forwarding_is_not_known(text, tmp_path):
    section = look(tracking(starts("docker"), {"etc/docker/daemon.json": text}), tmp_path / "a")
    assert fate(section, FORWARD)[1:4] == (None, "docker", None) and section["collected"]["sysctl_d"] == "unparsed"
    assert [row["file"] for row in section["unread"]] == ["/etc/docker/daemon.json"]
    assert "/etc/docker/daemon.json" in key(section, FORWARD)["reason"]
    # Docker writes no value except 1.
    section = look(tracking(starts("docker"), {"etc/docker/daemon.json": text,
                                               "etc/sysctl.d/a.conf": "net.ipv4.ip_forward=1\n"}), tmp_path / "b")
    assert fate(section, FORWARD)[1] == 1


@pytest.mark.parametrize(
    "more, option, by, limit, buckets", [
        ({"etc/modprobe.d/a.conf": "# x\noptions nf_conntrack hashsize=100000 acct=1\n"}, 100000,
         "/etc/modprobe.d/a.conf:2", 8 * 100352, 100352),
        ({"proc/cmdline": "ro nf_conntrack.hashsize=65536\n"}, 65536, "/proc/cmdline", 8 * 65536, 65536),
        ({"etc/modprobe.d/a.conf": "options nf_conntrack_ftp hashsize=7\noptions nf_conntrack acct=1\n"}, None, None,
         262144, 262144),
        ({"etc/modprobe.d/a.conf": "options nf_conntrack hashsize=0\n",
          "proc/cmdline": u"nf_conntrack.hashsize=\u00b2 x\n"}, None, None, 262144, 262144)])
def test_an_option_for_buckets_sets_the_limit(more, option, by, limit, buckets, tmp_path):
    section = look(tracking(more), tmp_path)
    assert (section["hashsize"]["option"], section["hashsize"]["option_by"]) == (option, by)
    assert (fate(section)[1], fate(section, BUCKETS)[1]) == (limit, buckets)
