# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether kubelet's one-shot set-up of its chains succeeded."""

import re

from ... import _versions
from ..._host.host import ABSENT, DENIED, OK, UNPARSED
from ..._parse.kube.kubelet_logs import PATTERN, parse_kubelet_log
from ..rules.rule_sets import FAMILIES as PROGRAMS, rules_of, save_command

# kubelet checks its canary once a minute: chains that are missing for less than that may still be created.
SETTLED_SECONDS = 60
FAMILIES = ("ipv4", "ipv6")
# Since when kubelet creates its chains only once, not again every minute (see KUBE-KUBELET-CANARY), and the hint.
_ONE_SHOT_SINCE, _HINT_SINCE = (1, 17), (1, 24)
# The set-up is logged once, when kubelet starts to run pods; the rest of the journal may be gigabytes.
JOURNALS = ("/var/log/journal", "/run/log/journal")
LOG_SECONDS, LOG_WINDOW_SECONDS, LOG_LIMIT = 3.0, 600, 256 * 1024
LINE_LIMIT, _TICKS = 160, 100
_REFUSED = re.compile(r"insufficient permissions|not seeing messages|Permission denied", re.I)


def initialisation_of(host, node, process, age, version, settings, unit, distribution="kubelet"):
    """(evidence, statuses): `{"expected", "because", "failed", "families"}` and those of rules and journal."""
    expected, because = _expected(_versions.numbers(version)[:2], settings["make_iptables_util_chains"])
    if expected is False:
        return {"expected": False, "because": because, "failed": [],
                "families": []}, {"rules": ABSENT, "journal": ABSENT}
    from ..._rules.kube_proxy.proxy import kubelet_marks
    rules = rules_of(host, node)
    journal, logged = _journal(host, process, unit)
    hints = not _versions.numbers(version) or _versions.numbers(version)[:2] >= _HINT_SINCE
    families = []
    for family in FAMILIES:
        unread = any(rules.collected.get("%s_%s" % (backend, family)) not in (OK, ABSENT)
                     for backend in ("nft", "legacy"))
        marks = kubelet_marks(rules.rule_sets, family, unread)
        failed, line = logged.get(family, (None, None))
        state, why = judge_marks(marks, hints, failed, age)
        if state == "failed" and expected is None and not failed:
            state, why = "unknown", because
        if (state == "failed" and distribution == "kubelet" and process.contained is False
                and not _has_iptables(host, family)):
            # A restart would not help. Other distributions contain an iptables of their own.
            state, why = ("unused",
                          "this node has no iptables, without which neither kubelet nor another program creates chains")
        families.append({"family": family, "state": state, "because": why, "hint": marks.hint, "canary": marks.canary,
                         "log_line": line[:LINE_LIMIT] if line else None})
    evidence = {"expected": expected, "because": because, "families": families,
                "failed": [row["family"] for row in families if row["state"] in ("failed", "unwatched")]}
    unreadable = [status for status in sorted(rules.collected.values()) if status not in (OK, ABSENT)]
    return evidence, {"rules": (unreadable + [OK])[0], "journal": journal}


def _has_iptables(host, family):
    save = {known: program for known, program, _names in PROGRAMS}[family]
    return host.find_binary(save[:-len("-save")]) is not None or any(save_command(host, save, backend)
                                                                     for backend in ("nft", "legacy"))


def _expected(version, make_chains):
    if make_chains is False:
        return False, "makeIPTablesUtilChains is false: kubelet makes no chains"
    if version and version < _ONE_SHOT_SINCE:
        return False, "kubelet %d.%d creates missing chains again every minute" % version
    if make_chains is None:
        return None, "whether kubelet makes chains is not known: its configuration could not be read"
    return True, "kubelet creates its chains once, at its start"


def judge_marks(marks, hints, failed, age):
    """(state, why) of one family; `failed` is the result in kubelet's log (None: nothing was found), `age` that of
    kubelet, `hints` whether it creates a hint. States: done, failed (the remedy is a restart), unwatched (the chains
    are an earlier kubelet's and no kubelet maintains them: the same remedy), flushed (kubelet creates them again by
    itself), hint_deleted (kubelet does not notice), starting, unused, unknown."""
    if not marks.used:
        return "unused", "no program uses this family here"
    whole = marks.canary is True and (marks.hint is not False or not hints)
    if age is None:
        return "unknown", "the start time of kubelet is not known"
    # Its log shows a failure at once, and kubelet does not try again.
    if age < SETTLED_SECONDS and not failed and not (whole and failed is False):
        # Chains outlive the kubelet that created them: the present chains may be an earlier kubelet's.
        return "starting", "kubelet has run for only %d seconds" % age
    if marks.canary:
        if failed:
            return ("unwatched", "its log shows that it failed; the chains are those of an earlier kubelet, and this "
                                 "one does not maintain them")
        if not whole:
            return "hint_deleted", "the hint was deleted and the canary was not, so kubelet does not notice"
        return "done", "its canary and its hint exist" if hints else "its canary exists"
    if failed:
        return "failed", "its log shows the failure, and it does not try again"
    if marks.canary is None:
        return "unknown", "not all rules could be read"
    if failed is False:
        return "flushed", "it created its chains, and they were deleted since; it creates them again within a minute"
    if marks.others:
        return ("unknown", "the canary of mangle is missing and others exist: they were flushed less than a minute "
                           "ago, or an earlier kubelet created them")
    return "failed", "its canary is in no table%s, and it does not try again" % (
        ", its hint is missing too" if marks.hint is False and hints else "")


def _journal(host, process, unit):
    """(status, {family: (failed, line)}) of what the unit logged in the first minutes of this process."""
    if unit is None or not any(host.is_dir(path) for path in JOURNALS):
        return ABSENT, {}
    started = _started_at(host, process)
    if started is None:
        return UNPARSED, {}
    done = host.run(["journalctl", "--no-pager", "--output=cat", "--unit=" + unit["name"],
                     "--since=@%d" % (started - 1), "--until=@%d" % (started + LOG_WINDOW_SECONDS),
                     "--grep=" + PATTERN], timeout=LOG_SECONDS, limit=LOG_LIMIT)
    if done.status != OK:
        return done.status, {}
    if _REFUSED.search(done.err):
        return DENIED, {}
    # Without a match journalctl ends with status 1 and prints no error; without support for --grep it prints an error.
    if done.rc != 0 and done.err.strip():
        return UNPARSED, {}
    return OK, parse_kubelet_log(done.out)


def _started_at(host, process):
    """Seconds since the epoch at which the process started (btime of /proc/stat, field 22 of /proc/PID/stat); None."""
    booted = re.search(r"^btime (\d+)$", host.read_text("/proc/stat").text, re.M)
    if booted is None or not (process.start_time or "").isdigit():
        return None
    return int(booted.group(1)) + int(process.start_time) // _TICKS
