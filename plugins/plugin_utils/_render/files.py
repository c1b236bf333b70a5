# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a run besides JSON, by format. PRIVATE to the collection."""

from .csv_text import render_csv
from .junit import render_junit
from .markdown import render_markdown
from .prometheus import render_prometheus

# Format -> name of the file and what renders it, from {host: report} and the roll-up.
FILES = {
    "csv": ("findings.csv", render_csv),
    "junit": ("junit.xml", render_junit),
    "markdown": ("summary.md", render_markdown),
    "prometheus": ("kubenode_netfilter.prom", render_prometheus),
}
FORMATS = ("json", "terminal", *sorted(FILES))


def rendered(formats, reports: dict, fleet: dict) -> dict:
    """`{name of the file: text}` of those `formats` that are files besides JSON."""
    return {FILES[name][0]: FILES[name][1](reports, fleet) for name in formats if name in FILES}
