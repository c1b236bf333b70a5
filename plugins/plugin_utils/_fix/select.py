# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which findings a role can fix, and whether a host was assessed. PRIVATE to the collection."""

from collections.abc import Mapping

from ...module_utils._errors import BadInput
from .. import _finding, _run
from .._checks import catalogue
from .._needs import conntrack
from .._options import checked
from .._plain import plain

_CONNTRACK, _CHAINS, _KUBE_PROXY = "CTRACK", "CHAIN", "KPROXY"


def fixable(findings, fix, role=None, place=None, part=None):
    """The failing findings whose fix is a role (if given, `role` and its `part`), up to the class `fix`.

    An image has no running service that could be disrupted: there `guarded`, which edits files of other owners,
    includes every class.
    """
    if not isinstance(findings, list):
        raise BadInput("needs a list of findings, not %s" % type(findings).__name__)
    if not all(isinstance(row, dict) and {"check", "status"} <= set(row) for row in findings):
        raise BadInput("needs findings of kubenode.netfilter.assess, but a row lacks check or status")
    checked("fix", fix, {"type": "str", "choices": ("none",) + catalogue.FIX_CLASSES})
    fix = "disruptive" if place == "image" and fix == "guarded" else fix
    classes = catalogue.FIX_CLASSES[:catalogue.FIX_CLASSES.index(fix) + 1] if fix != "none" else ()
    checks = catalogue.catalogue()
    chosen = []
    for row in findings:
        check = checks.get(row["check"])
        if row["status"] == _finding.FAIL and check and check.fix["role"] and check.fix["class"] in classes and (
                role in (None, check.fix["role"]) and part in (None, check.fix["part"])):
            chosen.append(row)
    return chosen


def assessed(facts, section=None):
    """True if this run made findings for the host, of the section if one is given."""
    if not _run.summary_of(facts_of(facts)):
        return False
    if section == _CONNTRACK and conntrack.is_outdated(
            _run.section_of(facts, "node_conntrack"), _run.section_of(facts, "node_kernel_modules")):
        return False  # Modules were loaded since, and their sysctls appeared: they are still to be judged.
    return section is None or any(_finding.section_of(row["check"]) == section for row in _run.findings_of(facts))


def judged_again(sections, facts):
    """`sections`, with the section of kube-proxy if this run has judged it and chains are judged again: whether
    kube-proxy needs a restart depends on the chains."""
    if _CHAINS in (sections or ()) and _KUBE_PROXY not in sections and assessed(facts, _KUBE_PROXY):
        return [*sections, _KUBE_PROXY]
    return sections


def facts_of(facts) -> Mapping:
    """The facts, if they are a mapping. Raises BadInput."""
    if not isinstance(facts, Mapping):
        raise BadInput("expected ansible_facts, got %s" % type(plain(facts)).__name__)
    return facts
