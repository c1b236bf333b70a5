# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kubelet."""

import os

import pytest

import node_tree
from fake_tools import LIVE, script, unpacked
from kubelet_node import CONFIG, dump, journal, rules, runs, said, systemd
from node_manifests import DEBIAN, merged, process, running
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kubelet import collect_kubelet
from node_sections import collect_sections

NOTHING = dict.fromkeys(("config", "journal", "processes", "rules", "unit", "version"), "absent")


def look(manifest, tmp_path, place="live"):
    tree = node_tree.unpack(merged(DEBIAN, running("6.1.0"), manifest), tmp_path)
    return collect_sections(["kubelet"], tree, place)["node_kubelet"]


def live(tmp_path, *manifests):
    """The section of a node whose programs are run."""
    return collect_kubelet(unpacked(tmp_path, *manifests), LIVE)


def asked(tmp_path, name):
    path = str(tmp_path / "usr" / "bin" / name)
    if not os.path.exists(path):
        return None
    with open(path) as stream:
        return stream.read().split("\n")[:-1]


@pytest.mark.parametrize("comm, distribution",
                         [
                             ("kubelet", "kubelet"), ("k3s-server", "k3s"), ("k3s-agent", "k3s"), ("rke2", "rke2"),
                             ("k0s", "k0s"), ("kubelite", "microk8s")])
def test_who_is_the_kubelet(comm, distribution, tmp_path):
    section = look(process(700, comm, [comm]), tmp_path)
    assert (section["running"], section["distribution"],
            section["collected"]["processes"]) == (True, distribution, "ok")


def test_the_distribution_counts_before_its_child(tmp_path):
    section = look(merged(process(10, "kubelet", []), process(700, "rke2", [])), tmp_path)
    # The child is the kubelet all the same.
    assert (section["distribution"], section["pid"]) == ("rke2", 10)


def test_none_runs(tmp_path):
    section = look({"usr/bin/kubelet": node_tree.executable()}, tmp_path)
    assert (section["running"], section["distribution"], section["installed"]) == (False, None, "/usr/bin/kubelet")
    # The tree is not the running node, so no program in it is asked for its version.
    assert (section["version"], section["version_source"], section["collected"]["version"]) == (None, None, "denied")
    assert [section[key]
            for key in ("pid", "started_seconds_ago", "unit", "config", "settings", "initialisation")] == [None] * 6


def test_nothing_runs_in_an_image(tmp_path):
    section = look(process(700, "kubelet", []), tmp_path, "image")
    assert (section["running"], section["distribution"], section["collected"]) == (False, None, NOTHING)


def test_processes_that_may_not_be_seen(tmp_path):
    assert look({"proc": node_tree.DIRECTORY}, tmp_path)["running"] in (False, None)


def test_a_healthy_kubelet(tmp_path):
    section = live(tmp_path, runs(arguments=("--config=/var/lib/kubelet/config.yaml",)), rules(), systemd(),
                   journal(said("ipv4", False), said("ipv6", False)), {"var/lib/kubelet/config.yaml": CONFIG})
    assert section["collected"] == dict.fromkeys(NOTHING, "ok")
    assert (section["version"], section["version_source"],
            section["version_doubt"]) == ("1.30.2", "/usr/bin/kubelet --version", None)
    assert (section["pid"], section["started_seconds_ago"]) == (812, 3600.0)
    assert section["config"] == {"file": "/var/lib/kubelet/config.yaml", "directory": None, "drop_ins": []}
    assert section["initialisation"]["failed"] == [] and section["initialisation"]["expected"] is True
    assert [(row["family"], row["state"])
            for row in section["initialisation"]["families"]] == [("ipv4", "done"), ("ipv6", "done")]


@pytest.mark.parametrize(
    "comm, unit, kill_mode, stops, containers", [
        ("kubelet", "kubelet.service", "control-group", [], "keep_running"),
        ("k3s-server", "k3s.service", "process", ["the API server", "containerd", "kube-proxy"], "keep_running"),
        ("k3s-agent", "k3s-agent.service", "process", ["containerd", "kube-proxy"], "keep_running"),
        ("k3s-agent", "k3s-agent.service", "mixed", ["containerd", "kube-proxy"], "stop"),
        ("rke2", "rke2-server.service", "process", ["containerd"], "keep_running"),
        ("rke2", "rke2-agent.service", "control-group", ["containerd"], "stop"),
        ("k0s", "k0scontroller.service", "process", ["the API server", "konnectivity", "containerd"], "keep_running"),
        ("k0s", "k0sworker.service", "process", ["containerd"], "keep_running"),
        ("kubelite", "snap.microk8s.daemon-kubelite.service", "control-group", ["the API server", "kube-proxy"],
         "keep_running"),
    ])
