# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions about all hosts of a batch, so that one task answers for all of them. PRIVATE to the collection."""

from collections.abc import Callable, Mapping

from . import _finding, _run

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


def nothing_blocks(hosts: list[str], variables_of: Callable[[str], Mapping], own: str) -> bool:
    """True where this run has judged all `hosts` and each of their findings passes or is skipped, so that no setting of
    a gate makes it fail or warn of one. `variables_of(host)` are its raw variables."""
    return not is_any(hosts, own, lambda host: _may_block(variables_of(host)), _latest)


def passes(facts: Mapping) -> bool:
    """The same of the `ansible_facts` of one host, which are validated here."""
    summary, rows = _run.summary_of(facts), _run.findings_of(facts)
    return bool(summary and summary["reached"] and rows) and all(row["status"] in _SILENT for row in rows)


def _may_block(variables):
    """In doubt it may. What the facts leave out of the rows passes or is skipped (_kept), and is not read here: the
    gate validates it."""
    facts = variables.get("ansible_facts")
    if not isinstance(facts, Mapping):
        return True
    summary, rows = facts.get("node_assess_summary"), facts.get("node_assess_findings")
    if not isinstance(summary, Mapping) or summary.get("run") != _run.ID or summary.get("reached") is not True:
        return True
    if not any(summary.get(status) for status in _SILENT) or not isinstance(rows, (list, tuple)):
        return True
    return any(not isinstance(row, Mapping) or row.get("status") not in _SILENT for row in rows)
