# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML pages of a run and of a comparison: valid by the standard, and in a real browser."""

import base64
import re

import golden_run
import nu_checker
import pytest
import report_runs
from axe import axe_core
from chromium import DRAWN, VIOLATIONS, chromium, typed

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.html import render_changes_html
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import differences

NODES = '[...document.querySelectorAll("#cells tbody th button")].map(button => button.textContent)'
COUNT = "document.getElementById('count').textContent"
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
VALUE = ("[...document.querySelectorAll('#detail article:first-of-type dt')].find(one => one.textContent === '%s')"
         ".nextSibling.textContent")
FOCUS = "[document.activeElement.id || document.activeElement.dataset.at || document.activeElement.tagName]"


@pytest.fixture(scope="module")
def tab():
    with chromium() as page:
        yield page


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    reports, _fleet = report_runs.everything()
    reports = dict(reports, **{"worker-%d" % number: report_runs.report_of(
        "worker-%d" % number, groups=["gpu" if number == 7 else "workers"],
        **({"nf_conntrack": "loadable"} if number % 3 == 0 else {"xt_mark": "unknown"})) for number in range(60)})
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report_runs.text_of("html", reports, report_runs.roll_up(reports, lost=["gone"])))
    return path


def opened(tab, path, drawn=DRAWN):
    tab.problems.clear()
    tab.scheme("light")
    tab.open(path)
    tab.until(drawn)
    return tab


@pytest.fixture
def page(tab, fleet):
    yield opened(tab, fleet)
    assert tab.problems == [], "nothing throws and nothing is against the Content-Security-Policy"


def axe(page):
    """The rules of accessibility that the page breaks."""
    page.run(axe_core() + "; 0")
    return page.run(VIOLATIONS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, scheme):
    page.scheme(scheme)
    page.run('document.querySelector("#cells td button").click()')
    assert axe(page) == []
    page.run('document.getElementById("plain").hidden = false')
    assert page.run(VIOLATIONS) == []


def test_axe_finds_what_is_wrong(page):
    page.run("document.querySelector('label').remove(); "
             "document.getElementById('filters').append(document.createElement('input')); 0")
    assert "label" in [name for name, _nodes in axe(page)]


def test_filters(page):
    assert page.run(NODES)[:4] == ["gone", "web.\\x1b[2J<b>", "node-1.example", "worker-0"]
    page.run(typed(text="-worker"))
    assert page.run(NODES) == ["gone", "web.\\x1b[2J<b>", "node-1.example"]
    page.run(typed(text="worker-1", sort="name"))
    assert page.run(NODES) == ["worker-1"] + ["worker-%d" % number for number in range(10, 20)]
    page.run(typed(text="worker", group="gpu"))
    assert page.run(NODES) == ["worker-7"]
    page.run(typed(text="", group="", check="HOOK"))
    assert "worker-7" not in page.run(NODES) and "web.\\x1b[2J<b>" in page.run(NODES)
    page.run(typed(check="", severity="0"))
    page.run('document.querySelectorAll("#statuses input").forEach(box => { box.checked = box.value === "0"; });'
             + typed(text="worker"))
    assert page.run(COUNT).startswith("20 of 63 nodes, 1 of ")
    page.run(typed(text="nothing has this word"))
    assert page.run(COUNT).endswith("0 findings. Nothing matches the filters.")
    assert page.run("document.getElementById('scroll').hidden")


def test_a_node_has_each_finding_with_its_fix(page):
    page.run('[...document.querySelectorAll("#cells tbody th button")].find(one => one.textContent === "worker-0")'
             '.click()')
    names = page.run('[...document.querySelectorAll("#detail article:first-of-type dt")].map(one => one.textContent)')
    assert {"Must hold", "Observed", "Why", "Fix", "Fix with Ansible", "Evidence", "Sources"} <= set(names)
    assert page.run("document.activeElement.id") == "detail"
    assert "node_host.place: live" in page.run(VALUE % "Evidence")
    assert "--limit worker-0 -e preflight_fix=safe" in page.run("document.getElementById('detail').textContent")


def test_a_browser_that_cannot_unpack_the_data_keeps_the_tables(tab, fleet):
    taken = tab.call("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.DecompressionStream;")
    opened(tab, fleet, "!document.getElementById('plain').hidden")
    assert tab.run("document.getElementById('map').hidden") and "DecompressionStream" in "".join(tab.problems)
    tab.call("Page.removeScriptToEvaluateOnNewDocument", identifier=taken["identifier"])


def test_the_map_draws_what_is_in_sight_and_tells_its_size(page):
    assert page.run('document.getElementById("cells").getAttribute("aria-rowcount")') == "64"
    assert len(page.run(NODES)) < 63
    page.run('new Promise(done => { const box = document.getElementById("scroll"); box.addEventListener("scroll", '
             '() => requestAnimationFrame(done), {once: true}); box.scrollTop = box.scrollHeight; })')
    last = 'document.querySelector("#cells tbody tr:nth-last-child(2)")'
    assert page.run(last + '.getAttribute("aria-rowindex")') == "64"