def test_the_unit_and_what_goes_down_with_it(comm, unit, kill_mode, stops, containers, tmp_path):
    section = live(tmp_path, runs(comm, unit), rules(), systemd(kill_mode))
    assert (section["unit"]["name"], section["unit"]["kill_mode"],
            section["unit"]["containers"]) == (unit, kill_mode, containers)
    assert [name for name in section["unit"]["stops"]
            if name in stops] == stops and bool(section["unit"]["stops"]) == bool(stops)
    assert "the API server" not in section["unit"]["stops"] or "the API server" in stops
    effect = section["unit"]["effect"]
    assert all(name in effect
               for name in section["unit"]["stops"]) and ("ends all containers" in effect) == (containers == "stop")
    assert asked(tmp_path, "asked") == [unit]
    assert section["initialisation"]["families"][0]["restart"] == "systemctl restart " + unit


def test_since_when_and_how_often(tmp_path):
    unit = live(tmp_path, runs(), rules(), systemd(active_seconds=100.0))["unit"]
    assert unit["restarts"] == 3 and abs(unit["active_seconds"] - 100.0) < 30.0
    assert live(tmp_path / "failed", runs(), rules(), systemd(state="activating"))["unit"]["active_seconds"] is None


def test_what_systemd_restarts_with_it(tmp_path):
    unit = live(tmp_path, runs(), rules(), systemd(required_by="multi-user.target node-agent.service",
                                                   consists_of="kubelet-watch.timer a.service"))["unit"]
    assert unit["units"] == ["a.service", "kubelet-watch.timer", "node-agent.service"]
    assert "systemd restarts a.service, kubelet-watch.timer, node-agent.service as well" in unit["effect"]


@pytest.mark.parametrize("program, status",
                         [
                             (None, "absent"), ("echo 'Failed to connect to bus' >&2; exit 1", "unparsed"),
                             ("sleep 20", "timeout"), ("yes KillMode=", "unparsed")])
def test_a_systemctl_that_does_not_answer(program, status, tmp_path):
    section = live(tmp_path, runs("k3s-agent", "k3s-agent.service"), rules(),
                   {"usr/bin/systemctl": script(program) if program else None})
    assert (section["collected"]["unit"], section["unit"]["name"],
            section["unit"]["kill_mode"]) == (status, "k3s-agent.service", None)
    assert section["unit"]["containers"] is None and "only if its KillMode is process" in section["unit"]["effect"]


@pytest.mark.parametrize("cgroup", ["0::/system.slice/docker-0123.scope\n", "0::/\n",
                                    "0::/user.slice/user-1000.slice/user@1000.service/a.service\n"])
def test_no_unit(cgroup, tmp_path):
    section = live(tmp_path, runs(cgroup=cgroup), rules(dump("ipv4", hint=False, canaries=())), systemd())
    assert (section["unit"], section["collected"]["unit"], asked(tmp_path, "asked")) == (None, "absent", None)
    assert "process 812" in section["initialisation"]["families"][0]["restart"]


def test_another_program_lies_where_kubelet_was_started_from(tmp_path):
    section = live(tmp_path, runs(exe="/usr/bin/kubelet (deleted)", version="1.31.0"), rules())
    assert section["version"] == "1.31.0"
    assert (section["version_doubt"] == "/usr/bin/kubelet was replaced after kubelet was started: another version "
                                        "runs")


@pytest.mark.parametrize("exe", ["/var/lib/rancher/rke2/data/v1.32.1-rke2r1-0123/bin/kubelet",
                                 "/var/lib/k0s/bin/kubelet", "/usr/local/bin/kubelet"])
def test_the_kubelet_that_runs_is_asked(exe, tmp_path):
    section = live(tmp_path, runs(exe=exe), rules(), {exe[1:]: script("echo Kubernetes v1.32.1")})
    assert (section["version"], section["version_source"],
            section["version_doubt"]) == ("1.32.1", exe + " --version", None)


