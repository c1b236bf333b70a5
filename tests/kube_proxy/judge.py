# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of the collection's checks for the sections of a look."""

import copy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.healthy import SECTIONS
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

ABOUT = ("BACKEND", "CHAIN", "IPVS", "KPROXY", "XLOCK")


def judged(sections, about=(), policy=None):
    """{"fail": {check: first finding in words}, "unknown": the same}; `about` adds checks, `policy` is the policy of
    the host. Sections that the look does not have are those of a healthy node."""
    checked, problems = validate.checked_sections(sections)
    if problems:
        raise AssertionError(problems)
    checks = catalogue.chosen_checks((*ABOUT, *about))
    findings, _requirements = assess.judged(dict(copy.deepcopy(SECTIONS), **checked), policies.policy_of(policy or {}),
                                            checks)
    return {status: {row["check"]: "%s: %s" % (row["subject"], row["observed"] or row["reason"])
                     for row in reversed(findings) if row["status"] == status} for status in ("fail", "unknown")}
