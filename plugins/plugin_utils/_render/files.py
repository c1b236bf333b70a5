# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a run besides JSON, by format. PRIVATE to the collection."""

from .csv_text import render_csv
from .html import render_html
from .junit import render_junit
from .markdown import render_markdown
from .prometheus import render_prometheus
from .sarif import render_sarif
from .summary import is_long

# Format -> name of the file and the function that renders it, from {host: report} and the roll-up.
FILES = {
    "csv": ("findings.csv", render_csv),
    "html": ("report.html", render_html),
    "junit": ("junit.xml", render_junit),
    "markdown": ("summary.md", render_markdown),
    "prometheus": ("kubenode_netfilter.prom", render_prometheus),
    "sarif": ("results.sarif", render_sarif),
}
# Formats that list the changes since the previous run, so the previous run has to be read.
TELL_CHANGES = {"html", "markdown"}
FORMATS = ("json", "terminal", *sorted(FILES))


# For --limit, where many hosts are blocked.
LIMIT = "limit.txt"


def rendered(formats: list[str], reports: dict, fleet: dict) -> dict[str, str]:
    """`{name of the file: text}` of the `formats` that are files besides JSON, and the file for --limit where it is
    needed."""
    listed = fleet["summary"]["limit"]
    limit = {LIMIT: "".join(name + "\n" for name in listed)} if is_long(listed) else {}
    return dict({FILES[name][0]: FILES[name][1](reports, fleet) for name in formats if name in FILES}, **limit)