@pytest.mark.parametrize("exe",
                         ["/home/mallory/kubelet", "/tmp/kubelet", "/usr/bin/passwd",
                          "/var/lib/rancher/rke2/data/x/bin/containerd", "/var/lib/rancher/../../home/mallory/kubelet"])
def test_a_program_of_somebody_who_calls_himself_kubelet_is_not_run(exe, tmp_path):
    section = live(tmp_path, runs(exe=exe), rules(), {exe[1:]: script('touch "$0.was-run"; echo Kubernetes v6.6.6')})
    assert (section["version"] == "1.30.2"
            and section["version_doubt"] == "kubelet runs from %s, which is not run for its version" % exe)
    assert not os.path.exists(str(tmp_path) + os.path.normpath(exe) + ".was-run")


@pytest.mark.parametrize(
    "arguments, files, expected", [
        ((), {}, {"port": 10250, "read_only_port": 10255, "healthz_port": 10248, "make_iptables_util_chains": True,
                  "hairpin_mode": "promiscuous-bridge"}),
        (("--config=/c",), {"c": CONFIG + "port: 10260\n"}, {"port": 10260, "read_only_port": 0}),
        (("--config=/c", "--port=10270"), {"c": CONFIG + "port: 10260\n"}, {"port": 10270}),
        (("--config", "/c", "--config-dir=/d"),
         {"c": CONFIG + "port: 1\nreadOnlyPort: 10255\n", "d/10-a.conf": CONFIG + "port: 2\n", "d/20-b.conf": CONFIG
          + "port: 3\n", "d/30-c.yaml": CONFIG + "port: 4\n"}, {"port": 3, "read_only_port": 10255}),
        (("--config=/c", "--make-iptables-util-chains=false", "--iptables-masquerade-bit=20"),
         {"c": CONFIG + "makeIPTablesUtilChains: true\n"},
         {"make_iptables_util_chains": False, "iptables_masquerade_bit": 20}),
        (("--config=/c",), {"c": "{kind: KubeletConfiguration, 'makeIPTablesUtilChains': false}\n"},
         {"make_iptables_util_chains": False, "port": 10250}),
        (("--config=/c",), {"c": CONFIG + "port: '10260'\n"}, {"port": None, "make_iptables_util_chains": True}),
        # A bool flag has no separate value: the next argument is the next flag.
        (("--make-iptables-util-chains", "--port=1", "--config=/c"), {"c": CONFIG + "makeIPTablesUtilChains: false\n"},
         {"make_iptables_util_chains": True, "port": 1}),
        (("--config=/c", "--port=many", "--hairpin-mode=x"), {"c": CONFIG + "port: 5\n"},
         {"port": 5, "hairpin_mode": "promiscuous-bridge"}),
    ])
def test_settings(arguments, files, expected, tmp_path):
    settings = live(tmp_path, runs(arguments=arguments), rules(), files)["settings"]
    assert {name: settings[name] for name in expected} == expected


@pytest.mark.parametrize(
    "files, status", [
        ({}, "absent"), ({"c": "no configuration"}, "unparsed"), ({"c": node_tree.FIFO}, "unparsed"),
        ({"c": CONFIG + "port: 10260\n", "d/a.conf": "kind: Other\n"}, "unparsed"),
        ({"c": "a: &a {port: 1}\nport: 2\n" + CONFIG + "<<: *a\n"}, "unparsed"),
        ({"c": node_tree.sparse(10 ** 10)}, "unparsed")])
def test_what_a_configuration_that_cannot_be_read_may_say_is_not_guessed(files, status, tmp_path):
    section = live(tmp_path, runs(arguments=("--config=/c", "--config-dir=/d", "--healthz-port=10300")), rules(),
                   {"d": node_tree.DIRECTORY}, files)
    assert (section["collected"]["config"], section["settings"]["healthz_port"],
            section["settings"]["make_iptables_util_chains"]) == (status, 10300, None)
    assert section["initialisation"]["expected"] is None


@pytest.mark.parametrize(
    "arguments, files, chains", [
        ((), {"d/a.conf": CONFIG + "makeIPTablesUtilChains: !x false\n"}, None),
        ((), {"d/a.conf": node_tree.FIFO}, None), ((), {"d": None}, None), ((), {"d": node_tree.FIFO}, None),
        # A later file, or a flag, still overrides it.
        ((), {"d/a.conf": "a: !x b\n", "d/b.conf": CONFIG + "makeIPTablesUtilChains: false\n"}, False),
        (("--make-iptables-util-chains=false",), {"d/a.conf": "a: !x b\n"}, False),
        ((), {"d/%02d.conf" % number: CONFIG for number in range(60)}, None)])
