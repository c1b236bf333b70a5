# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kubelet."""

import os

import pytest

import node_tree
from fake_tools import LIVE, script, tools, unpacked
from kubelet_node import BOOTED, CONFIG, UPTIME, dump, journal, rules, runs, said, systemd
from node_manifests import DEBIAN, merged, node, process, running
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


@pytest.mark.parametrize("comm, distribution", [
    ("kubelet", "kubelet"), ("k3s-server", "k3s"), ("k3s-agent", "k3s"), ("rke2", "rke2"), ("k0s", "k0s"), ("kubelite", "microk8s")])
def test_who_is_the_kubelet(comm, distribution, tmp_path):
    section = look(process(700, comm, [comm]), tmp_path)
    assert (section["running"], section["distribution"], section["collected"]["processes"]) == (True, distribution, "ok")


def test_the_distribution_counts_before_its_child(tmp_path):
    section = look(merged(process(10, "kubelet", []), process(700, "rke2", [])), tmp_path)
    # The child is the kubelet all the same.
    assert (section["distribution"], section["pid"]) == ("rke2", 10)


def test_none_runs(tmp_path):
    section = look({"usr/bin/kubelet": node_tree.executable()}, tmp_path)
    assert (section["running"], section["distribution"], section["installed"]) == (False, None, "/usr/bin/kubelet")
    # The tree is none that runs: nothing in it is asked for its version.
    assert (section["version"], section["version_source"], section["collected"]["version"]) == (None, None, "denied")
    assert [section[key] for key in ("pid", "started_seconds_ago", "unit", "config", "settings", "initialisation")] == [None] * 6


def test_nothing_runs_in_an_image(tmp_path):
    section = look(process(700, "kubelet", []), tmp_path, "image")
    assert (section["running"], section["distribution"], section["collected"]) == (False, None, NOTHING)


def test_processes_that_may_not_be_seen(tmp_path):
    assert look({"proc": node_tree.DIRECTORY}, tmp_path)["running"] in (False, None)


def test_a_healthy_kubelet(tmp_path):
    section = live(tmp_path, runs(arguments=("--config=/var/lib/kubelet/config.yaml",)), rules(), systemd(), journal(said("ipv4", False), said("ipv6", False)),
                   {"var/lib/kubelet/config.yaml": CONFIG})
    assert section["collected"] == dict.fromkeys(NOTHING, "ok")
    assert (section["version"], section["version_source"], section["version_doubt"]) == ("1.30.2", "/usr/bin/kubelet --version", None)
    assert (section["pid"], section["started_seconds_ago"]) == (812, 3600.0)
    assert section["config"] == {"file": "/var/lib/kubelet/config.yaml", "directory": None, "drop_ins": []}
    assert section["initialisation"]["failed"] == [] and section["initialisation"]["expected"] is True
    assert [(row["family"], row["state"]) for row in section["initialisation"]["families"]] == [("ipv4", "done"), ("ipv6", "done")]


# The unit.


@pytest.mark.parametrize("comm, unit, kill_mode, stops, containers", [
    ("kubelet", "kubelet.service", "control-group", [], "keep_running"),
    ("k3s-server", "k3s.service", "process", ["the API server", "containerd", "kube-proxy"], "keep_running"),
    ("k3s-agent", "k3s-agent.service", "process", ["containerd", "kube-proxy"], "keep_running"),
    ("k3s-agent", "k3s-agent.service", "mixed", ["containerd", "kube-proxy"], "stop"),
    ("rke2", "rke2-server.service", "process", ["containerd"], "keep_running"),
    ("rke2", "rke2-agent.service", "control-group", ["containerd"], "stop"),
    ("k0s", "k0scontroller.service", "process", ["the API server", "konnectivity", "containerd"], "keep_running"),
    ("k0s", "k0sworker.service", "process", ["containerd"], "keep_running"),
    ("kubelite", "snap.microk8s.daemon-kubelite.service", "control-group", ["the API server", "kube-proxy"], "keep_running"),
])
def test_the_unit_and_what_goes_down_with_it(comm, unit, kill_mode, stops, containers, tmp_path):
    section = live(tmp_path, runs(comm, unit), rules(), systemd(kill_mode))
    assert (section["unit"]["name"], section["unit"]["kill_mode"], section["unit"]["containers"]) == (unit, kill_mode, containers)
    assert [name for name in section["unit"]["stops"] if name in stops] == stops and bool(section["unit"]["stops"]) == bool(stops)
    assert "the API server" not in section["unit"]["stops"] or "the API server" in stops
    effect = section["unit"]["effect"]
    assert all(name in effect for name in section["unit"]["stops"]) and ("ends all containers" in effect) == (containers == "stop")
    assert asked(tmp_path, "asked") == [unit]
    assert section["initialisation"]["families"][0]["restart"] == "systemctl restart " + unit


