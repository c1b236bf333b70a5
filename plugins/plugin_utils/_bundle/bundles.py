# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a support bundle: lays it out as a tree for one look, and adjusts findings whose evidence the bundle lacks.
PRIVATE to the collection."""

import contextlib
import functools
import os
import signal
import tempfile
import threading

from ...module_utils._errors import BadInput
from ...module_utils._names import UNCOLLECTED
from .. import _finding
from .._checks import catalogue
from .._checks.expressions import search
from .._policy import policies
from . import tree

PLACE = "bundle"
_NOT_HELD = (UNCOLLECTED, "absent")
# Statuses of a file that was collected and could not be read completely.
_DAMAGED = ("denied", "timeout", "unparsed")
_ALL = "all"
# The section whose rows are files of the bundle.
_FOUND = "node_flush_hooks"
_DECLARED = ("proxy_mode", "kubernetes_version")
_LACKING = "the bundle lacks the evidence"


def check(arguments, transport):
    """Raises BadInput for options that do not fit a bundle."""
    if not arguments["bundle"]:
        raise BadInput("no bundle is given; add -e bundle=PATH with the path of a folder, an archive or a dump on the "
                       "controller")
    given = [name for name in ("root", "place") if arguments.get(name) not in (None, "auto")]
    if given:
        raise BadInput("bundle and %s are both given, but a bundle is a tree itself; leave out %s"
                       % (given[0], given[0]))
    if transport != "local":
        raise BadInput("a bundle is read on the controller; run the task with connection local, not %s" % transport)


@contextlib.contextmanager
def opened(bundle, settings=None):
    """`{"root", "place"}` of the tree of a bundle, which exists only within this context; `{}` without a bundle. Raises
    BadInput.

    `settings`: values of node_policy, of which the bundle gets the ones that its files may not show.
    """
    if bundle is None:
        yield {}
        return
    with _ended_by_signals(), contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kubenode-netfilter-"))
            tree.lay_out(bundle, folder, {
                name: settings[name] for name in _DECLARED if (settings or {}).get(name, "auto") != "auto"})
        except OSError as error:
            raise BadInput("bundle %s could not be unpacked in the temporary folder %s: %s; free space there, or set "
                           "TMPDIR to another folder" % (bundle, tempfile.tempdir or "/tmp", error.strerror)
                           ) from None
        yield {"root": folder, "place": PLACE}


@contextlib.contextmanager
def _ended_by_signals():
    """Leaves the context before SIGINT or SIGTERM ends the process, which would not remove the temporary folder."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught = []

    def leave(signum, _frame):
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        caught.append(signum)
        raise SystemExit(128 + signum)

    before = {each: signal.getsignal(each) or signal.SIG_DFL for each in (signal.SIGINT, signal.SIGTERM)}
    for each in before:
        signal.signal(each, leave)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        if caught:
            os.kill(os.getpid(), caught[0])


def within(rule, findings: list[dict], evidence: dict) -> list[dict]:
    """The findings of one check on a bundle. A check that needs evidence that the bundle lacks is skipped, because a
    separate check reports all missing evidence once. Evidence that the bundle contains and that could not be read stays
    unknown."""
    if rule.id in _own_checks():
        return findings
    missing = _missing(rule, evidence)
    if missing is _ALL:
        return [_finding.finding(rule, _finding.SKIP, reason=_LACKING)]
    failures = [row for row in findings if row["status"] == _finding.FAIL]
    unknown = [row for row in findings if row["status"] == _finding.UNKNOWN]
    if _is_damaged(rule, evidence) or (unknown and _is_seen(rule, evidence)):
        return findings
    if any(row["observed"] for row in unknown) and _FOUND in _sections(rule):
        return findings  # The finding names the files that were found, and the doubt about them.
    if not failures and (unknown or (missing and findings[0]["status"] == _finding.PASS)):
        return [_finding.finding(rule, _finding.SKIP,
                                 reason="; ".join([_LACKING] + [row["reason"] for row in unknown]))]
    return failures or findings


def _is_seen(rule, evidence):
    """Whether a doubt names something that the bundle shows: the check stays unknown then."""
    doubts = search(rule.unknown, evidence)[0] if rule.unknown else None
    return isinstance(doubts, list) and any(isinstance(row, dict) and row.get("seen") for row in doubts)


@functools.lru_cache(maxsize=1)
def _own_checks():
    """The ids of the checks about the bundle itself."""
    return frozenset(found.id for found in catalogue.catalogue().values()
                     if "node_host.bundle" in (found.unknown or ""))


def _sections(rule):
    """{section: [sources]} that a check needs; an empty source means all sources."""
    found = {}
    for need in rule.needs:
        section, _dot, source = need.partition(".")
        if section not in ("requirements", "node_host"):
            found.setdefault(section, []).append(source)
    return found


def _statuses(evidence, section, sources):
    collected = (evidence.get(section) or {}).get("collected") or {}
    return [str(status) for name, status in collected.items() if "" in sources or name in sources]


def _missing(rule, evidence):
    """_ALL if nothing of a needed section was collected, True if a needed source was not collected, False otherwise."""
    some, sections = False, _sections(rule)
    because = (evidence.get("requirements") or {}).get("cni_because") or ""
    for section, sources in sections.items():
        if section == "node_cni" and sources == ["net_d"] and len(sections) > 1 and because.startswith(policies.PREFIX):
            continue  # The user names the network plugin, which is all that this check asks for.
        statuses = _statuses(evidence, section, sources)
        if UNCOLLECTED in statuses and all(status in _NOT_HELD for status in statuses):
            return _ALL
        some = some or (UNCOLLECTED in statuses and "" not in sources)
    return some


def _is_damaged(rule, evidence):
    return any(status in _DAMAGED for section, sources in _sections(rule).items()
               for status in _statuses(evidence, section, sources))
