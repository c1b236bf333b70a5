# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From findings about the backends of iptables to the options of the module iptables_backend. PRIVATE to the
collection."""

from .. import _run
from .migration import BACKENDS
from .outcomes import NOTHING, REFUSED, Refusal, Work, of_message
from .select import fixable

ROLE = "harden_iptables_backend"
STALE = ("BACKEND",)
_SUBJECT = "iptables"


def work(facts, settings, up_to=None):
    """The Work on a host with `facts`: the programs are switched where a finding asks for it, or are not those of the
    `target`."""
    place = (_run.summary_of(facts) or {}).get("place")
    findings = fixable(_run.findings_of(facts) or [], up_to or "disruptive", ROLE, place)
    target = settings["target"]
    section = _run.section_of(facts, "node_iptables_backend") or {}
    differs = target in BACKENDS and section and section.get("backend") not in (target, "none")
    return Work(findings, {"backend": target}) if findings or (differs and not up_to) else NOTHING


def undo(_settings: dict) -> dict:
    """The options that put back what the module changed."""
    return {}


def refusals(result: dict, findings: list[dict]) -> list[Refusal]:
    """The Refusals in a result of the module: it switches all programs or none, so its reason is that of every
    finding."""
    subjects = sorted({row["subject"] for row in findings} | {_SUBJECT})
    if result.get("refused"):
        return [Refusal(subject, REFUSED, result["refused"]) for subject in subjects]
    return of_message(result, subjects)
