# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans and carries out changes to the conntrack settings of a node.

Planning only reads, so check mode shows exactly what a run does. All files and values are checked before the first is
written. Where a file cannot be written, the files written before it are put back.

The options of the module conntrack, checked and converted to one form.
"""

import re
from collections import OrderedDict

from ... import _errors
from ..._conntrack.keys import (
    BRIDGE, BRIDGE_6, BUCKETS, FORWARD, FORWARD_6, MAX, NAMES, SECONDS_MOST, dotted, sysctl_of, timeout_name,
)
from ..._conntrack.predict import rounded_buckets
from ..._conntrack.size import BUCKET_BYTES, ENTRY_BYTES, LEAST, MOST, advice_for
from ..._host import lock
from ..._host.host import ABSENT
from ..._look import tree
from ..._look.conntrack.now import lost_by_forwarding
from ..files import FileChange, Plan as FilesPlan, finished, plan_undo, put_back, refuse_unwritable
from ..modules.plan import checked_file_name
from .files import Files, Persisting, Prediction, file_texts, in_order, kept_values
from .live import BEGUN, DONE, Live, Record, lost_so_far, may_be, plan_live, set_live

# Sysctls that may be set to 1.
SWITCHES = tuple(sorted(dotted(key)
                        for key in (BRIDGE, BRIDGE_6, FORWARD, FORWARD_6, "net/netfilter/nf_conntrack_tcp_be_liberal")))
# A full table that takes more than this share of the memory leaves too little memory for pods.
MEMORY_PERCENT_MOST = 50


def option_values(options):
    """{key: number} of the options max, buckets, timeouts and sysctls. Raises BadInput."""
    values = {}
    for name, key in (("max", MAX), ("buckets", BUCKETS)):
        if options[name] is not None:
            values[key] = _between(name, options[name], LEAST, MOST, "connections" if key == MAX else "buckets")
    for name, seconds in sorted(options["timeouts"].items()):
        known = timeout_name(name)
        if known is None:
            raise _errors.BadInput("timeouts: %s is not known; give %s" % (name, ", ".join(NAMES)))
        values[_as_path(sysctl_of(known))] = _between("timeouts: " + name, seconds, 1, SECONDS_MOST, "seconds")
    for name in options["sysctls"]:
        values[_as_path(name)] = 1
    return values


def _as_path(name):
    return name.replace(".", "/")


def _between(name, value, least, most, what):
    if isinstance(value, str) and re.match(r"-?[0-9]{1,12}\Z", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _errors.BadInput("%s is %s; give %d to %d %s" % (name, value, least, most, what))
    return value


def check_memory(values, section):
    """Refuse values of the user (not present values) whose full table takes more than half of the memory.
    Raises BadInput."""
    memory = section["memory_bytes"]
    for key, size in ((MAX, ENTRY_BYTES), (BUCKETS, BUCKET_BYTES)):
        most = memory * MEMORY_PERCENT_MOST // 100 // size if memory else None
        if most is not None and values.get(key, 0) > most:
            raise _errors.BadInput("%s is %d, and a full table of that size takes more than %d %% of the memory; give "
                                   "at most %d"
                                   % ("max" if key == MAX else "buckets", values[key], MEMORY_PERCENT_MOST, most))


def targets(values, section, kept, lower):
    """({key: value to set now and at boot}, {key: why it is not set}); limit and buckets are only raised, unless
    `lower`. `kept`: the values of our own file so far. Those of other files in sysctl.d are not lowered either."""
    rows = {row["key"]: row for row in section["sysctls"]}
    wanted, refused = {}, {}
    for key, value in values.items():
        row = rows[dotted(key)]
        if key not in (MAX, BUCKETS):
            wanted[key] = value
        elif lower:
            wanted[key] = value
            if key == MAX and section["count"] is not None and value < section["count"]:
                raise _errors.ChangeFailed("max is %d, but the table holds %d entries: new connections would be "
                                           "dropped. Nothing was changed" % (value, section["count"]))
        elif key == MAX and section["max"] == 0:
            refused[key] = "the table has no limit, so there is nothing to raise; lower: true sets one"
        else:
            now = section["max" if key == MAX else "buckets"] or 0
            wanted[key] = max([value, now, kept.get(key, 0)] + [row["assigned"]] * isinstance(row["assigned"], int))
            if key == BUCKETS and rounded_buckets(value) == now:
                wanted[key] = max(value, kept.get(key, 0))
    return wanted, refused


OPTIONS = dict(tree.TREE_OPTIONS, state={"type": "str", "choices": ["present", "absent"], "default": "present"},
               max={"type": "int"}, buckets={"type": "int"},
               resize={"type": "str", "choices": ["auto", "always", "never"], "default": "auto"},
               timeouts={"type": "dict", "default": {}},
               sysctls={"type": "list", "elements": "str", "choices": list(SWITCHES), "default": []},
               modules={"type": "list", "elements": "str", "choices": ["br_netfilter", "nf_conntrack"], "default": []},
               load={"type": "bool", "default": False}, persist={"type": "bool", "default": True},
               lower={"type": "bool", "default": False}, comment_out_conflicts={"type": "bool", "default": False},
               file={"type": "str", "default": "zz-kubenode-netfilter.conf"})
RULES = {}
# The keys of a row that are returned.
SHOWN = ("key", "wanted", "before", "after", "at_boot", "after_kube_proxy", "persisted", "failed", "msg")


class Plan(FilesPlan):
    """`live` values, `rows` {key: its row of the result}, and further contents of the record after the run:
    `live_before` and `lost`. `left` are the dotted keys whose running value an undo does not change, each with a
    sentence in `warnings`."""

    def __init__(self, host):
        super(Plan, self).__init__(Record(host))
        self.live, self.live_before, self.rows = Live(), dict(self.record.live), OrderedDict()
        self.lost, self.advice, self.left = self.record.lost, None, set()

    def contents(self, state=DONE):
        """The contents of the record at the end, except for values that are known only after the run."""
        more = {"live": self.live_before, "lost": self.lost, "state": state}
        if self.undo:
            return self.record.with_entries(self.entries, more)
        return self.record.with_changes(self.changes, more)

    @property
    def changed(self):
        return bool(self.all_changes() or self.live or self.record.leftovers(self.contents(), self.changes))


def plan_present(host, node, options):
    """Plan to set the values that `options` request, now and at boot."""
    values = option_values(options)
    files = Files(checked_file_name(options["file"]))
    if node["place"] == "container":
        raise _errors.ChangeFailed("this is a container, and the conntrack table is the node's; run this on the node. "
                                   "Nothing was changed")
    prediction, plan = Prediction(host, node), Plan(host)
    section = prediction.section(dict.fromkeys(files.all))
    check_memory(values, section)
    wanted, refused = targets(values, section, kept_values(host, files), options["lower"])
    if FORWARD_6 in wanted and node["place"] == "live":
        _keep_default_route(host, section, wanted, refused)
    predictions = {row["key"]: row for row in section["sysctls"]}
    for key in in_order(values):
        predicted = predictions[dotted(key)]
        plan.rows[key] = {
            "key": predicted["key"], "wanted": wanted.get(key), "before": predicted["now"], "after": predicted["now"],
            "missing": predicted["missing"], "persisted": False, "at_boot": predicted["at_boot"],
            "after_kube_proxy": predicted["after_kube_proxy"], "failed": key in refused, "msg": refused.get(key, "")}
    if options["persist"]:
        persisting = Persisting(host, prediction, wanted, plan.rows, options)
        plan.changes = [FileChange(*row) for row in file_texts(host, persisting.texts)]
        section = persisting.after
    if node["place"] == "live":
        plan.live = plan_live(host, node, wanted, plan.rows, section["max"], options)
    if MAX in wanted:
        plan.advice = advice_for(section, wanted[MAX])
    plan.live_before = plan.record.live_with(plan.live.recorded())
    refuse_unwritable(host, plan.all_changes())
    return plan


def _keep_default_route(host, section, wanted, refused):
    now = next(row["now"] for row in section["sysctls"] if row["key"] == dotted(FORWARD_6))
    names = lost_by_forwarding(host) if now != 1 else []
    if names:
        del wanted[FORWARD_6]
        refused[FORWARD_6] = ("the default route of %s comes from router advertisements, which the kernel ignores "
                              "while IPv6 forwarding is on, unless %s is 2; set that first"
                              % (", ".join(names), dotted("net/ipv6/conf/%s/accept_ra" % names[0])))


def plan_absent(host, node, options):
    """Plan to put back all files, and the running values where `options["lower"]` allows that. The record keeps each
    running value until it is put back."""
    plan = Plan(host)
    plan.undo = True
    plan.changes, plan.entries, plan.problems = plan_undo(plan.record)
    if node["place"] == "live":
        _plan_former_values(host, plan, options["lower"])
    elif plan.record.live:
        plan.left = set(plan.record.live)
        plan.warnings = ["running values that were changed are not put back, because this is not a live node: "
                         + ", ".join(sorted(plan.left))]
    plan.live_before = _still_live(plan)
    # Where the limit stays raised, the earlier losses stay irrelevant.
    plan.lost = plan.record.lost if plan.entries or plan.live_before else None
    refuse_unwritable(host, plan.all_changes())
    return plan


def path_of(key):
    """A dotted key as a path below /proc/sys."""
    return key.replace(".", "/")


def _plan_former_values(host, plan, lower):
    from ..._look.conntrack.now import read_key
    for key, pair in sorted(plan.record.live.items()):
        path = path_of(key)
        status, now = read_key(host, path)
        if now == pair["before"] or status == ABSENT:
            continue  # A run was killed before it set the value, a boot has reset it, or its module is gone.
        why = _why_left(key, pair, now, lower)
        if why:
            plan.left.add(key)
            plan.warnings.append("%s %s" % (key, why))
        if lower:
            plan.rows[path] = {"key": key, "wanted": pair["before"], "before": now, "after": now, "at_boot": None,
                               "after_kube_proxy": None, "persisted": False, "failed": False, "msg": why or ""}
            if not why:
                _plan_former_value(host, plan, path, now, pair["before"])


def _why_left(key, pair, now, lower):
    """Why a running value that differs from the former value is not put back, or None."""
    if now is None:
        return "is not put back: its current value could not be read"
    if not may_be(path_of(key), pair["after"], now):
        return ("is not put back: it was changed since to %d; sysctl -w %s=%d sets the former value"
                % (now, key, pair["before"]))
    if not lower:
        return ("is %d now and stays, it was %d before; run the undo again with lower: true (harden_conntrack_lower) "
                "to put it back" % (now, pair["before"]))
    return None


def _plan_former_value(host, plan, path, now, before):
    from ..._look.conntrack.now import read_table
    row = plan.rows[path]
    count = read_table(host)["count"] if path == MAX else None
    if count is not None and 0 < before < count:
        row.update(failed=True, msg="it is not put back: the table holds %d entries, more than the former limit %d"
                   % (count, before))
    else:
        plan.live.values[path] = (now, before)
        row["after"] = before


def carry_out(host, plan):
    """Write the record as begun, then the files, the values, and the record as done. Raises ChangeFailed where no
    change stays."""
    if plan.undo:
        plan.problems += put_back(host, plan.record, plan.changes, plan.entries)
    else:
        plan.record.make_all(plan.changes, plan.contents(BEGUN))
    set_live(host, plan.live, plan.rows)
    before, after = plan.live.values.get(MAX, (None, None))
    if not plan.undo and before is not None and after > before and not plan.rows[MAX]["failed"]:
        plan.lost = lost_so_far(host) or plan.lost
    if plan.undo:
        plan.live_before = _still_live(plan)
    plan.problems += plan.record.settle(plan.contents(), plan.changes)


def _still_live(plan):
    """Running values that are not put back."""
    return {key: pair for key, pair in plan.record.live.items()
            if key in plan.left or plan.rows.get(path_of(key), {"failed": False})["failed"]}


def run(params, check_mode):
    """Plan and, unless `check_mode`, carry out; returns the result of the module kubenode.netfilter.conntrack."""
    host, node = tree.open_asked(params)
    with lock.one_run(host, check_mode):
        plan = plan_absent(host, node, params) if params["state"] == "absent" else plan_present(host, node, params)
        changes, live, changed, unfinished = plan.all_changes(), plan.live.diff(), plan.changed, plan.record.begun
        if not check_mode and changed:
            carry_out(host, plan)
            changes = plan.record.made(changes, plan.changes)
    result = {"changed": changed, "files": [change.path for change in changes],
              "diff": [change.diff() for change in changes] + live, "unfinished": unfinished, "advice": plan.advice,
              "settings": [{name: row[name] for name in SHOWN} for row in plan.rows.values()]}
    problems = plan.problems + ["%s: %s" % (row["key"], row["msg"]) for row in plan.rows.values() if row["failed"]]
    return finished(result, problems, plan.record.notices + plan.warnings)
