# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as JSON. PRIVATE to the collection."""

import json


def render_json(report):
    """The report as text, stable from run to run; ASCII only, so that showing the file cannot speak to a terminal."""
    return json.dumps(report, indent=2, sort_keys=True, ensure_ascii=True) + "\n"