def test_since_when_and_how_often(tmp_path):
    unit = live(tmp_path, runs(), rules(), systemd(active_seconds=100.0))["unit"]
    assert unit["restarts"] == 3 and abs(unit["active_seconds"] - 100.0) < 30.0
    assert live(tmp_path / "failed", runs(), rules(), systemd(state="activating"))["unit"]["active_seconds"] is None


def test_what_systemd_restarts_with_it(tmp_path):
    unit = live(tmp_path, runs(), rules(), systemd(required_by="multi-user.target node-agent.service", consists_of="kubelet-watch.timer a.service"))["unit"]
    assert unit["units"] == ["a.service", "kubelet-watch.timer", "node-agent.service"]
    assert "systemd restarts a.service, kubelet-watch.timer, node-agent.service as well" in unit["effect"]


@pytest.mark.parametrize("program, status", [
    (None, "absent"), ("echo 'Failed to connect to bus' >&2; exit 1", "unparsed"), ("sleep 20", "timeout"), ("yes KillMode=", "unparsed")])
def test_a_systemctl_that_does_not_answer(program, status, tmp_path):
    section = live(tmp_path, runs("k3s-agent", "k3s-agent.service"), rules(), {"usr/bin/systemctl": script(program) if program else None})
    assert (section["collected"]["unit"], section["unit"]["name"], section["unit"]["kill_mode"]) == (status, "k3s-agent.service", None)
    assert section["unit"]["containers"] is None and "only if its KillMode is process" in section["unit"]["effect"]


@pytest.mark.parametrize("cgroup", ["0::/system.slice/docker-0123.scope\n", "0::/\n", "0::/user.slice/user-1000.slice/user@1000.service/a.service\n"])
def test_no_unit(cgroup, tmp_path):
    section = live(tmp_path, runs(cgroup=cgroup), rules(dump("ipv4", hint=False, canaries=())), systemd())
    assert (section["unit"], section["collected"]["unit"], asked(tmp_path, "asked")) == (None, "absent", None)
    assert "process 812" in section["initialisation"]["families"][0]["restart"]


# The version.


def test_another_program_lies_where_kubelet_was_started_from(tmp_path):
    section = live(tmp_path, runs(exe="/usr/bin/kubelet (deleted)", version="1.31.0"), rules())
    assert section["version"] == "1.31.0"
    assert section["version_doubt"] == "/usr/bin/kubelet was replaced after kubelet had been started: another version runs"


@pytest.mark.parametrize("exe", ["/var/lib/rancher/rke2/data/v1.32.1-rke2r1-0123/bin/kubelet", "/var/lib/k0s/bin/kubelet", "/usr/local/bin/kubelet"])
def test_the_kubelet_that_runs_is_asked(exe, tmp_path):
    section = live(tmp_path, runs(exe=exe), rules(), {exe[1:]: script("echo Kubernetes v1.32.1")})
    assert (section["version"], section["version_source"], section["version_doubt"]) == ("1.32.1", exe + " --version", None)


@pytest.mark.parametrize("exe", ["/home/mallory/kubelet", "/tmp/kubelet", "/usr/bin/passwd", "/var/lib/rancher/rke2/data/x/bin/containerd",
                                 "/var/lib/rancher/../../home/mallory/kubelet"])
def test_a_program_of_somebody_who_calls_himself_kubelet_is_not_run(exe, tmp_path):
    section = live(tmp_path, runs(exe=exe), rules(), {exe[1:]: script('touch "$0.was-run"; echo Kubernetes v6.6.6')})
    assert section["version"] == "1.30.2" and section["version_doubt"] == "kubelet runs from %s, which is not asked" % exe
    assert not os.path.exists(str(tmp_path) + os.path.normpath(exe) + ".was-run")


# The configuration.


