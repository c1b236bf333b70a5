# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The roll-up of a fleet: the state of each host, and the hosts on which each check fails. PRIVATE to the
collection.

Numbers of the evidence that are worth a graph.

A number is not known if a part of it could not be read: half of the rules would look like a loss of rules.
"""

from .. import _finding, _run
from .._answer import validate
from .._causes.verdict import causes_in
from .._checks import verdict
from .._plain import plain
from .._play import repository
from .._policy import waiving
from . import outliers, overview, scope
from .compare import compare

_READ = ("ok", "absent")


def numbers_of(evidence: dict, earlier: "dict | None" = None) -> dict:
    """`{name: number or None}`. `earlier` are the numbers of an earlier look, which stay for sections that this look
    did not read."""
    found = dict.fromkeys((*_CONNTRACK, *_RULES, *_LOCK, *_SYNC), None)
    found.update(earlier or {})
    for section, names, measured in _SECTIONS:
        if section in evidence:
            found.update(zip(names, measured(evidence[section])))
    return found


def _is_read(section, *sources):
    return all(section["collected"].get(source, "ok") in _READ for source in sources or section["collected"])


def _conntrack(section):
    return (section["count"], section["max"]) if section["collected"].get("table") == "ok" else (None, None)


def _rules(section):
    if not _is_read(section):
        return None, None, None
    return section["rules"], sum(row["kube_rules"] for row in section["rule_sets"]), section["services"]


def _lock(section):
    if not _is_read(section, "locks", "processes"):
        return None, None
    # The age of the oldest listed waiter; the list has the first waiters.
    return section["waiter_count"], max((row["age_seconds"] or 0 for row in section["waiters"]), default=0)


def _sync(section):
    """The numbers of the family that is furthest behind."""
    return tuple(max((row[key] for row in section["sync"] if row[key] is not None), default=None)
                 for key in ("synced_seconds_ago", "waiting_seconds"))


_CONNTRACK = ("conntrack_entries", "conntrack_limit")
_RULES = ("iptables_rules", "iptables_kube_rules", "service_addresses")
_LOCK = ("xtables_lock_waiters", "xtables_lock_wait_seconds")
_SYNC = ("kube_proxy_sync_age_seconds", "kube_proxy_change_wait_seconds")
_SECTIONS = (("node_conntrack", _CONNTRACK, _conntrack), ("node_iptables_chains", _RULES, _rules),
             ("node_xtables_lock", _LOCK, _lock), ("node_kube_proxy", _SYNC, _sync))


# Status and reason of a host without a report.
_PENDING = {"status": "pending", "reason": "the host has not been assessed yet"}
_NOT_ROLLED_OUT = {"status": "not_rolled_out",
                   "reason": "not reached by the rollout, which ended before the host's batch"}
_LOST = {"status": "not_reached", "reason": "the play lost the host before it was assessed"}


def node_report(name, facts, evidence=False, groups=()):
    """The report of one host; `facts` are its `ansible_facts`, `groups` the inventory groups that it is in."""
    report = {
        "schema": 1, "tool": _run.tool(), "host": name, "run": _run.ID, "started": _run.STARTED.isoformat(),
        "summary": _run.summary_of(facts),
        "causes": causes_in(facts),
        "findings": _finding.by_urgency(_run.findings_of(facts)),
        "required_modules": _run.part_of(facts, "node_assess_required_modules") or [],
        # The next run reads this from the report: the most connections seen so far.
        "conntrack_peak": (_run.part_of(facts, "node_assess_conntrack") or {}).get("peak") or 0,
        # And when the losses of the conntrack table were counted.
        "conntrack_losses": (_run.part_of(facts, "node_assess_conntrack") or {}).get("losses"),
        "numbers": _run.part_of(facts, "node_assess_numbers") or numbers_of({}),
        "digest": _run.part_of(facts, "node_assess_digest"),
        "items": {kind.name: outliers.items_of(_run.part_of(facts, kind.fact)) for kind in outliers.KINDS},
        "user_checks": _run.user_checks_of(facts),
        "groups": [group for group in groups if group != "ungrouped"],
        # By variable, see _group_by.
        "group_by": {},
    }
    if evidence:
        report["evidence"] = validate.checked_sections(facts)[0]
    return report


def reports_of(names, hostvars, evidence=False, group_by=None):
    """{host: report} of the hosts in `names` that this run has assessed so far. Raises BadInput for a variable in
    `group_by` that cannot group hosts."""
    known = ((name, hostvars.raw_get(name)) for name in names)
    reports = {name: node_report(name, of_host["ansible_facts"], evidence, plain(of_host.get("group_names", ())))
               for name, of_host in known if _run.summary_of(of_host.get("ansible_facts"))}
    others = [name for name in names if name not in reports]
    for name, values in scope.values_of(scope.checked_names(group_by), reports, others, hostvars).items():
        reports[name]["group_by"] = values
    return reports


def roll_up(names, reports, pending=(), left_out=(), baseline=None, inventory=repository.NO_FILE):
    """The whole play in one dict: `names` are all its hosts, `reports` the reports of the assessed hosts, `pending` the
    hosts that are still to be assessed, `left_out` the hosts that are not assessed any more because the rollout has
    ended. `baseline` is the host with which the others are compared (without it, with each other), `inventory` the path
    of the inventory in its repository."""
    hosts = [_host_row(name, reports.get(name), _NOT_ROLLED_OUT if name in left_out else _PENDING
                       if name in pending else _LOST) for name in sorted(names)]
    assessed = [reports[name] for name in sorted(reports)]
    found, held = compared(assessed, baseline), overview.causes_of(assessed)
    return {
        "schema": 1, "tool": _run.tool(), "run": _run.ID, "started": _run.STARTED.isoformat(),
        "inventory": inventory, "totals": _totals(hosts), "hosts": hosts,
        "causes": held[:overview.LISTED], "causes_left_out": max(0, len(held) - overview.LISTED),
        "checks": _checks(assessed, found["checks"]),
        "unknown": _causes(assessed), "disabled": _disabled(assessed),
        # A waiver that matches no host so far may be for a host of a later batch.
        "unmatched_waivers": [] if pending or left_out else _unmatched(assessed),
        "ending_waivers": [] if pending else _ending(assessed),
        "baseline": baseline, "outliers": found["outliers"], "compared": found["compared"],
        "summary": overview.summary(hosts, assessed),
    }


def compared(reports, baseline=None):
    """`{"checks", "outliers", "compared"}`: the scope of each check that fails, and which nodes differ from the others
    or from the host `baseline`."""
    return {"checks": scope.scopes(reports), "outliers": outliers.outliers(reports, baseline),
            "compared": compare({report["host"]: report.get("digest") for report in reports}, baseline)}


def _host_row(name, report, without):
    if report is None:
        return dict(without, host=name, worst=None, verdict=None)
    summary = report["summary"]
    return {"host": name, "status": "assessed" if summary["reached"] else "not_reached", "worst": summary["worst"],
            # The report of the host has the findings that block.
            "verdict": {key: value for key, value in summary["verdict"].items() if key != "blocking"},
            "reason": summary["reason"], "pass": summary["pass"], "fail": summary["fail"], "skip": summary["skip"],
            "unknown": summary["unknown"], "waived": summary["waived"]}


def _totals(hosts):
    totals = dict({"hosts": len(hosts), "assessed": 0, "not_reached": 0, "not_rolled_out": 0, "pending": 0,
                   "fit_with_low": 0, "fit_with_others": 0}, **dict.fromkeys(overview.JUDGED, 0))
    for row in hosts:
        totals[row["status"]] += 1
        if row["status"] == "assessed":
            totals[overview.state_of(row)] += 1
            for kind in ("low", "others"):
                totals["fit_with_" + kind] += overview.state_of(row) == "fit" and row["verdict"][kind] > 0
    return totals


def _checks(reports, scopes):
    """Checks that fail, are unknown or waived somewhere, worst first, with the hosts; pass and skip are not listed."""
    found = {}
    for report in reports:
        if not report["summary"]["reached"]:
            continue
        for row in report["findings"]:
            if row["status"] in (_finding.PASS, _finding.SKIP):
                continue
            entry = found.setdefault(row["check"], {
                "check": row["check"], "title": row["title"], "severity": row["severity"],
                "fail": [], "unknown": [], "waived": [], "scope": scopes.get(row["check"])})
            entry["severity"] = max(entry["severity"], row["severity"], key=_finding.SEVERITIES.index)
            if report["host"] not in entry[row["status"]]:
                entry[row["status"]].append(report["host"])
    return sorted(found.values(), key=lambda entry: (-_finding.SEVERITIES.index(entry["severity"]), entry["check"]))


def _causes(reports):
    """Causes for which several checks are unknown, with the checks and the hosts."""
    found = {}
    for report in reports:
        if report["summary"]["reached"]:
            for rows, sentence in verdict.by_cause(report["findings"], report["summary"]["needs_root"]):
                if sentence:
                    checks = sorted(verdict.checks_of(rows))
                    cause = found.setdefault((sentence, tuple(checks)), {
                        "cause": sentence, "severity": rows[0]["severity"], "checks": checks, "hosts": []})
                    cause["hosts"].append(report["host"])
    return sorted(found.values(),
                  key=lambda cause: (-_finding.SEVERITIES.index(cause["severity"]), cause["cause"], cause["hosts"]))


def _disabled(reports):
    """Checks that the policy of some hosts disables, with the reason and the hosts."""
    hosts = {}
    for report in reports:
        for row in report["summary"].get("disabled", ()):
            hosts.setdefault((row["check"], row["reason"]), []).append(report["host"])
    return [{"check": check, "reason": reason, "hosts": hosts[check, reason]} for check, reason in sorted(hosts)]


def _unmatched(reports):
    """Waivers that match no finding of any host, with the hosts that were searched for a match; a waiver of a group may
    be meant for only some of its hosts."""
    hosts, matched = {}, set()
    for report in reports:
        for row in report["summary"].get("waivers", ()):
            name = (row["check"], row["host"], row["subject"])
            if row["matched"]:
                matched.add(name)
            elif row["matched"] is False:
                hosts.setdefault(name, []).append(report["host"])
    return [{"check": name[0], "host": name[1], "subject": name[2], "hosts": hosts[name]}
            for name in sorted(set(hosts) - matched)]


def _ending(reports):
    """Waivers that have expired or will soon, with the hosts that they are for, the first to end first."""
    found = {}
    for report in reports:
        for row in report["summary"].get("waivers", ()):
            if waiving.ending(row):
                entry = dict({key: row[key] for key in waiving.KEYS}, days_left=row["days_left"], hosts=[])
                found.setdefault(tuple(row[key] for key in waiving.KEYS), entry)["hosts"].append(report["host"])
    return sorted(found.values(), key=lambda entry: (entry["days_left"], [entry[key] for key in waiving.KEYS]))
