# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans which running values are set, sets them, and reads each value again.

The record of changes to conntrack: files, and values of the running kernel.

Its state is begun before the first file is written and done after the last value is set, so it shows a killed run.
"""

import json
import os

from ... import _errors
from ..._conntrack.keys import BUCKETS, KEYS, MAX, dotted
from ..._conntrack.predict import PER_HASHSIZE, rounded_buckets
from ..._host import write
from ..._look.conntrack.now import RECORD, lost, read_counters, read_key
from .. import files
from ..modules import plan as modules_plan
from ..record import Record as FileRecord
from .files import in_order

_MODULE_OF = {key.key: key.module for key in KEYS}
_FOLDER = "/proc/sys/"


class Live:
    """`values` {key: (before, after)} to set, where `before` can be None because a module must be loaded first, and
    `loads`, the plan that loads these modules."""

    def __init__(self):
        self.values, self.loads = {}, None

    def __bool__(self):
        return bool(self.values or (self.loads and self.loads.to_load))

    def recorded(self):
        """{dotted key: (before, after)} of the values that can be put back."""
        return {dotted(key): pair for key, pair in self.values.items() if pair[0] is not None}

    def diff(self):
        loads = modules_plan.load_diff(self.loads) if self.loads else []
        if not self.values:
            return loads
        texts = ["".join("%s = %d\n" % (dotted(key), self.values[key][side]) for key in in_order(self.values)
                         if self.values[key][side] is not None) for side in (0, 1)]
        return loads + [{"before_header": "sysctls now", "after_header": "sysctls now", "before": texts[0],
                         "after": texts[1]}]


def plan_live(host, node, wanted, rows, limit, options):
    """The Live that sets `wanted` {key: value}. Writes into each of `rows` {key: row} its target value, or the reason
    why it has none; `limit` is the present one."""
    live, lacking = Live(), set()
    for key in in_order(wanted):
        row = rows[key]
        if row["missing"]:
            lacking.add(_MODULE_OF[key])
            live.values[key] = (None, wanted[key])
        elif not isinstance(row["before"], int):
            row.update(failed=True, msg="its current value could not be read")
        elif _is_to_be_set(key, row["before"], wanted, max(limit or 0, wanted.get(MAX, 0)), options):
            live.values[key] = (row["before"], wanted[key])
    if lacking:
        _plan_loads(host, node, live, sorted(lacking), rows, options)
    for key, (_before, after) in live.values.items():
        rows[key]["after"] = rounded_buckets(after) if key == BUCKETS else after
    problems = [write.may_set(host, _FOLDER + key) for key in in_order(live.values) if live.values[key][0] is not None]
    if any(problems):
        raise _errors.ChangeFailed("; ".join(filter(None, problems)) + ". Nothing was changed")
    return live


def _is_to_be_set(key, now, wanted, limit, options):
    value = wanted[key]
    if key == MAX:
        return value != now if options["lower"] else 0 < now < value
    if key != BUCKETS:
        return value != now
    if options["resize"] == "never" or rounded_buckets(value) == now or (value < now and not options["lower"]):
        return False
    # The kernel moves all entries at once while packets wait (nf_conntrack_hash_resize()), so only long hash chains
    # justify a resize.
    return options["resize"] == "always" or limit > PER_HASHSIZE * now


def _plan_loads(host, node, live, lacking, rows, options):
    failed = dict.fromkeys(lacking, None if options["load"] else "the module is not loaded")
    if options["load"]:
        live.loads = modules_plan.plan_present(host, node, lacking,
                                               {"load": True, "persist": False, "unblock": False, "file": ""})
        failed = {row["name"]: row["msg"] or "the module is not loaded" for row in live.loads.rows if not row["loaded"]}
    for key in [key for key in live.values if live.values[key][0] is None and _MODULE_OF[key] in failed]:
        del live.values[key]
        # A change for the next boot only was requested; that needs no module now.
        rows[key].update(failed=options["load"] or not options["persist"],
                         msg="%s is not in the running kernel (%s)%s" % (
                             _MODULE_OF[key], failed[_MODULE_OF[key]],
                             ", so the value applies from the next boot on" if options["persist"] else ""))


def set_live(host, live, rows):
    """Load, set, and read each value again; failures go into `rows`."""
    lacking = {}
    if live.loads:
        modules_plan.load(host, live.loads)
        lacking = {row["name"]: row["msg"] for row in live.loads.rows if row["failed"]}
    for key in in_order(live.values):
        wanted, row = live.values[key][1], rows[key]
        if live.values[key][0] is None and _MODULE_OF[key] in lacking:
            row.update(failed=True, after=None,
                       msg="%s is not in the running kernel (%s)" % (_MODULE_OF[key], lacking[_MODULE_OF[key]]))
            continue
        try:
            write.set_value(host, _FOLDER + key, wanted)
        except _errors.ChangeFailed as error:
            row.update(failed=True, msg=str(error))
        row["after"] = read_key(host, key)[1]
        if not row["failed"] and not may_be(key, wanted, row["after"]):
            row.update(failed=True, msg="it was set to %d, but it is %s" % (wanted, row["after"]))


def may_be(key, wanted, now):
    """Whether `now` is what the kernel has after `wanted` was set; it rounds buckets up."""
    return now == wanted or (key == BUCKETS and now == rounded_buckets(wanted))


def lost_so_far(host):
    """The losses before the limit is raised, for the record, so that they are no reason to raise it again. None where
    there are no counters."""
    _status, counters = read_counters(host)
    # The losses of an earlier record are not subtracted: this record replaces it.
    gone = lost(host, counters, since_boot=True)
    uptime = host.read_text("/proc/uptime").text.split(".")[0]
    boot_id = host.read_text("/proc/sys/kernel/random/boot_id").text.strip()
    if gone is None or not uptime.isdigit() or not boot_id:
        return None
    return {"boot_id": boot_id, "dropped": gone["dropped"], "evicted": gone["evicted"], "uptime_seconds": int(uptime)}


BEGUN, DONE = "begun", "done"


class RecordChange(files.RecordChange):
    """The change of the record itself. Its loss counters keep changing, so the diff leaves them out."""

    def diff(self):
        return files.RecordChange(self.path, _without_counters(self.before), _without_counters(self.after)).diff()


class Record(FileRecord):
    """Files, and `live` {key: {"before", "after"}}, `lost`, the losses when the limit was last raised, and `begun`,
    whether the last run was interrupted."""

    folder = os.path.dirname(RECORD)

    @property
    def live(self):
        return self.held.more.get("live", {})

    @property
    def lost(self):
        return self.held.more.get("lost")

    @property
    def begun(self):
        return self.held.more.get("state", DONE) != DONE

    def read_more(self, held):
        for values in held["live"].values():
            if not isinstance(values["before"], int) or not isinstance(values["after"], int):
                raise ValueError(values)
        return {"live": dict(held["live"]), "lost": held["lost"], "state": held["state"]}

    def has_more(self, more):
        return bool(more.get("live") or more.get("lost"))

    def change_of(self, before, after):
        return RecordChange(self.path, before, after, mode=0o600)

    def live_with(self, values):
        """`live` once `values` {key: (before, after)} are set as well."""
        live = dict(self.live)
        for key, (before, after) in values.items():
            former = live.get(key)
            ours = former is not None and may_be(key.replace(".", "/"), former["after"], before)
            live[key] = {"before": former["before"] if ours else before, "after": after}
        return live


def _without_counters(text):
    if text is None:
        return None
    held = json.loads(text)
    return json.dumps(dict(held, lost="counted when the limit was raised" if held["lost"] else None), indent=1,
                      sort_keys=True) + "\n"
