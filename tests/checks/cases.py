# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of a check of the collection, as its table in this folder lists them."""

import pathlib

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.run import cases_in

TABLES = pathlib.Path(__file__).resolve().parent


def table(check_id):
    """The cases of a check."""
    path = TABLES / (check_id + ".yml")
    return cases_in("tests/checks/" + path.name, path.read_bytes())
