# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tells one run of ansible-playbook from another. PRIVATE to the collection.

A strategy imports the file of an action in the parent process and only then forks a worker for each host, so all
workers of a run share what is set here. Facts may come out of a cache that an earlier run filled; C(ID) shows it.
"""

import datetime
import os

from ._plain import plain

STARTED = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
ID = "%s-%d" % (STARTED.strftime("%Y%m%dT%H%M%SZ"), os.getpid())


def part_of(facts, name):
    """One fact of a host as plain values; the evidence beside it is large and stays untouched."""
    return plain((facts or {}).get(name))


def summary_of(facts):
    """The summary in a host's C(ansible_facts), or None where this run has not assessed the host."""
    summary = part_of(facts, "node_assess_summary") or {}
    return summary if summary.get("run") == ID else None


def findings_of(facts):
    """The findings in a host's C(ansible_facts), or None where this run has not assessed the host."""
    return part_of(facts, "node_assess_findings") if summary_of(facts) else None
