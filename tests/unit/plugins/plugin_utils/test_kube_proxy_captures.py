# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real answers and rules of kube-proxies, through the checks KPROXY*: each provoked failure has its cause, and no
healthy capture a finding."""

import fnmatch

import bundles
import kube_captures
import kube_proxy_captures
import pytest
import yaml
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_running import (
    health_of, is_waiting, watch_of, window_of,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.save import SaveReader
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.proxy import compare_rules, own_rules
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

CHECKS = [check for name, check in sorted(catalogue.catalogue().items()) if name.startswith("KPROXY")]
ROWS = yaml.safe_load((kube_captures.PACKED.parent / "kube_proxy.yml").read_text())


def counted(text):
    reader = SaveReader("capture")
    reader.feed(text)
    return {name: own_rules(table) for rules in reader.close() for name, table in rules.tables.items()}


def rules_of(place, metrics):
    """The rows of a capture; None where its rules were not saved."""
    # A save of a kernel without tables is empty, and empty files are no part of the captures.
    dumps = kube_captures.packed().get(place[0], {}).get(place[1], {} if place[0].startswith("failures/") else None)
    families = metrics["families"]
    if dumps is None or not any(row["rules"] for row in families.values()):
        return None
    readings = {family: [counted(dumps.get(name + "-save-c.txt", b""))]
                for family, name in (("ipv4", "iptables"), ("ipv6", "ip6tables"))}
    return compare_rules({family: row["rules"] for family, row in families.items()}, readings,
                         [family for family, row in families.items() if is_waiting(row)])


def judged(place, window=None):
    """[(check, subject)] that fail on a node with the answers and rules of a capture."""
    statuses, metrics, section = health_of(kube_proxy_captures.answers(place))
    rules = rules_of(place, metrics)
    policy = policies.policy_of({})
    evidence = healthy(policy.module_names)
    mode = section["effective_mode"] or ("nftables" if place[0].endswith("nftables") else "iptables")
    evidence["node_kube_proxy"].update(
        section, mode=mode, effective_mode=mode, rules=rules or [], version=metrics["version"],
        rules_because="" if rules else "nothing to compare", window=window, api_watch=watch_of(window, None))
    evidence["node_kube_proxy"]["collected"].update(statuses, proxy_mode="ok")
    assert validate.checked_sections(evidence)[1] == {}
    found = assess.judged(evidence, policy, CHECKS)[0]
    return sorted((row["check"], row["subject"]) for row in found if row["status"] == "fail")


def expected(place):
    return next((row["fails"] for row in ROWS if fnmatch.fnmatchcase("/".join(place), row["capture"])), [])


@pytest.mark.parametrize("place", kube_proxy_captures.texts(), ids="/".join)
def test_each_capture_is_judged(place):
    assert [check for check, _subject in judged(place)] == expected(place)


def test_each_row_has_its_capture():
    places = ["/".join(place) for place in kube_proxy_captures.texts()]
    assert [row["capture"] for row in ROWS if not fnmatch.filter(places, row["capture"])] == []


def parsed(directory, snapshot):
    return health_of(kube_proxy_captures.answers((directory, snapshot)))[1]


@cases
def test_two_captures_as_two_readings(directory, first, second, fails):
    window = window_of(parsed(directory, first), parsed(directory, second), 50.0)
    assert [check for check, _subject in judged((directory, second), window)] == fails


def test_answers_in_a_bundle(tmp_path):
    """/metrics and /healthz of a bundle are recognised by their content, whatever their names are."""
    texts = kube_proxy_captures.texts()[("failures/restore-hangs/kube-proxy-1.36.3-iptables-nft", "2-70s-hanging")]
    files = {"a/pod-metrics": texts["metrics"], "a/health.out": texts["healthz"], "a/livez.out": texts["livez"]}
    found, evidence = bundles.judged(bundles.folder(tmp_path / "failing", files))
    assert [row["subject"] for row in found["KPROXY004"]] == ["ipv4"] and found["KPROXY004"][0]["status"] == "fail"
    assert evidence["node_kube_proxy"]["running"] is None and evidence["node_kube_proxy"]["version"] == "1.36.3"
    texts = kube_proxy_captures.texts()[("iptables-mode/kube-proxy-1.30.5/nft/small", "")]
    found = bundles.judged(bundles.folder(tmp_path / "healthy", {"m": texts["metrics"], "h": texts["healthz"]}))[0]
    assert {name: row["status"] for name, rows in found.items() for row in rows if name.startswith("KPROXY0")} == dict(
        dict.fromkeys(("KPROXY%03d" % number for number in (*range(1, 16), *range(20, 25))), "skip"),
        KPROXY004="pass", KPROXY005="pass", KPROXY008="pass", KPROXY012="pass", KPROXY023="pass")
    lsmod = {"lsmod": "Module                  Size  Used by\nnf_tables 16384 0\n"}
    without = bundles.judged(bundles.folder(tmp_path / "none", lsmod))[0]
    assert {row["status"] for name in without if name.startswith("KPROXY") for row in without[name]} == {"skip"}
