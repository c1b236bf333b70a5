# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a comparison in a real browser."""

import pytest
import report_runs
from axe import axe_core
from chromium import VIOLATIONS, chromium, typed

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.changes_html import render_changes_html
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import differences

SHOWN = ("[...document.querySelectorAll('.change:not([hidden]) tbody tr:not([hidden])')]"
         ".map(row => [row.cells[1].textContent, row.cells[0].textContent])")
COUNT = "document.getElementById('count').textContent"


def fleet(*modules):
    reports = {"worker-%d" % number: report_runs.report_of("worker-%d" % number, **modules[number % len(modules)])
               for number in range(12)}
    return {"reports": reports, "fleet": report_runs.roll_up(reports)}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    before, after = fleet({}, {"nf_conntrack": "loadable"}), fleet({"xt_comment": "absent"}, {"xt_mark": "unknown"})
    folder = tmp_path_factory.mktemp("changes")
    for name, changes in (("runs", differences.of_runs(before, after)),
                          ("nodes", differences.of_nodes(after, "worker-1", "worker-2"))):
        (folder / name).with_suffix(".html").write_text(render_changes_html(changes))
    return folder


@pytest.fixture(scope="module")
def tab():
    with chromium() as page:
        yield page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["runs.html", "nodes.html"])
def test_axe_finds_nothing_and_nothing_is_refused(tab, pages, name, scheme):
    tab.problems.clear()
    tab.scheme(scheme)
    tab.open(pages / name)
    tab.run(axe_core() + "; 0")
    assert tab.run(VIOLATIONS) == [] and tab.problems == []


def test_filters(tab, pages):
    tab.open(pages / "runs.html")
    checks = tab.run(SHOWN)
    assert {"KMOD001", "KMOD003"} <= {check for check, _severity in checks}
    tab.run(typed(check="KMOD003"))
    assert {check for check, _severity in tab.run(SHOWN)} == {"KMOD003"}
    assert tab.run(COUNT) == "%d of %d rows" % (len(tab.run(SHOWN)), len(checks))
    tab.run(typed(check="", severity="3"))
    assert {severity for _check, severity in tab.run(SHOWN)} == {"high"}
    tab.run(typed(severity="0", text="xt_comment -KMOD001"))
    assert {check for check, _severity in tab.run(SHOWN)} == {"KMOD014"}
    tab.run(typed(text="nothing has this word"))
    assert tab.run(SHOWN) == [] and tab.run(COUNT) == "0 of %d rows" % len(checks)


def test_everything_is_read_without_scripts(tab, pages):
    tab.open(pages / "nodes.html", scripts=False)
    text = tab.text()
    assert "worker-2 compared with worker-1" in text and "KMOD001" in text and "Search" not in text


def test_a_narrow_screen_does_not_scroll_sideways(tab, pages):
    tab.size(320, 800)
    tab.open(pages / "runs.html")
    assert tab.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    tab.size(1280, 900)
