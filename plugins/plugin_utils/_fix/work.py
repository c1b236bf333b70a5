# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of a fix on one subject. PRIVATE to the collection."""

from collections.abc import Iterable
from typing import NamedTuple

FIXED, WOULD_FIX, REFUSED, FAILED = "fixed", "would fix", "refused", "failed"


class Work(NamedTuple):
    """The failing findings that a module is to mend, and the options it is given; without options there is nothing to
    do."""

    findings: list[dict]
    options: dict


class Refusal(NamedTuple):
    """Why findings about `subject` stay: `outcome` is `refused` or `failed`."""

    subject: str
    outcome: str
    reason: str


NOTHING = Work([], {})


def of_message(result: dict, subjects: Iterable[str]) -> list[Refusal]:
    """The refusals of a module that failed as a whole: its message, for each of the subjects."""
    message = result.get("msg") if result.get("failed") or result.get("unreachable") else None
    return [Refusal(subject, FAILED, message) for subject in subjects] if message else []
