# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make check ID=...`: the cases of a check as a user would read them, and one sentence for an unknown id."""

import subprocess

import check
import pytest
import unit_some

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _catalogue


def ask(monkeypatch, asked, status=0):
    """Return (what main() returns, what pytest is given or None)."""
    given = []
    monkeypatch.setattr(unit_some, "run", lambda tests, *options: given.append([*tests, *options]) or status)
    monkeypatch.setenv("ID", asked)
    return check.main(), given[0] if given else None


def test_the_cases_are_shown_as_in_a_report(monkeypatch, capsys):
    assert ask(monkeypatch, "CTRACK015") == (0, [check.TEST, "-k", "CTRACK015"])
    shown = capsys.readouterr().out.split("\n\n")
    known = _catalogue.catalogue()["CTRACK015"]
    rows = check.cases.table("CTRACK015")
    assert [part.splitlines()[0] for part in shown
            if part] == ["%s (expect: %s)" % (row["name"], row["expect"]) for row in rows]
    words = {"pass": "  pass  CTRACK015  " + known.title, "skip": "  skip  CTRACK015  " + known.skipped,
             "unknown": "? ", "fail": "FAIL "}
    for row, part in zip(rows, shown):
        assert words[row["expect"]] in part and known.id in part
        assert ("fix: " in part) == (row["expect"] == "fail")


def test_pytest_decides(monkeypatch, capsys):
    assert ask(monkeypatch, "KPROXY00[12]", status=1) == (1, [check.TEST, "-k", "KPROXY001 or KPROXY002"])


@pytest.mark.parametrize("asked, said", [
    ("CTRACK15", "ID: the check CTRACK15 is not known; did you mean CTRACK015?"),
    ("ctrack015", "ID: the check ctrack015 is not known; did you mean CTRACK015?"),
    ("xyzzy", "ID: the check xyzzy is not known; known: BACKEND*, BUNDLE*, "),
    ("", "ID is missing: make check ID=CTRACK015, or a pattern such as ID='CTRACK*'; known: BACKEND*, "),
])
def test_what_is_no_check_is_refused_in_one_sentence(monkeypatch, asked, said):
    sentence, given = ask(monkeypatch, asked)
    assert sentence.startswith(said) and "\n" not in sentence and given is None


@pytest.mark.parametrize("case, sentence, hinted", [
    ("{name: a, expect: fail, evidence: {node_conntrack: {of_keys: {net.ipv4.ip_forwrd: {now: 0}}}}}",
     "tests/checks/CTRACK015.yml: a: evidence.node_conntrack.of_keys: the sysctl net.ipv4.ip_forwrd is not known; did "
     "you mean net.ipv4.ip_forward?", False),
    ("{name: a, expect: fail}", 0, True),
])
def test_a_mistake_and_a_silent_select_are_one_sentence(monkeypatch, tmp_path, capsys, case, sentence, hinted):
    (tmp_path / "CTRACK015.yml").write_text("- " + case, encoding="utf-8")
    monkeypatch.setattr(check.cases, "TABLES", tmp_path)
    assert ask(monkeypatch, "CTRACK015")[0] == sentence
    assert ("hint: CTRACK015: select returns nothing that kind none_of reports" in capsys.readouterr().out) == hinted


def test_a_check_without_cases(monkeypatch, tmp_path):
    monkeypatch.setattr(check.cases, "TABLES", tmp_path)
    assert ask(monkeypatch, "CTRACK015") == ("CTRACK015 has no cases: write tests/checks/CTRACK015.yml "
                                             "(docs/adding-a-check.md)", None)


def test_make_hands_the_id_over():
    done = subprocess.run(["make", "-n", "--no-print-directory", "check", "ID=CTRACK015"], cwd=str(check.TOP),
                          stdout=subprocess.PIPE, universal_newlines=True, check=True)
    assert "tests/tools/check.py" in done.stdout and "need_packages.sh" not in done.stdout