@pytest.mark.parametrize("arguments, files, expected", [
    ((), {}, {"port": 10250, "read_only_port": 10255, "healthz_port": 10248, "make_iptables_util_chains": True, "hairpin_mode": "promiscuous-bridge"}),
    (("--config=/c",), {"c": CONFIG + "port: 10260\n"}, {"port": 10260, "read_only_port": 0}),
    (("--config=/c", "--port=10270"), {"c": CONFIG + "port: 10260\n"}, {"port": 10270}),
    (("--config", "/c", "--config-dir=/d"), {"c": CONFIG + "port: 1\nreadOnlyPort: 10255\n", "d/10-a.conf": CONFIG + "port: 2\n",
                                             "d/20-b.conf": CONFIG + "port: 3\n", "d/30-c.yaml": CONFIG + "port: 4\n"},
     {"port": 3, "read_only_port": 10255}),
    (("--config=/c", "--make-iptables-util-chains=false", "--iptables-masquerade-bit=20"), {"c": CONFIG + "makeIPTablesUtilChains: true\n"},
     {"make_iptables_util_chains": False, "iptables_masquerade_bit": 20}),
    (("--config=/c",), {"c": "{kind: KubeletConfiguration, 'makeIPTablesUtilChains': false}\n"}, {"make_iptables_util_chains": False, "port": 10250}),
    (("--config=/c",), {"c": CONFIG + "port: '10260'\n"}, {"port": None, "make_iptables_util_chains": True}),
    # A bool flag alone: what stands behind it is the next one.
    (("--make-iptables-util-chains", "--port=1", "--config=/c"), {"c": CONFIG + "makeIPTablesUtilChains: false\n"},
     {"make_iptables_util_chains": True, "port": 1}),
    (("--config=/c", "--port=many", "--hairpin-mode=x"), {"c": CONFIG + "port: 5\n"}, {"port": 5, "hairpin_mode": "promiscuous-bridge"}),
])
def test_settings(arguments, files, expected, tmp_path):
    settings = live(tmp_path, runs(arguments=arguments), rules(), files)["settings"]
    assert {name: settings[name] for name in expected} == expected


@pytest.mark.parametrize("files, status", [
    ({}, "absent"), ({"c": "no configuration"}, "unparsed"), ({"c": node_tree.FIFO}, "unparsed"),
    ({"c": CONFIG + "port: 10260\n", "d/a.conf": "kind: Other\n"}, "unparsed"), ({"c": "a: &a {port: 1}\nport: 2\n" + CONFIG + "<<: *a\n"}, "unparsed"),
    ({"c": node_tree.sparse(10 ** 10)}, "unparsed")])
def test_what_a_configuration_that_cannot_be_read_may_say_is_not_guessed(files, status, tmp_path):
    section = live(tmp_path, runs(arguments=("--config=/c", "--config-dir=/d", "--healthz-port=10300")), rules(), {"d": node_tree.DIRECTORY}, files)
    assert (section["collected"]["config"], section["settings"]["healthz_port"], section["settings"]["make_iptables_util_chains"]) == (status, 10300, None)
    assert section["initialisation"]["expected"] is None


def test_a_configuration_inside_of_a_container_is_not_read_here(tmp_path):
    section = live(tmp_path, runs(arguments=("--config=/c",), root="/var/c"), rules(), {"c": CONFIG + "port: 1\n", "var/c": node_tree.DIRECTORY})
    assert (section["collected"]["config"], section["settings"]["port"]) == ("denied", None)


@pytest.mark.parametrize("comm, files, expected", [
    ("k3s-server", {}, {"port": 10250, "read_only_port": 0}),
    ("k3s-server", {"etc/rancher/k3s/config.yaml": "token: a\nkubelet-arg:\n  - port=10260\n  - config=/c\n", "c": CONFIG + "readOnlyPort: 5\n"},
     {"port": 10260, "read_only_port": 5}),
    ("k3s-server", {"etc/rancher/k3s/config.yaml": "kubelet-arg: [port=10260, make-iptables-util-chains]\n",
                    "etc/rancher/k3s/config.yaml.d/1.yaml": "kubelet-arg+: [healthz-port=10300]\n",
                    "etc/rancher/k3s/config.yaml.d/2.txt": "kubelet-arg: [port=1]\n"},
     {"port": 10260, "healthz_port": 10300, "make_iptables_util_chains": True}),
    ("k3s-server", {"etc/rancher/k3s/config.yaml": "kubelet-arg: [port=10260]\n", "etc/rancher/k3s/config.yaml.d/1.yaml": "kubelet-arg: [a\n"},
     {"port": None, "healthz_port": None}),
    ("k3s-agent", {"var/lib/rancher/k3s/agent/etc/kubelet.conf.d/50-a.conf": CONFIG + "port: 10261\n"}, {"port": 10261}),
    ("kubelite", {"var/snap/microk8s/current/args/kubelet": "--port=10262\n--make-iptables-util-chains=false\n"},
     {"port": 10262, "make_iptables_util_chains": False}),
])
def test_settings_inside_of_another_program(comm, files, expected, tmp_path):
    settings = live(tmp_path, runs(comm, comm + ".service"), rules(), files)["settings"]
    assert {name: settings[name] for name in expected} == expected


