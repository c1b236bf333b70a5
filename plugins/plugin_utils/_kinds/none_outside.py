# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge none_outside: every selected row must be in a `place` of the wanted list. PRIVATE to the collection."""

WANT = (list,)


def judge_none_outside(selected, want) -> list:
    """The rows whose place is not in the wanted list."""
    if not isinstance(selected, list):
        raise ValueError("select must return a list, not %s" % type(selected).__name__)
    return [row for row in selected if row["place"] not in want]
