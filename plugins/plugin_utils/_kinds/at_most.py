# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge at_most: the selected number must not be above the wanted one. PRIVATE to the collection."""

WANT = (int, float)


def judge_at_most(selected, want) -> list:
    """The number that is too high, as one offender, or nothing."""
    if isinstance(selected, bool) or not isinstance(selected, (int, float)):
        raise ValueError("select must return a number, not %s" % type(selected).__name__)
    return [] if selected <= want else [{"value": selected, "want": want}]
