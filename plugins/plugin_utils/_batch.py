# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions about all hosts of a batch, so that one task answers for all of them. PRIVATE to the collection."""

from collections.abc import Callable, Mapping

from ..module_utils._errors import BadInput
from . import _finding, _kept, _run
from ._plain import plain

# Statuses that a gate never reports, with any settings.
_SILENT = (_finding.PASS, _finding.SKIP)
_latest = []


def is_any(hosts: list[str], own: str, asked: Callable[[str], bool], latest: list[str]) -> bool:
    """Whether `asked` is true for one of `hosts`. `own` is the host that asks. `latest` holds the last host for which
    it was true; that host is asked early, because every host of a batch asks the same question."""
    for host in dict.fromkeys([own] + [name for name in latest if name in hosts] + hosts):
        if asked(host):
            latest[:] = [host]
            return True
    return False


def raw_variables(hostvars: Mapping) -> Callable[[str], Mapping]:
    """A function that returns the raw variables of a host: templating all variables of a fleet takes longer than the
    tasks that the other hosts save."""
    return getattr(hostvars, "raw_get", hostvars.__getitem__)


def arguments(hosts: object, hostvars: object, host: object) -> tuple[list[str], Callable[[str], Mapping], str]:
    """(hosts, the result of raw_variables(), the host that asks) from the arguments of a filter. Raises BadInput."""
    if not isinstance(hosts, list) or not isinstance(hostvars, Mapping) or not isinstance(host, str):
        raise BadInput("needs a list of hosts, hostvars and inventory_hostname")
    return plain(hosts), raw_variables(hostvars), plain(host)


def nothing_blocks(hosts: list[str], variables_of: Callable[[str], Mapping], own: str) -> bool:
    """True if all `hosts` pass. `variables_of(host)` are its raw variables."""
    return not is_any(hosts, own, lambda host: not passes(variables_of(host).get("ansible_facts")), _latest)


def passes(facts: object) -> bool:
    """True if this run has judged the host with these `ansible_facts`, and each finding that its summary counts passes
    or is skipped, so that a gate with any settings neither fails nor warns about the host."""
    summary = facts.get("node_assess_summary") if isinstance(facts, Mapping) else None
    if (not isinstance(summary, Mapping) or summary.get("run") != _run.ID or summary.get("reached") is not True
            or summary.get("unusable")):
        return False
    rows = _kept.unpacked(facts).get("node_assess_findings")
    if not rows or not isinstance(rows, list) or not all(
            isinstance(row, Mapping) and row.get("status") in _SILENT for row in rows):
        return False
    counts = _finding.summarise(rows)
    return counts == {status: summary.get(status) for status in counts}
