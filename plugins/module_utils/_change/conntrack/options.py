# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the module conntrack, checked and converted to one form."""

import re

from ... import _errors
from ..._conntrack.predict import rounded_buckets
from ..._conntrack.keys import (
    BRIDGE, BRIDGE_6, BUCKETS, FORWARD, FORWARD_6, MAX, NAMES, SECONDS_MOST, dotted, sysctl_of, timeout_name)
from ..._conntrack.size import BUCKET_BYTES, ENTRY_BYTES, LEAST, MOST

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
