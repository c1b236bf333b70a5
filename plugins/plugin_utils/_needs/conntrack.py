# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conntrack table and sysctls that a node needs: the policy compared with the evidence. PRIVATE to the
collection.

Losses of the conntrack table whose cause is not gone.

The kernel counts from the boot on and keeps no times, and a look writes nothing to the node. The times are in the
report of the host on the controller: losses are settled after a day without a new one, and if the limit is higher
than in the report.
"""

import datetime

from ...module_utils import _versions
from ...module_utils._conntrack import predict
from ...module_utils._conntrack.keys import BRIDGE, BRIDGE_6, FORWARD, FORWARD_6, dotted
from ...module_utils._conntrack.size import checked, conntrack_size, need_of, was_full
from ...module_utils._errors import BadInput
from .. import _options, _run

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


# Policy value -> option of conntrack_size().
_OPTIONS = {"conntrack_used_percent": "used_percent", "conntrack_memory_percent": "memory_percent",
            "conntrack_ceiling": "ceiling", "conntrack_peak": "peak"}
_PERCENTS = ("conntrack_used_percent_warn", "conntrack_used_percent_fail", "conntrack_memory_percent_max")
# Options of the filter for the conntrack table, and for kube-proxy.
_OF_TABLE = ("peak", "used_percent", "memory_percent", "ceiling")
_OF_KUBE_PROXY = {"kube_proxy": {"type": "bool"}, "kubernetes_version": {"type": "str"},
                  "max_per_core": {"type": "int"}, "min": {"type": "int"}}
# Sysctls that may have to be 1 on a node.
SWITCHES = tuple(dotted(key) for key in (FORWARD, FORWARD_6, BRIDGE, BRIDGE_6))
# Plugins that put pods on a Linux bridge, and networks that do so with a plugin of another name.
_BRIDGING = ("bridge", "flannel", "weave-net")
_BRIDGING_NETWORKS = ("flannel", "kube-router", "weave")


def check_policy(values: dict) -> None:
    """Refuse numbers that are out of range. Raises BadInput."""
    given = [(name, option, values[name]) for name, option in sorted(_OPTIONS.items())]
    for name, option, value in given + [(name, "used_percent", values[name]) for name in _PERCENTS]:
        try:
            checked(**{option: value})
        except BadInput as error:
            raise BadInput("node_policy_%s: %s" % (name, error)) from None
    if values["conntrack_max_per_bucket"] < 1:
        raise BadInput("node_policy_conntrack_max_per_bucket is %d; give 1 or more"
                       % values["conntrack_max_per_bucket"])


def size_of(memory_bytes, cpus, options):
    """The result of conntrack_size() for a node with the kube-proxy of `options`, with `advice` added. Raises
    BadInput."""
    if cpus is None:
        raise BadInput("needs the number of processors, as in conntrack_size(cpus=8)")
    number = {"type": "int"}
    for name in options:
        if name not in _OF_TABLE and name not in _OF_KUBE_PROXY:
            raise _options.unknown_name("The option", name, dict.fromkeys(_OF_TABLE + tuple(_OF_KUBE_PROXY)))
    given = {name: _options.checked(name, value, _OF_KUBE_PROXY.get(name, number)) for name, value in options.items()
             if value is not None}
    memory_bytes, cpus = _options.checked("the memory", memory_bytes, number), _options.checked("cpus", cpus, number)
    wish = _wish(given, cpus)
    size = conntrack_size(memory_bytes, cpus, kube_proxy_value=wish.value,
                          **{name: given[name] for name in _OF_TABLE if name in given})
    return dict(size, advice=predict.advice(size["max"], wish, cpus, "kube-proxy"))


def _wish(given, cpus):
    if not given.get("kube_proxy", True):
        return predict.NOTHING
    settings = {field: given[name] for name, field in (("max_per_core", "maxPerCore"), ("min", "min")) if name in given}
    version = given.get("kubernetes_version")
    if version and len(_versions.numbers(version)) < 2:
        raise BadInput("kubernetes_version %r is not a version; give one such as '1.36', in quotes" % version)
    checked(cpus=cpus)
    return predict.limit_wish([version] if version else [], cpus, settings, "kube-proxy")


def conntrack_of(evidence, values, facts, earlier):
    """`{"size", "options", "fill", "was_full", "losses", "losses_state", "settings"}` of one host, None where the
    section was not collected.

    `earlier` is the result of earlier_conntrack(). `size` is the result of need_of() with `options`, `fill` is room,
    filling or full, `was_full` is whether connections found no room and the cause is not gone, `losses` and
    `losses_state` are the result of open_losses(), `settings` are rows of the sysctls that must be 1. A value that is
    not known becomes None.
    """
    section = evidence.get("node_conntrack")
    if section is None:
        return None
    options = dict({option: values[name] for name, option in _OPTIONS.items()}, earlier=earlier.get("peak", 0))
    losses, state = open_losses(section, evidence.get("node_host"), earlier.get("losses"), _run.STARTED)
    full = was_full(section) and any(losses[name] for name in ("dropped", "evicted", "lines"))
    return {"size": need_of(unsettled(section, state), **options), "options": options, "fill": _fill(section, values),
            "was_full": full, "losses": losses, "losses_state": state,
            "settings": _settings(section, evidence, values, facts)}


def is_outdated(section, modules):
    """Whether the section reports modules as not loaded, or as loaded too late at boot, although the newer section
    node_kernel_modules reports them as loaded or built in."""
    known = {row["name"]: row for row in (modules or {}).get("modules") or []}
    here = ("loaded", "builtin")
    return any(row["missing"] and known.get(row["module"], {}).get("state") in here or row["late"]
               and known.get(row["module"], {}).get("at_boot") in here for row in (section or {}).get("sysctls") or [])


def _fill(section, values):
    used = section["used_percent"]
    if used is None:
        return "room" if section["max"] == 0 else None
    if used > values["conntrack_used_percent_fail"]:
        return "full"
    return "filling" if used > values["conntrack_used_percent_warn"] else "room"


def _settings(section, evidence, values, facts):
    rows = {row["key"]: row for row in section["sysctls"]}
    return [dict(rows[dotted(key)], want=1, because=because)
            for key, because in _wanted(section, evidence, values, facts)
            if dotted(key) in rows]


def _turned_off(section, key):
    return any(row["key"] == dotted(key) and row["assigned"] == 0 and row["now"] is None for row in section["sysctls"])


def _are_dual(evidence, values, facts):
    """Whether pods of this node have IPv6 addresses by the range of pods. Before a network plugin is there, no pod has
    one yet."""
    ranges = values["pod_ranges"] or (evidence.get("node_kube_proxy") or {}).get("cluster_cidr") or ()
    there = facts["cni"] != "none" or (evidence.get("node_host") or {}).get("place") == "bundle"
    return there and any(":" in block for block in ranges)


def _wanted(section, evidence, values, facts):
    """[(key, why it must be 1)]."""
    families = facts["ip_families"]
    forward = "pods on this node need it to reach other nodes"
    wanted = [(FORWARD, forward)] if "ipv4" in families else []
    # Whether pods have IPv6 addresses is not known on the node before the first pod has one.
    cni = evidence.get("node_cni") or {}
    leased = any(row["used"] and row["family"] == "ipv6" and row["leased"] for row in cni.get("host_local") or [])
    if "ipv6" in families and (values["ip_families"] != "auto" or leased):
        wanted.append((FORWARD_6, forward))
    elif "ipv6" in families and not cni.get("host_local") and _are_dual(evidence, values, facts):
        # Where addresses of pods are given by host-local, its ranges show their families.
        wanted.append((FORWARD_6, "pods have IPv6 addresses (range of pods), which need it to reach other nodes"))
    elif "ipv6" in families and facts["families_unsure"] and _turned_off(section, FORWARD_6):
        # A line turns it off, and no other evidence of IPv6 was collected.
        wanted.append((FORWARD_6, "pods with IPv6 addresses need it to reach other nodes"))
    plugin = next((name for name in cni.get("plugins") or [] if name in _BRIDGING), None)
    if facts["cni"] == "flannel" and values["flannel_nftables"]:
        return wanted
    if facts["cni"] in _BRIDGING_NETWORKS or (plugin and values["cni"] == "auto"):
        why = "pods are on a Linux bridge (%s), and without it traffic between them bypasses the Service rules" % (
            facts["cni"] if facts["cni"] in _BRIDGING_NETWORKS else "plugin %s" % plugin)
        wanted += [(BRIDGE, why)] if "ipv4" in families else []
        wanted += [(BRIDGE_6, why)] if "ipv6" in families and not facts["families_unsure"] else []
    return wanted
