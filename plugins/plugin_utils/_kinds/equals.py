# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge equals: the selected value must be the wanted one. PRIVATE to the collection."""

WANT = (object,)


def judge_equals(selected, want) -> list:
    """The value that differs, as one offender, or nothing."""
    return [] if selected == want else [{"value": selected, "want": want}]
