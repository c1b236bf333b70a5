# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loader of the causes refuses entries that no cause can be made of, and the texts of the causes can be used."""

import pathlib
import re
import string

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._play.playbooks import (
    PLAYBOOKS as PLAYBOOK_VARIABLES,
)

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
    return catalogue.causes_of(("rules.yml", entry) for entry in entries)


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
    (without("then"), "rules.yml: nat-flushed lacks then"),
])
def test_an_entry_that_is_no_cause_is_refused(entry, words):
    with pytest.raises(BadInput) as caught:
        load(entry)
    assert words in str(caught.value)


def test_an_id_that_exists_twice_is_refused():
    with pytest.raises(BadInput, match="rules.yml: the id nat-flushed exists twice"):
        load(GOOD, GOOD)


CAUSES = {cause.id: cause for cause in catalogue.causes()}


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
