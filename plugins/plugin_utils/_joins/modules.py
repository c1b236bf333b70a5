# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins about kernel modules. PRIVATE to the collection."""

from .values import rows_of

# Causes of an unknown state with which a directive tells that the name is a module, not a part of the kernel image.
_A_MODULE = ("file_unseen", "not_listed", "not_loaded")


def modules_unclear(evidence):
    """The required modules of which it is not known whether a directive keeps them from loading; with `evidence` and
    `seen` if there is one."""
    rows = []
    for row in rows_of(evidence, "requirements", "modules"):
        if row["optional"]:
            continue
        stops = [block for block in row["blocks"] or [] if block["effect"] == "blocks"]
        known = stops and (row["cause"] in _A_MODULE or any(
            block["by"] == "module_blacklist" for block in row["blocks"]))
        if row["state"] == "unknown" and row["cause"] == "no_tree" and any(
                block["by"] == "install" for block in stops):
            rows.append({"subject": row["subject"], "seen": True, "evidence": "%s keeps it from loading, unless it is "
                         "built in" % row["blocked_by"]})
        if row["state"] == "unknown" and not known or (
                row["state"] == "loadable" and row["blocked_unclear"] and not stops):
            rows.append(row)
    return rows
