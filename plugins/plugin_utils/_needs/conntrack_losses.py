# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Losses of the conntrack table whose cause is not gone. PRIVATE to the collection.

The kernel counts from the boot on and keeps no times, and a look writes nothing to the node. The times are in the
report of the host on the controller: losses are settled after a day without a new one, and if the limit is higher
than in the report.
"""

import datetime

_QUIET = datetime.timedelta(days=1)
_COUNTS = ("dropped", "evicted", "lines")


def open_losses(section, host, earlier, now):
    """(`{"dropped", "evicted", "lines", "since"}` without settled losses, the state for the next report). A count that
    the node does not have, and the state where the boot is not known, are None. `earlier` is the state in the
    earlier report, or None; `now` is the start of the run."""
    lost, log = section["lost"], section["kernel_log"]
    counts = dict({name: lost[name] if lost else None for name in _COUNTS[:2]}, lines=log["table_full"])
    since = lost["since"] if lost else "boot"
    boot = (host or {}).get("boot_id")
    if not boot:
        return dict(counts, since=since), None
    counted = {name: counts[name] or 0 for name in _COUNTS}
    before = earlier if is_state(earlier) and earlier["boot_id"] == boot else None
    if before and before["limit"] and section["max"] and section["max"] < before["limit"]:
        before = None  # With a lower limit the cause is back.
    settled, settled_at, changed_at = dict.fromkeys(_COUNTS, 0), None, now.isoformat()
    after = settled, settled_at
    if before:
        # The counts start again where module conntrack recorded that it raised the limit.
        settled = {name: min(before["settled"][name], counted[name]) for name in _COUNTS}
        settled_at = before["settled_at"]
        raised = bool(before["limit"] and section["max"] and section["max"] > before["limit"])
        grew = any(counted[name] > before["counted"][name] for name in _COUNTS)
        changed_at = changed_at if grew else before["changed_at"]
        quiet = not grew and now - datetime.datetime.fromisoformat(changed_at) >= _QUIET
        after = (counted, now.isoformat()) if (raised or quiet) and counted != settled else (settled, settled_at)
        # Losses since the last report may be from before the limit was raised: the next look shows it.
        settled, settled_at = (settled, settled_at) if grew else after
    state = {"boot_id": boot, "limit": section["max"], "counted": counted, "changed_at": changed_at,
             "settled": after[0], "settled_at": after[1]}
    if any(settled.values()):
        since = settled_at[:16].replace("T", " ") + " UTC"
    return dict({name: None if counts[name] is None else max(0, counts[name] - settled[name]) for name in _COUNTS},
                since=since), state


def unsettled(section, state):
    """The section without settled losses: these are no reason for a larger table. Losses that the limit of the earlier
    report explains are settled here at once, since that report has its limit as the peak."""
    if not state or not any(state["settled"].values()):
        return section
    left = {name: state["counted"][name] - state["settled"][name] for name in _COUNTS}
    lost = section["lost"] and dict(section["lost"], dropped=left["dropped"], evicted=left["evicted"])
    return dict(section, lost=lost, kernel_log=dict(section["kernel_log"], table_full=left["lines"]))


def is_state(value):
    """Whether a value of a report is a state that open_losses() returned."""
    try:
        numbers = [value[key][name] for key in ("counted", "settled") for name in _COUNTS]
        times = [value["changed_at"]] + [value["settled_at"]] * (value["settled_at"] is not None)
        return (isinstance(value["boot_id"], str) and bool(times[1:] or not any(value["settled"].values()))
                and all(_is_count(number) for number in numbers)
                and (value["limit"] is None or _is_count(value["limit"]))
                and all(datetime.datetime.fromisoformat(time).utcoffset() == datetime.timedelta(0) for time in times))
    except (TypeError, KeyError, ValueError):
        return False


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
