# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge each_at_most: the `value` of no selected row may be above the wanted one. PRIVATE to the collection."""

WANT = (int, float)


def judge_each_at_most(selected, want):
    """The rows whose value is too high. The real value of a row with a `doubt` may be higher, so such a row proves
    nothing while its value is within the limit."""
    if not isinstance(selected, list):
        raise ValueError("select must return a list, not %s" % type(selected).__name__)
    for row in selected:
        if isinstance(row["value"], bool) or not isinstance(row["value"], (int, float)):
            raise ValueError("the value of a row must be a number, not %s" % type(row["value"]).__name__)
    offenders = [row for row in selected if row["value"] > want]
    doubts = [row["doubt"] for row in selected if row["value"] <= want and row.get("doubt")]
    if doubts and not offenders:
        raise ValueError(doubts[0])
    return offenders
