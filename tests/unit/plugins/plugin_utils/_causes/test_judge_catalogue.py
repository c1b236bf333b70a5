# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loader of the causes refuses entries that no cause can be made of, the texts of the causes can be used, and what
joins a finding to a cause; tests/incidents has the causes themselves."""

import pathlib
import re
import string

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes import judge
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy.limits import PLAYBOOKS as PLAYBOOK_VARIABLES

TOP = pathlib.Path(__file__).resolve().parents[5]
PLAYBOOKS = {path.stem for path in TOP.glob("playbooks/*.yml")}
SUBJECTS = set(PLAYBOOK_VARIABLES["repair_"]["repair_subjects"]["choices"])
GOOD = {
    "id": "nat-flushed", "sentence": "nat was flushed by {by}", "effect": "Connections fail.", "felt": "all_services",
    "certainty": "sure", "specific": 50, "holds": "failing.CHAIN001 && [{by: 'cron'}]", "explains": ["CHAIN001"],
    "fix": {"class": "disruptive", "command": "systemctl restart kube-proxy on {host}"}, "then": "CHAIN001 passes",
    "sources": ["man iptables"],
}


def load(*entries):
    return judge.causes_from(("rules.yml", entry) for entry in entries)


def without(key):
    return {name: value for name, value in GOOD.items() if name != key}


def test_entries_become_causes_and_the_most_specific_is_first():
    found = load(GOOD, dict(GOOD, id="nat-flushed-by-cron", specific=60), dict(GOOD, id="nat-empty"))
    assert [cause.id for cause in found] == ["nat-flushed-by-cron", "nat-empty", "nat-flushed"]
    assert found[0].explains == ("CHAIN001",) and found[0].since == found[0].evidence == ""


@pytest.mark.parametrize("entry, words", [
    (dict(GOOD, sentense="x"), "rules.yml: nat-flushed: the key sentense is not known; did you mean sentence"),
    (dict(GOOD, felt="everything"), "rules.yml: nat-flushed: felt is 'everything', but must be one of: all_services"),
    (dict(GOOD, certainty="perhaps"), "certainty is 'perhaps', but must be one of: sure, likely"),
    (dict(GOOD, specific="high"), "rules.yml: nat-flushed: specific must be a whole number, not 'high'"),
    (dict(GOOD, holds="failing.CHAIN001 &&"), "rules.yml: nat-flushed: holds"),
    (dict(GOOD, explains=["CHAIN0001"]), "explains: the check CHAIN0001 is not known; did you mean CHAIN001"),
    (dict(GOOD, fix=dict(GOOD["fix"], role="repair")), "fix: the key role is not known"),
    (dict(GOOD, fix=dict(GOOD["fix"], **{"class": "brave"})), "fix.class is 'brave', but must be one of: "),
    (without("id"), "rules.yml: an entry without id lacks id"),
    (without("then"), "rules.yml: nat-flushed lacks then")])
def test_an_entry_that_is_no_cause_is_refused(entry, words):
    with pytest.raises(BadInput) as caught:
        load(entry)
    assert words in str(caught.value)


def test_an_id_that_exists_twice_is_refused():
    with pytest.raises(BadInput, match="rules.yml: the id nat-flushed exists twice"):
        load(GOOD, GOOD)


CAUSES = {cause.id: cause for cause in judge.causes()}


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_the_texts_of_a_cause_can_be_used(name):
    cause = CAUSES[name]
    fields = {field for text in (cause.sentence, cause.effect, cause.since, cause.evidence, cause.then,
                                 cause.fix["command"]) for _before, field, _format, _conversion in
              string.Formatter().parse(text) if field}
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert {field for field in fields if not field.isidentifier()} == set()
    assert set(re.findall(r"kubenode\.netfilter\.(\w+)", cause.fix["command"] + cause.then)) <= PLAYBOOKS
    assert set(re.findall(r"repair_subjects=([\w,]+)", cause.fix["command"])) <= SUBJECTS
    assert cause.sources and not cause.sentence.endswith(".") and cause.effect.endswith(".")


def finding(check, subject, problem="It is broken", **more):
    return dict({"check": check, "subject": subject, "title": "It works", "problem": problem, "status": "fail",
                 "severity": "high", "observed": "", "expected": "", "reason": "",
                 "remediation": "Run a command. Then look again."}, **more)


def cause(holds, explains, **more):
    entry = {"id": "made-up", "sentence": "{problem}{more} {families}", "effect": "Nothing works", "felt": "pods",
             "certainty": "sure", "specific": 1, "holds": holds, "explains": explains, "then": "look", "sources": ["x"],
             "fix": {"class": "safe", "command": "on {host}: {do}"}}
    return judge.causes_from([("made-up", dict(entry, **more))])


FOUR, SIX = finding("CHAIN001", "ipv4 nft nat"), finding("CHAIN001", "ipv6 nft nat")
LOG = finding("LOG001", "kube-proxy-restore-failed", remediation="Read it. CHAIN018 shows more.")
JOINS = (
    ("any finding", "[{lead: failing.CHAIN001}]", [FOUR, finding("KPROXY006", "table nat of ipv6")], 2),
    ("family", "[{lead: failing.CHAIN001, joined: 'family'}]", [FOUR, finding("KPROXY006", "table nat of ipv6")], 1),
    ("a finding of no family", "[{lead: failing.CHAIN001, joined: 'family'}]", [FOUR, finding("KPROXY006", "x")], 2),
    ("subject", "[{lead: failing.CHAIN001, joined: 'subject'}]", [FOUR, finding("KPROXY006", "a ipv4 nft nat b")], 2),
    ("whole words", "[{lead: failing.CHAIN001, of: ['web']}]", [FOUR, finding("KPROXY006", "web-2")], 1),
    ("no text", "[{lead: failing.CHAIN001, of: `[]`}]", [FOUR, finding("KPROXY006", "x")], 1),
    ("only", "[{lead: failing.CHAIN001, only: {KPROXY006: ['y']}}]", [FOUR, finding("KPROXY006", "x")], 1),
    ("no log without a word", "[{lead: failing.CHAIN001}]", [FOUR, LOG], 1),
    ("a log by its check", "[{lead: failing.CHAIN001, logs: ['CHAIN018']}]", [FOUR, LOG], 2),
    ("by another family", "[{lead: failing.CHAIN001, by: failing.HOOK001}]",
     [FOUR, finding("HOOK001", "/x", reason="tables: nat of ipv6")], 0),
    ("by the same family", "[{lead: failing.CHAIN001, by: failing.HOOK001}]",
     [FOUR, finding("HOOK001", "/x", reason="tables: nat of ipv4")], 2),
    ("a lead twice", "[{lead: [failing.CHAIN001, failing.CHAIN001][]}]", [FOUR, SIX], 2),
    ("no lead", "[{lead: failing.CHAIN020}]", [FOUR], 0),
    ("evidence that is missing", "[{lead: failing.CHAIN001, x: join('', [node_host.x])}]", [FOUR], 0),
)


@pytest.mark.parametrize("holds, findings, explained", [row[1:] for row in JOINS], ids=[row[0] for row in JOINS])
def test_what_joins_a_finding(holds, findings, explained):
    found = judge.causes_of(findings, {}, "w01", cause(holds, ["CHAIN001", "KPROXY006", "LOG001", "HOOK001"]))
    mine = [row for row in found if row["cause"]]
    assert [len(row["explains"]) for row in mine] == [explained] * bool(explained)
    assert sum(len(row["explains"]) for row in found) == len(findings)


def test_the_texts_of_a_cause():
    found = judge.causes_of([FOUR, SIX], {}, "w01", cause("[{lead: failing.CHAIN001}]", ["CHAIN001"]))
    assert found[0]["sentence"] == "It is broken (and 1 more) IPv4 and IPv6"
    assert found[0]["fix"] == "on w01: Run a command"


@pytest.mark.parametrize("seconds, text", [(31.9, "31 s"), (3600, "1 h"), (90061, "1 d 1 h"), (0, "0 s")])
def test_an_age(seconds, text):
    holds = "[{lead: failing.CHAIN001, seconds: age}]"
    found = judge.causes_of([FOUR], {"age": seconds}, "w01", cause(holds, ["CHAIN001"], since="{ago}"))
    assert found[0]["since"] == text


def test_a_finding_that_is_its_own_cause_names_the_host():
    row = finding("KMOD001", "x", remediation="ansible NODE -b -m ping; -e NODE_NAME=1")
    found = judge.causes_of([row], {}, "w01", ())
    assert (found[0]["fix"], found[0]["class"]) == ("ansible w01 -b -m ping; -e NODE_NAME=1", "disruptive")


def test_the_rest_of_a_check_goes_with_what_is_named():
    rest = finding("CHAIN001", "and 3 more", expected="It works")
    found = judge.causes_of([FOUR, rest], {}, "w01", ())
    assert [row["explains"] for row in found] == [[
        {"check": "CHAIN001", "subject": "ipv4 nft nat"}, {"check": "CHAIN001", "subject": "and 3 more"}]]