def test_secrets_stay_where_they_are(tmp_path):
    secret = "s3cr3tt0k3n"
    section = live(tmp_path, runs("k3s-server", "k3s.service", ("--token=" + secret,)), rules(), systemd(), journal(said("ipv4", True) + " " + secret), {
        "etc/rancher/k3s/config.yaml": "token: %s\nkubelet-arg:\n  - config=/c\n  - bootstrap-token=%s\n" % (secret, secret),
        "c": CONFIG + "staticPodURLHeader:\n  Authorization: [%s]\nhairpinMode: %s\n" % (secret, secret)})
    assert section["initialisation"]["families"][0]["log_line"] and secret not in repr(section)


# Whether its set-up went well.

BARE = {"hint": False, "canaries": ()}


def states(section):
    return [row["state"] for row in section["initialisation"]["families"]]


@pytest.mark.parametrize("ipv4, ipv6, expected", [
    (BARE, {}, ["failed", "done"]), ({}, BARE, ["done", "failed"]), (BARE, BARE, ["failed", "failed"]),
    # Since 1.28 the hint is made first: it may be there although the rest failed.
    (dict(BARE, hint=True), {}, ["failed", "done"]),
    (dict(BARE, proxy=False), dict(BARE, proxy=False), ["failed", "unused"]),
    ({"hint": False}, {}, ["hint_deleted", "done"]),
    ({"canaries": ("mangle",)}, {}, ["done", "done"]), ({"canaries": ("nat", "filter")}, {}, ["unknown", "done"]),
])
def test_chains_tell(ipv4, ipv6, expected, tmp_path):
    section = live(tmp_path, runs(), rules(dump("ipv4", **ipv4), dump("ipv6", **ipv6)), systemd())
    assert states(section) == expected
    assert section["initialisation"]["failed"] == [family for family, state in zip(("ipv4", "ipv6"), expected) if state == "failed"]
    assert section["collected"]["journal"] == "absent"


@pytest.mark.parametrize("program", ["exit 1", 'cat "${0%/*}/$name.txt"; exit 1', 'cut -c1-300 "${0%/*}/$name.txt" | head -n 6', "sleep 1; kill -9 $$"])
def test_rules_that_cannot_be_read(program, tmp_path):
    section = live(tmp_path, runs(), merged(rules(), tools(program)), systemd())
    assert states(section)[0] == "unknown" and section["collected"]["rules"] not in ("ok", "absent") and section["initialisation"]["failed"] == []


@pytest.mark.parametrize("ipv4, lines, expected", [
    (BARE, [said("ipv4", True)], "failed"), (BARE, [said("ipv4", False)], "flushed"), ({}, [said("ipv4", False)], "done"),
    # The chains are there and not this kubelet's.
    ({}, [said("ipv4", True)], "unwatched"), ({"canaries": ("nat",)}, [said("ipv4", True)], "failed"), (BARE, [said("ipv6", False)], "failed"),
    ({"canaries": ("nat",)}, [said("ipv4", False)], "flushed"),
])
def test_the_journal_tells(ipv4, lines, expected, tmp_path):
    section = live(tmp_path, runs(), rules(dump("ipv4", **ipv4)), systemd(), journal(*lines))
    row = section["initialisation"]["families"][0]
    assert (row["state"], section["collected"]["journal"]) == (expected, "ok")
    assert section["initialisation"]["failed"] == (["ipv4"] if expected in ("failed", "unwatched") else [])
    assert (row["log_line"] is not None) == any("IPv4" in line for line in lines)