def test_the_arrow_keys_move_between_cells(page):
    page.run('document.querySelector("#cells tbody button").focus()')
    for _step in range(50):
        page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowDown")
    assert page.run("document.activeElement.dataset.at") == "50 -1"


def test_with_the_keyboard_alone(page):
    """Tab moves through the filters, the region that scrolls and one cell. Enter opens the cell, and Escape returns to
    it."""
    stops = []
    for _stop in range(15):
        page.key("Tab")
        stops += page.run(FOCUS)
    first = stops.index("text")
    assert stops[first:first + 5] == ["text", "check", "severity", "group", "sort"]
    assert stops[stops.index("scroll") - 5:stops.index("scroll")] == ["INPUT"] * 5
    page.run('document.querySelector("#cells td button").focus()')
    cell = page.run(FOCUS)
    page.key("Enter")
    assert page.run(FOCUS) == ["detail"]
    page.key("Tab")
    assert page.run(FOCUS) == ["detail-close"]
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.key("Escape")
    assert page.run(FOCUS) == cell and page.run("document.getElementById('detail').hidden")


def test_escape_after_the_cell_was_scrolled_away_or_filtered(page):
    page.run('document.querySelector("#cells tbody button").click();'
             'document.getElementById("scroll").scrollTop = 9999')
    page.until("!document.querySelector('#cells [data-at=\"0 -1\"]')")
    page.run("document.getElementById('detail').focus()")
    page.key("Escape")
    assert page.run(FOCUS) == ["0 -1"]
    page.key("Enter")
    page.run(typed(text="worker-1") + "document.getElementById('detail').focus()")
    page.key("Escape")
    assert page.run(FOCUS) == ["text"] and page.run("document.getElementById('detail').hidden")


def test_a_sort_by_check_keeps_the_focus(page):
    page.run('document.querySelector("#cells thead button").focus()')
    page.key("Enter")
    assert page.run("document.activeElement === document.querySelector('[aria-sort] button')")


@pytest.fixture
def shown(tab, tmp_path):
    """shown(reports, lost, **fleet) opens the page of these reports."""
    def call(reports, lost=(), **more):
        path = tmp_path / "report.html"
        path.write_text(report_runs.text_of("html", reports, dict(report_runs.roll_up(reports, lost), **more)))
        opened(tab, path, "!document.getElementById('map').hidden")
        assert tab.problems == []
        return tab

    yield call
    tab.size(1280, 900)


def test_a_fleet_that_is_healthy_shows_its_map(shown):
    page = shown({"only": report_runs.report_of("only")})
    assert page.run(NODES) == ["only"] and page.run("document.querySelectorAll('#cells td .pass').length") > 50
    # A lost host is not known to be healthy.
    page = shown({"only": report_runs.report_of("only")}, lost=["gone"])
    assert page.run(NODES) == ["gone"]


def test_a_run_without_hosts(shown):
    page = shown({})
    assert page.run(COUNT) == "0 of 0 nodes, 0 of 0 checks, 0 findings. Nothing matches the filters."
    assert "The run has no hosts" in page.text()


def test_long_names_on_a_narrow_screen(shown):
    """Only the map and the tables scroll horizontally (WCAG 2.2, 1.4.10), also in print."""
    names = ["n%d-%s" % (number, "abcdefghi" * 28) for number in range(3)]
    reports = {name[:253]: report_runs.report_of(name[:253], groups=["g" * 253], **modules) for name, modules in zip(
        names, ({"nf_conntrack": "loadable"}, {}, {}))}
    page = shown(reports, lost=["x" * 253])
    page.run('document.querySelector("#cells td button").click()')
    for width in (320, 1280):
        page.size(width, 900)
        assert page.run(FITS), width
    page.scheme("light", "print")
    page.size(700, 900)
    assert page.run(FITS)
    page.scheme("light")


@pytest.fixture
def bad_morning(shown):
    """The page of 20 nodes on the day after all were fit: ten are blocked, some by several causes, and five are not
    reached."""
    before = {"w%02d" % number: report_runs.report_of("w%02d" % number) for number in range(20)}
    states = ({"nf_conntrack": "absent"}, {"xt_mark": "absent", "br_netfilter": "loadable"}, {"xt_mark": "unknown"})
    reports = {name: report_runs.report_of(name, not_reached="unreachable: no route to host") if number % 4 == 3
               else report_runs.report_of(name, **states[number % 3]) for number, name in enumerate(before)}
    changes = differences.of_runs(*({"reports": each, "fleet": report_runs.roll_up(each)}
                                    for each in (before, reports)))
    return shown(reports, changes=changes)


def test_a_print_of_twenty_nodes_has_three_pages_at_most(bad_morning):
    bad_morning.scheme("light", "print")
    printed = base64.b64decode(bad_morning.call("Page.printToPDF")["data"])
    bad_morning.scheme("light")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 3


