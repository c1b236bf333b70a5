# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check against its table in tests/checks: evidence in, finding out."""

import re

import pytest
from banned_words import BANNED
from case_rows import cases
from cases import TABLES, table

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.run import differences, findings_of, lacking
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue, references


def rows():
    for path in sorted(TABLES.glob("*.yml")):
        for row in table(path.stem):
            yield pytest.param(path.stem, row, id="%s: %s" % (path.stem, row["name"]))


@pytest.mark.parametrize("check_id", sorted(catalogue.catalogue()))
def test_every_table_shows_pass_fail_and_unknown(check_id):
    assert lacking(table(check_id)) == []


@pytest.mark.parametrize("check", catalogue.catalogue().values(), ids=lambda check: check.id)
def test_a_title_says_what_holds_and_a_problem_what_is_wrong(check):
    assert not re.match(r"(No|Nothing|Nobody|None)\b", check.title)
    assert check.problem and check.problem != check.title
    assert not check.title.endswith(".") and not check.problem.endswith(".")


def texts(check):
    """All that people read of a check; expressions hold the texts of its rows."""
    return [check.title, check.problem, check.observed, check.expected, check.why, check.reason, check.skipped,
            check.select, check.unknown or "", check.fix["manual"] or "", check.fix["safety"] or ""]


@pytest.mark.parametrize("check", catalogue.catalogue().values(), ids=lambda check: check.id)
def test_no_text_of_a_check_has_a_banned_word(check):
    assert [match.group() for text in texts(check) for match in BANNED.finditer(" ".join(text.split()))] == []


def test_banned_words_are_found_as_whole_words():
    assert (BANNED.search("Nobody reads it") and BANNED.search("see what is meant")
            and not BANNED.search("a gateway, elsewhere"))


def assert_problem(finding, check):
    """The sentence that is printed beside FAIL; pytest shows it with -s."""
    print(" | ".join(finding[key] for key in ("problem", "observed", "expected")))
    assert finding["problem"] not in ("", finding["title"]) and ". " not in check.problem
    if finding["subject"].startswith("and "):
        return
    told = set(re.findall(r"\w+", finding["problem"].lower()))
    assert set(re.findall(r"\w+", finding["subject"].lower())) <= told, "the subject is named"
    # A field that the select does not give reads as unknown; so does what the node does not know, but then elsewhere
    # too.
    elsewhere = " ".join(finding[key] for key in ("subject", "observed", "expected"))
    assert not references.FIELD.search(finding["problem"]) and ("unknown" not in told or "unknown" in elsewhere)


@cases
def test_a_problem_is_a_sentence_that_people_understand(check_id, problem):
    found = [finding["problem"] for row in table(check_id)
             for finding in findings_of(catalogue.catalogue()[check_id], row)]
    assert problem in found


@pytest.mark.parametrize("check_id, row", list(rows()))
def test_check(check_id, row):
    check = catalogue.catalogue()[check_id]
    found = findings_of(check, row)
    assert differences(check, row, found) == []
    assert all(list(finding) == list(_finding.KEYS) for finding in found)
    # Values are those of the node and of the policy: no expression, no value in Python's spelling, no variable in place
    # of its number.
    assert not [text for finding in found for text in finding.values()
                if re.search(r"&&|\|\||\b(True|False)\b|at most node_policy", str(text))]
    for finding in found:
        if finding["status"] == "fail":
            assert "{" not in "".join(str(value) for value in finding.values())
            assert_problem(finding, check)
    assert all(finding["problem"] is None for finding in found if finding["status"] != "fail")
    assert all(finding["reason"] for finding in found if finding["status"] in ("skip", "unknown"))
