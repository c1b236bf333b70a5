# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units that change all rules at their start: whether kubelet waits for them, and whether they are still to start."""

from .rows import BOOT, START
from .units import KUBELETS

_NOT_YET = ("inactive", "failed")


def _starting(rows, units):
    """Names of the units that flush when they start; a unit that systemd makes of a script in init.d is left out."""
    return sorted(name for name in {row["unit"] for row in rows if START in row["triggers"]}
                  if name and units.known(name))


def unordered(rows, units):
    """[{unit, path, before, reason}] of units that a boot starts and that kubelet does not wait for."""
    found = []
    for name in _starting([row for row in rows if BOOT in row["triggers"] and row["live"] is not False], units):
        for kubelet in KUBELETS:
            if (name != kubelet and units.known(kubelet) and units.at_boot(kubelet) is not False
                    and not _ordered(units, name, kubelet)):
                found.append({"unit": name, "path": units.unit(name).path, "before": kubelet,
                              "reason": "no unit file orders %s after it" % kubelet})
    return found


def _ordered(units, name, kubelet):
    from ..units.order import ordered_before
    return ordered_before(units.all, name, kubelet)


def waiting(rows, units):
    """[{unit, path, state, active}] of units that start automatically, flush when they start, and have not started yet;
    `active`: None where the systemd of a live node did not report it."""
    found = []
    for name in _starting(rows, units):
        active = units.active_state(name)
        not_yet = active in _NOT_YET or active is None and units.live
        if not_yet and (units.at_boot(name) or units.activators(name)) and units.runs(name)[0]:
            found.append({"unit": name, "path": units.unit(name).path, "state": units.all.state(name),
                          "active": active})
    return found