@pytest.mark.parametrize("width, height", [(1280, 900), (390, 844)])
def test_the_first_screen_has_the_verdict_and_a_cause_with_its_fix(bad_morning, width, height):
    page = bad_morning
    page.size(width, height)
    assert page.run(FITS)
    assert page.run("document.querySelector('.causes code').getBoundingClientRect().bottom") < height
    assert "must not carry traffic" in page.run("document.getElementById('summary').textContent")
    assert page.run("document.querySelector('.nodes').textContent").count("was not reached") == 5


def test_on_a_phone_each_cell_of_a_table_is_a_line_with_its_head(bad_morning):
    page = bad_morning
    page.size(390, 844)
    page.run('document.getElementById("plain").hidden = false')
    cell = 'document.querySelector("#plain td:nth-child(3)")'
    assert page.run(cell + ".getBoundingClientRect().width") > 300
    assert page.run("getComputedStyle(%s, '::before').content" % cell) not in ("none", "") and axe(page) == []


def test_hostile_texts_are_shown_as_texts(page):
    page.run('document.querySelectorAll("#cells tbody th button")[1].click()')
    assert "<script>alert(1)</script>" in page.run('document.getElementById("detail").textContent')
    assert page.run('document.querySelectorAll("script, img, iframe").length') == 2


def test_tables_are_read_without_scripts(page, fleet):
    page.open(fleet, scripts=False)
    text = page.text()
    assert "22 of 63 nodes must not carry traffic" in text and "the play lost the host before it was assessed" in text
    assert "<script>alert(1)</script>" in text and "worker-0, worker-12" in text
    assert "Nodes and checks" not in text


CHANGED = ("[...document.querySelectorAll('.change:not([hidden]) tbody tr:not([hidden])')]"
           ".map(row => [row.cells[1].textContent, row.cells[0].textContent])")


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    """The folder of runs.html and nodes.html, comparisons of two runs and of two nodes."""
    def fleet(*modules):
        reports = {name: report_runs.report_of(name, **modules[number % len(modules)])
                   for number, name in enumerate("worker-%d" % number for number in range(12))}
        return {"reports": reports, "fleet": report_runs.roll_up(reports)}

    before, after = fleet({}, {"nf_conntrack": "loadable"}), fleet({"xt_comment": "absent"}, {"xt_mark": "unknown"})
    folder = tmp_path_factory.mktemp("changes")
    for name, changes in (("runs", differences.of_runs(before, after)),
                          ("nodes", differences.of_nodes(after, "worker-1", "worker-2"))):
        (folder / name).with_suffix(".html").write_text(render_changes_html(changes))
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["runs.html", "nodes.html"])
def test_axe_finds_nothing_in_a_comparison_and_nothing_is_refused(tab, comparisons, name, scheme):
    tab.problems.clear()
    tab.scheme(scheme)
    tab.open(comparisons / name)
    assert axe(tab) == [] and tab.problems == []
    tab.size(320, 800)
    assert tab.run(FITS), "a narrow screen does not scroll sideways"
    tab.size(1280, 900)


def test_filters_of_a_comparison(tab, comparisons):
    tab.open(comparisons / "runs.html")
    checks = tab.run(CHANGED)
    assert {"KMOD001", "KMOD003"} <= {check for check, _severity in checks}
    tab.run(typed(check="KMOD003"))
    assert {check for check, _severity in tab.run(CHANGED)} == {"KMOD003"}
    assert tab.run(COUNT) == "%d of %d rows" % (len(tab.run(CHANGED)), len(checks))
    tab.run(typed(check="", severity="3"))
    assert {severity for _check, severity in tab.run(CHANGED)} == {"high"}
    tab.run(typed(severity="0", text="xt_comment -KMOD001"))
    assert {check for check, _severity in tab.run(CHANGED)} == {"KMOD014"}


def test_a_comparison_is_read_without_scripts(tab, comparisons):
    tab.open(comparisons / "nodes.html", scripts=False)
    text = tab.text()
    assert "worker-2 compared with worker-1" in text and "KMOD001" in text and "Search" not in text


def test_every_page_is_valid_whatever_stands_in_the_findings(tmp_path):
    known = golden_run.reports()
    runs = {"golden": (known, golden_run.fleet(known, changes=golden_run.changed(known))),
            "everything": report_runs.everything(), "lost": report_runs.run(lost=["gone"]),
            "nothing": report_runs.run(), "healthy": report_runs.run(report_runs.report("a", report_runs.finding()))}
    texts = {name: report_runs.text_of("html", *run) for name, run in runs.items()}
    broken = texts["golden"].replace('<ul><li><b>5</b> hosts</li>', '<ul><b>5</b> hosts', 1)
    for name, text in dict(texts, broken=broken).items():
        (tmp_path / name).with_suffix(".html").write_text(text, encoding="utf-8")
    # The checker knows no hashes; plugins/plugin_utils/_render/test_html.py compares those of the policy.
    policy = "violates Content Security Policy (meta tag): blocked by"
    found = {name: [row[2] for row in rows if policy not in row[2]]
             for name, rows in nu_checker.problems(sorted(tmp_path.iterdir())).items()}
    assert "Element \u201cb\u201d not allowed as child of element \u201cul\u201d" in "".join(found.pop("broken.html"))
    assert found == {name + ".html": [] for name in texts}