def test_only_the_first_minutes_of_this_process_are_looked_through(tmp_path):
    live(tmp_path, runs(age=3600), rules(), systemd(), journal())
    began = BOOTED + UPTIME - 3600
    arguments = asked(tmp_path, "journal-asked")
    assert "--unit=kubelet.service" in arguments and "--no-pager" in arguments
    assert "--since=@%d" % (began - 1) in arguments and "--until=@%d" % (began + 600) in arguments


@pytest.mark.parametrize("ending, status", [
    ("exit 1", "ok"), ("echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1", "denied"),
    ("echo 'Hint: You are currently not seeing messages from other users and the system.' >&2; exit 0", "denied"),
    ("echo 'Compiled without pattern matching support' >&2; exit 1", "unparsed"), ("yes", "unparsed"), ("sleep 20", "timeout")])
def test_a_journal_that_may_not_be_read(ending, status, tmp_path):
    section = live(tmp_path, runs(), rules(dump("ipv4", **BARE)), systemd(), journal(ending=ending))
    assert (section["collected"]["journal"], states(section)) == (status, ["failed", "done"])


@pytest.mark.parametrize("age, ipv4, line, expected", [
    (59, BARE, None, "starting"), (61, BARE, None, "failed"), (5, {"hint": False}, None, "starting"), (5, BARE, said("ipv4", True), "starting"),
    # Chains outlive the kubelet that made them: only its log tells that they are its own.
    (5, {}, None, "starting"), (5, {}, said("ipv4", False), "done"), (5, {}, said("ipv4", True), "starting"), (61, {}, said("ipv4", True), "unwatched"),
])
def test_a_kubelet_that_has_just_started(age, ipv4, line, expected, tmp_path):
    section = live(tmp_path, runs(age=age), rules(dump("ipv4", **ipv4)), systemd(), journal(line) if line else {})
    assert states(section)[0] == expected


@pytest.mark.parametrize("arguments, version, expected", [
    (("--make-iptables-util-chains=false",), "1.30.2", False), ((), "1.16.9", False), ((), "1.17.0", True), (("--config=/none",), "1.30.2", None)])
def test_whether_chains_are_expected(arguments, version, expected, tmp_path):
    told = live(tmp_path, runs(arguments=arguments, version=version), rules(dump("ipv4", **BARE)), systemd())["initialisation"]
    assert told["expected"] is expected and told["because"]
    # What may be meant is no failure.
    assert told["failed"] == (["ipv4"] if expected else [])


def test_before_1_24_there_is_no_hint(tmp_path):
    assert states(live(tmp_path, runs(version="1.23.5"), rules(dump("ipv4", hint=False), dump("ipv6", hint=False)))) == ["done", "done"]


def test_no_rule_at_all(tmp_path):
    section = live(tmp_path, node(), runs(), {"usr/sbin/iptables": script("exit 1")})
    assert states(section) == ["failed", "unused"]


def test_a_kubelet_that_writes_to_the_other_backend(tmp_path):
    both = merged(rules(dump("ipv4", **BARE)), {"proc/net/ip_tables_names": "mangle\n", "usr/sbin/xtables-legacy-multi": script(
        "printf '*mangle\\n:KUBE-IPTABLES-HINT - [0:0]\\n:KUBE-KUBELET-CANARY - [0:0]\\nCOMMIT\\n'"),
        "usr/sbin/iptables-legacy-save": node_tree.link("xtables-legacy-multi")})
    assert states(live(tmp_path, runs(), both)) == ["done", "done"]


@pytest.mark.parametrize("programs, distribution, state", [
    ({}, {}, "unused"), ({"usr/sbin/iptables": script("exit 1")}, {}, "failed"), ({}, {"comm": "k0s", "unit": "k0s.service"}, "failed"),
])
def test_without_iptables_kubelet_has_nothing_to_make(programs, distribution, state, tmp_path):
    """As on a node of Cilium alone: a restart would bring nothing, for nothing is missing."""
    bare = {"proc/modules": "", "proc/sys/kernel/modprobe": "x", "lib/modules/6.1.0-49-amd64/modules.dep": "",
            "lib/modules/6.1.0-49-amd64/modules.dep.bin": "x", "lib/modules/6.1.0-49-amd64/modules.builtin": ""}
    section = live(tmp_path, merged(runs(**distribution), {"usr/bin/kubelet": script("echo Kubernetes v1.33.2")}), bare, programs)
    rows = {row["family"]: row["state"] for row in section["initialisation"]["families"]}
    assert rows == {"ipv4": state, "ipv6": "unused"}
