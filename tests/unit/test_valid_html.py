# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML page is HTML by its standard, whatever stands in the findings."""

import golden_run
import nu_checker
import report_runs

# The checker knows no hashes; Chromium obeys the Content-Security-Policy in test_report_page.py, and
# plugins/plugin_utils/_render/test_html.py compares the hashes.
POLICY = "violates Content Security Policy (meta tag): blocked by"


def pages():
    known = golden_run.reports()
    whole = golden_run.fleet(known, changes=golden_run.changed(known))
    runs = {"golden": (known, whole), "everything": report_runs.everything(), "lost": report_runs.run(lost=["gone"]),
            "nothing": report_runs.run(), "healthy": report_runs.run(report_runs.report("a", report_runs.finding()))}
    return {name: report_runs.text_of("html", *run) for name, run in runs.items()}


def test_every_page_is_valid(tmp_path):
    texts = dict(pages(), broken=pages()["golden"].replace('<ul><li><b>5</b> hosts</li>', '<ul><b>5</b> hosts', 1))
    for name, text in texts.items():
        (tmp_path / name).with_suffix(".html").write_text(text, encoding="utf-8")
    found = nu_checker.problems(sorted(tmp_path.iterdir()))
    left = {name: [row for row in rows if POLICY not in row[2]] for name, rows in found.items()}
    sentence = "Element \u201cb\u201d not allowed as child of element \u201cul\u201d"
    assert any(sentence in row[2] for row in left.pop("broken.html"))
    assert left == {name + ".html": [] for name in pages()}
