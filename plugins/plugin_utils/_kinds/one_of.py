# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge one_of: the selected value must be among the wanted ones. PRIVATE to the collection."""

WANT = (list,)


def judge_one_of(selected, want) -> list:
    """The value that is not among them, as one offender, or nothing."""
    return [] if selected in want else [{"value": selected, "want": ", ".join(str(item) for item in want)}]
