# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether kubelet has made its chains: by the rules, the journal and its version."""

import os

import pytest

import node_tree
from fake_tools import LIVE, script, tools, unpacked
from kubelet_node import BOOTED, UPTIME, dump, journal, rules, runs, said, systemd
from node_manifests import merged, node
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kubelet import collect_kubelet


def live(tmp_path, *manifests):
    """The section of a node whose programs are run."""
    return collect_kubelet(unpacked(tmp_path, *manifests), LIVE)


def asked(tmp_path, name):
    path = str(tmp_path / "usr" / "bin" / name)
    if not os.path.exists(path):
        return None
    with open(path) as stream:
        return stream.read().split("\n")[:-1]


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
    assert section["initialisation"]["failed"] == [family for family, state in zip(("ipv4", "ipv6"), expected)
                                                   if state == "failed"]
    assert section["collected"]["journal"] == "absent"


@pytest.mark.parametrize("program", ["exit 1", 'cat "${0%/*}/$name.txt"; exit 1',
                                     'cut -c1-300 "${0%/*}/$name.txt" | head -n 6', "sleep 1; kill -9 $$"])
def test_rules_that_cannot_be_read(program, tmp_path):
    section = live(tmp_path, runs(), merged(rules(), tools(program)), systemd())
    assert (states(section)[0] == "unknown" and section["collected"]["rules"] not in ("ok", "absent")
            and section["initialisation"]["failed"] == [])


@pytest.mark.parametrize(
    "ipv4, lines, expected", [
        (BARE, [said("ipv4", True)], "failed"), (BARE, [said("ipv4", False)], "flushed"),
        ({}, [said("ipv4", False)], "done"),
        # The chains are there and not this kubelet's.
        ({}, [said("ipv4", True)], "unwatched"), ({"canaries": ("nat",)}, [said("ipv4", True)], "failed"),
        (BARE, [said("ipv6", False)], "failed"),
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


@pytest.mark.parametrize(
    "ending, status", [
        ("exit 1", "ok"),
        ("echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1", "denied"),
        ("echo 'Hint: You are currently not seeing messages from other users and the system.' >&2; exit 0", "denied"),
        ("echo 'Compiled without pattern matching support' >&2; exit 1", "unparsed"), ("yes", "unparsed"),
        ("sleep 20", "timeout")])
def test_a_journal_that_may_not_be_read(ending, status, tmp_path):
    section = live(tmp_path, runs(), rules(dump("ipv4", **BARE)), systemd(), journal(ending=ending))
    assert (section["collected"]["journal"], states(section)) == (status, ["failed", "done"])


@pytest.mark.parametrize("age, ipv4, line, expected",
                         [
                             (59, BARE, None, "starting"), (61, BARE, None, "failed"),
                             (5, {"hint": False}, None, "starting"), (5, BARE, said("ipv4", True), "starting"),
                             # Chains outlive the kubelet that made them: only its log tells that they are its own.
                             (5, {}, None, "starting"), (5, {}, said("ipv4", False), "done"),
                             (5, {}, said("ipv4", True), "starting"), (61, {}, said("ipv4", True), "unwatched"),
                         ])
def test_a_kubelet_that_has_just_started(age, ipv4, line, expected, tmp_path):
    section = live(tmp_path, runs(age=age), rules(dump("ipv4", **ipv4)), systemd(), journal(line) if line else {})
    assert states(section)[0] == expected


@pytest.mark.parametrize("arguments, version, expected",
                         [
                             (("--make-iptables-util-chains=false",), "1.30.2", False), ((), "1.16.9", False),
                             ((), "1.17.0", True), (("--config=/none",), "1.30.2", None)])
def test_whether_chains_are_expected(arguments, version, expected, tmp_path):
    told = live(tmp_path, runs(arguments=arguments, version=version), rules(dump("ipv4", **BARE)),
                systemd())["initialisation"]
    assert told["expected"] is expected and told["because"]
    # What may be meant is no failure.
    assert told["failed"] == (["ipv4"] if expected else [])


def test_before_1_24_there_is_no_hint(tmp_path):
    assert states(live(tmp_path, runs(version="1.23.5"),
                       rules(dump("ipv4", hint=False), dump("ipv6", hint=False)))) == ["done", "done"]


def test_no_rule_at_all(tmp_path):
    section = live(tmp_path, node(), runs(), {"usr/sbin/iptables": script("exit 1")})
    assert states(section) == ["failed", "unused"]


def test_a_kubelet_that_writes_to_the_other_backend(tmp_path):
    both = merged(rules(dump("ipv4", **BARE)),
                  {"proc/net/ip_tables_names": "mangle\n", "usr/sbin/xtables-legacy-multi": script(
                      "printf '*mangle\\n:KUBE-IPTABLES-HINT - [0:0]\\n:KUBE-KUBELET-CANARY - [0:0]\\nCOMMIT\\n'"),
                   "usr/sbin/iptables-legacy-save": node_tree.link("xtables-legacy-multi")})
    assert states(live(tmp_path, runs(), both)) == ["done", "done"]


@pytest.mark.parametrize("programs, distribution, state",
                         [
                             ({}, {}, "unused"), ({"usr/sbin/iptables": script("exit 1")}, {}, "failed"),
                             ({}, {"comm": "k0s", "unit": "k0s.service"}, "failed"), ({}, {"age": 5}, "starting"),
                         ])
def test_without_iptables_kubelet_has_nothing_to_make(programs, distribution, state, tmp_path):
    """As on a node of Cilium alone: a restart would bring nothing, for nothing is missing."""
    bare = {"proc/modules": "", "proc/sys/kernel/modprobe": "x", "lib/modules/6.1.0-49-amd64/modules.dep": "",
            "lib/modules/6.1.0-49-amd64/modules.dep.bin": "x", "lib/modules/6.1.0-49-amd64/modules.builtin": ""}
    section = live(tmp_path, merged(runs(**distribution), {"usr/bin/kubelet": script("echo Kubernetes v1.33.2")}), bare,
                   programs)
    rows = {row["family"]: row["state"] for row in section["initialisation"]["families"]}
    assert rows == {"ipv4": state, "ipv6": "unused"}
