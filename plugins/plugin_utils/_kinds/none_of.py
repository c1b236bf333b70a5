# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge none_of: nothing may be selected; every selected item is an offender. PRIVATE to the collection."""

WANT = ()


def judge_none_of(selected, _want) -> list:
    """The offending subjects: the selected list itself."""
    if not isinstance(selected, list):
        raise ValueError("select must return a list, not %s" % type(selected).__name__)
    return selected
