# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The combined settings of a unit file and its drop-ins. PRIVATE to the collection.

An empty assignment resets a list; dependencies cannot be reset, and some keys share one list (systemd
src/core/load-fragment.c).
"""

import collections

Value = collections.namedtuple("Value", "text path line")
Value.__doc__ = "What one line of `path` gives a key."

# Keys that an empty assignment does not reset: dependencies, these lists, and switches, of which the last yes or no
# counts.
_DEPENDENCIES = (
    "After", "Before", "Wants", "Requires", "Requisite", "BindsTo", "PartOf", "Upholds", "Conflicts", "OnFailure",
    "OnSuccess", "PropagatesReloadTo", "ReloadPropagatedFrom", "PropagatesStopTo", "StopPropagatedFrom",
    "JoinsNamespaceOf")
_NEVER_RESET = frozenset([("Unit", key)
                          for key in _DEPENDENCIES] + [
                              ("Install", "Also"), ("Timer", "Unit"), ("Path", "Unit"), ("Unit", "DefaultDependencies"),
                              ("Unit", "RefuseManualStart"), ("Unit", "RefuseManualStop"), ("Socket", "Accept"),
                              ("Service", "RemainAfterExit")])
# Keys that fill one list: an empty assignment to any of them empties all of it.
_ONE_LIST = (
    ("Timer", ("OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec", "OnCalendar")),
    ("Path", ("PathExists", "PathExistsGlob", "PathChanged", "PathModified", "DirectoryNotEmpty")),
    ("Socket", ("ListenStream", "ListenDatagram", "ListenSequentialPacket", "ListenFIFO", "ListenNetlink",
                "ListenSpecial", "ListenMessageQueue", "ListenUSBFunction")))
_LIST_OF = {(section, key): (section, keys) for section, keys in _ONE_LIST for key in keys}


def merge_assignments(files):
    """{(section, key): [Value]} of `[(path, [Assignment])]` in the order they are read."""
    merged, lists = {}, {}
    for path, assignments in files:
        for section, key, text, line in assignments:
            place = (section, key)
            if not text:
                if place not in _NEVER_RESET:
                    for emptied in lists.pop(_list_of(place), ()):
                        merged.pop(emptied, None)
                continue
            if place not in merged:
                merged[place] = []
                lists.setdefault(_list_of(place), []).append(place)
            merged[place].append(Value(text, path, line))
    return merged


def _list_of(place):
    section, key = place
    if section == "Unit" and key.startswith(("Condition", "Assert")):
        return section, key[:6]
    return _LIST_OF.get(place, place)
