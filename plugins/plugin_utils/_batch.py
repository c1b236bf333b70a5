# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions about all hosts of a batch, so that one task answers for all of them. PRIVATE to the collection."""

from collections.abc import Callable, Mapping

from ..module_utils._errors import BadInput
from . import _finding, _kept, _run
from ._plain import plain

# What a gate says nothing of, whatever its settings are.
_SILENT = (_finding.PASS, _finding.SKIP)
_latest = []


def is_any(hosts: list[str], own: str, asked: Callable[[str], bool], latest: list[str]) -> bool:
    """Whether `asked` is true of one of `hosts`. `own` is the host that asks. `latest` keeps the host of which it was
    true last: most batches that have such a host are asked about it once for each of their hosts. It is only asked
    first."""
    for host in dict.fromkeys([own] + [name for name in latest if name in hosts] + hosts):
        if asked(host):
            latest[:] = [host]
            return True
    return False


def raw_variables(hostvars: Mapping) -> Callable[[str], Mapping]:
    """What gives the variables of a host as they are: templating all of a fleet takes longer than the tasks that one
    host spares the others."""
    return getattr(hostvars, "raw_get", hostvars.__getitem__)


def arguments(hosts: object, hostvars: object, host: object) -> tuple[list[str], Callable[[str], Mapping], str]:
    """(hosts, what raw_variables() gives, the host that asks) from the arguments of a filter. Raises BadInput."""
    if not isinstance(hosts, list) or not isinstance(hostvars, Mapping) or not isinstance(host, str):
        raise BadInput("needs a list of hosts, hostvars and inventory_hostname")
    return plain(hosts), raw_variables(hostvars), plain(host)


def nothing_blocks(hosts: list[str], variables_of: Callable[[str], Mapping], own: str) -> bool:
    """True where all `hosts` pass. `variables_of(host)` are its raw variables."""
    return not is_any(hosts, own, lambda host: not passes(variables_of(host).get("ansible_facts")), _latest)


def passes(facts: object) -> bool:
    """True where this run has judged the host with these `ansible_facts`, and each of the findings that its summary
    counts passes or is skipped, so that no setting of a gate makes it fail or warn of the host."""
    summary = facts.get("node_assess_summary") if isinstance(facts, Mapping) else None
    if not isinstance(summary, Mapping) or summary.get("run") != _run.ID or summary.get("reached") is not True:
        return False
    rows = _kept.unpacked(facts).get("node_assess_findings")
    if not rows or not isinstance(rows, list) or not all(
            isinstance(row, Mapping) and row.get("status") in _SILENT for row in rows):
        return False
    counts = _finding.summarise(rows)
    return counts == {status: summary.get(status) for status in counts}
