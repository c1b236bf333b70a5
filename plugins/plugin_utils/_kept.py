# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a host that later tasks of a run read and playbooks seldom read, kept as one text. PRIVATE to the
collection.

Ansible copies every value in the facts of a host several times for each task (VariableManager.get_vars, clean_facts).
A healthy host has 2800 values, most of them findings that pass. A text is one value.
"""

import functools
import json

from . import _finding
from ._plain import plain

FACT = "node_assess_kept"
_FINDINGS = "node_assess_findings"
_SECTIONS = ("node_host", "node_kernel_modules", "node_iptables_backend", "node_conntrack", "node_kubelet",
             "node_assess_user_checks")


def packed(facts, before, sections=True):
    """`facts` as a task returns them: the text holds findings that pass or are skipped and, with `sections`, the
    sections and the checks of the user, including those of `before`, the unpacked facts that the host had."""
    names = [name for name in _SECTIONS if name in facts or name in before] if sections else []
    text = json.dumps({"findings": [row for row in facts[_FINDINGS] if _is_quiet(row)],
                       "sections": {name: plain(facts.get(name, before.get(name))) for name in names}})
    return dict({name: value for name, value in facts.items() if name not in names},
                **{_FINDINGS: [row for row in facts[_FINDINGS] if not _is_quiet(row)], FACT: text})


def _is_quiet(row):
    return row["status"] in (_finding.PASS, _finding.SKIP) and not row["outcome"]


def unpacked(facts):
    """`facts`, a mapping, with the text replaced by its content. A damaged text adds no findings, and then there are
    fewer findings than the summary counts."""
    text = facts.get(FACT)
    kept = _read(str.__str__(text)) if isinstance(text, str) else None
    if not kept or not isinstance(facts.get(_FINDINGS), list):
        return facts
    findings, sections = kept
    others = {name: value for name, value in facts.items() if name != FACT}
    return dict(others, **dict(sections, **{_FINDINGS: facts[_FINDINGS] + findings}))


@functools.lru_cache(maxsize=2)
def _read(text):
    """(findings, sections) in a text, None where it is not of this collection."""
    try:
        kept = json.loads(text)
        findings, sections = kept["findings"], kept["sections"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(findings, list) or not isinstance(sections, dict):
        return None
    return findings, {name: sections[name] for name in _SECTIONS if name in sections}
