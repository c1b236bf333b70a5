# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a comparison as a parser reads it."""

import pytest
import report_runs
from parsed_html import Parsed, loaded, policy_of
from report_runs import finding, report, run

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import html
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.text import escaped
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import differences


def of(*reports, lost=()):
    return dict(zip(("reports", "fleet"), run(*reports, lost=lost)))


def page_of_runs(text, count=1):
    names = ["%s-%d" % (text, number) for number in range(count)]
    before = of(*(report(name, finding(status="pass")) for name in names), lost=["lost" + text])
    after = of(*(report(name, finding("KMOD003", text, "fail", observed=text)) for name in names), lost=["new" + text])
    return html.render_changes_html(differences.of_runs(before, after))


def page_of_nodes(text):
    one, two = (report(name, finding("KMOD003", text, status, reason=text)) for name, status in
                ((text, "fail"), ("b" + text, "unknown")))
    two["summary"]["kernel"] = "kernel " + text
    return html.render_changes_html(differences.of_nodes(of(one, two), text, "b" + text))


@pytest.mark.parametrize("make", [page_of_runs, page_of_nodes])
@pytest.mark.parametrize("text", [*report_runs.HOSTILE, "</script><img src=x>", "$heading ${style} $",
                                  "'><b onclick=x>"])
def test_a_hostile_text_adds_no_element(make, text):
    hostile, harmless = Parsed(make(text)), Parsed(make("x"))
    assert hostile.tags == harmless.tags and len(hostile.attributes) == len(harmless.attributes)
    assert any(escaped(text) in shown for shown in hostile.texts)
    given, wanted = policy_of(hostile)
    assert given == wanted and loaded(hostile) == []


def test_each_node_is_named_and_those_of_many_are_folded():
    texts = "".join(Parsed(page_of_runs("n", 30)).texts)
    assert "and 20 more" in texts and all("n-%d" % number in texts for number in range(30))
    assert "30 new" in " ".join(texts.split()) and ": lostn" in texts


def test_nothing_changed():
    same = of(report("a", finding(status="pass")))
    page = html.render_changes_html(differences.of_runs(same, same))
    assert "No finding changed." in page and "<table" not in page


def test_rows_that_do_not_fit_are_counted(monkeypatch):
    rows = [finding("KMOD003", "s%d" % number, "fail", observed="o%d" % number) for number in range(50)]
    before, after = of(report("a", finding(status="pass"))), of(report("a", *rows))
    monkeypatch.setattr(html, "_LIMIT", 2000)
    page = html.render_changes_html(differences.of_runs(before, after))
    shown = page.count("<tr data-severity")
    assert 0 < shown < 50 and "%d more rows do not fit" % (50 - shown) in page and "New (50)" in page