def test_what_stands_ahead_of_a_drop_in_that_cannot_be_read_is_not_known(arguments, files, chains, tmp_path):
    section = live(tmp_path, runs(arguments=("--config=/c", "--config-dir=/d") + arguments), rules(),
                   {"c": CONFIG + "makeIPTablesUtilChains: true\n"},
                   files)
    assert section["collected"]["config"] not in ("ok", None)
    assert (section["settings"]["make_iptables_util_chains"], section["initialisation"]["expected"]) == (chains, chains)


@pytest.mark.parametrize("comm, files", [
    ("k3s-server", {"etc/rancher/k3s/config.yaml": "kubelet-arg: !x [port=1]\n",
                    "var/lib/rancher/k3s/agent/etc/kubelet.conf.d/50-a.conf": CONFIG + "port: 10261\n"}),
    ("kubelite", {"var/snap/microk8s/current/args/kubelet": node_tree.FIFO})])
def test_flags_that_cannot_be_read_may_overrule_all_files(comm, files, tmp_path):
    section = live(tmp_path, runs(comm, comm + ".service"), rules(), files)
    assert (section["collected"]["config"], set(section["settings"].values())) == ("unparsed", {None})


def test_a_configuration_inside_of_a_container_is_not_read_here(tmp_path):
    section = live(tmp_path, runs(arguments=("--config=/c",), root="/var/c"), rules(),
                   {"c": CONFIG + "port: 1\n", "var/c": node_tree.DIRECTORY})
    assert (section["collected"]["config"], section["settings"]["port"]) == ("denied", None)


@pytest.mark.parametrize(
    "comm, files, expected", [
        ("k3s-server", {}, {"port": 10250, "read_only_port": 0}),
        ("k3s-server", {"etc/rancher/k3s/config.yaml": "token: a\nkubelet-arg:\n  - port=10260\n  - config=/c\n",
                        "c": CONFIG + "readOnlyPort: 5\n"}, {"port": 10260, "read_only_port": 5}),
        ("k3s-server", {"etc/rancher/k3s/config.yaml": "kubelet-arg: [port=10260, make-iptables-util-chains]\n",
                        "etc/rancher/k3s/config.yaml.d/1.yaml": "kubelet-arg+: [healthz-port=10300]\n",
                        "etc/rancher/k3s/config.yaml.d/2.txt": "kubelet-arg: [port=1]\n"},
         {"port": 10260, "healthz_port": 10300, "make_iptables_util_chains": True}),
        ("k3s-server", {"etc/rancher/k3s/config.yaml": "kubelet-arg: [port=10260]\n",
                        "etc/rancher/k3s/config.yaml.d/1.yaml": "kubelet-arg: [a\n"},
         {"port": None, "healthz_port": None}),
        ("k3s-agent", {"var/lib/rancher/k3s/agent/etc/kubelet.conf.d/50-a.conf": CONFIG + "port: 10261\n"},
         {"port": 10261}),
        ("kubelite", {"var/snap/microk8s/current/args/kubelet": "--port=10262\n--make-iptables-util-chains=false\n"},
         {"port": 10262, "make_iptables_util_chains": False}),
    ])
def test_settings_inside_of_another_program(comm, files, expected, tmp_path):
    settings = live(tmp_path, runs(comm, comm + ".service"), rules(), files)["settings"]
    assert {name: settings[name] for name in expected} == expected


def test_secrets_stay_where_they_are(tmp_path):
    secret = "s3cr3tt0k3n"
    section = live(tmp_path, runs("k3s-server", "k3s.service", ("--token=" + secret,)), rules(), systemd(),
                   journal(said("ipv4", True) + " " + secret), {
                       "etc/rancher/k3s/config.yaml": "token: %s\nkubelet-arg:\n  - config=/c\n  - bootstrap-token=%s\n"
                       % (secret, secret),
                       "c": CONFIG + "staticPodURLHeader:\n  Authorization: [%s]\nhairpinMode: %s\n"
                       % (secret, secret)})
    assert section["initialisation"]["families"][0]["log_line"] and secret not in repr(section)
