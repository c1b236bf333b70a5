# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins about kernel modules. PRIVATE to the collection."""

from .values import rows_of, section

# Causes of an unknown state with which a directive tells that the name is a module, not a part of the kernel image.
_A_MODULE = ("file_unseen", "not_listed", "not_loaded")
_NAMES = 6
# {what switches loading on demand off: (in words, the advice)}
_OFF = {
    "modules_disabled": (
        "kernel.modules_disabled is 1", "List them in /etc/modules-load.d, so that they are loaded before "
        "kernel.modules_disabled is set, and reboot: nothing sets it back before."),
    "nomodule": ("the kernel was booted with nomodule", "Remove nomodule from the kernel command line and reboot."),
    "kernel_modprobe": (
        "kernel.modprobe (/proc/sys/kernel/modprobe) is empty", "Load them now (modprobe -a %s), and list them in "
        "/etc/modules-load.d: both work with an empty kernel.modprobe, which a hardening guide may want. Or "
        "remove what empties it (a line kernel.modprobe= of sysctl.d, or a program or privileged pod "
        "that writes it) and set it again (sysctl -w kernel.modprobe=/sbin/modprobe)."),
}
_OFF_SOMEHOW = ("kernel.modprobe is empty or kernel.modules_disabled is 1", _OFF["kernel_modprobe"][1])


def autoload_off(evidence):
    """One row where the kernel loads nothing on demand and required modules are still to be loaded so: `because`,
    `modules` and `advice`."""
    loading = section(evidence, "node_kernel_modules").get("loading") or {}
    left = [row["name"] for row in rows_of(evidence, "requirements", "modules") if not row["optional"]
            and row["on_demand"] and (row["state"] == "loadable" or row["cause"] == "not_loaded")]
    if loading.get("autoload") != "forbidden" or not left:
        return []
    by = {row["by"] for row in loading.get("because") or []}
    because, advice = next((_OFF[each] for each in _OFF if each in by), _OFF_SOMEHOW)
    shown = " ".join(left[:_NAMES])
    more = " and %d more" % (len(left) - _NAMES) if len(left) > _NAMES else ""
    return [{"because": because, "modules": ", ".join(left[:_NAMES]) + more,
             "advice": advice % shown if "%s" in advice else advice}]


def modules_unclear(evidence):
    """The required modules of which it is not known whether a directive keeps them from loading; with `evidence` and
    `seen` if there is one."""
    rows = []
    for row in rows_of(evidence, "requirements", "modules"):
        if row["optional"]:
            continue
        stops = [block for block in row["blocks"] or [] if block["effect"] == "blocks"]
        known = stops and (row["cause"] in _A_MODULE or any(
            block["by"] == "module_blacklist" for block in row["blocks"]))
        if row["state"] == "unknown" and row["cause"] == "no_tree" and any(
                block["by"] == "install" for block in stops):
            rows.append({"subject": row["subject"], "seen": True, "evidence": "%s keeps it from loading, unless it is "
                         "built in" % row["blocked_by"]})
        if row["state"] == "unknown" and not known or (
                row["state"] == "loadable" and row["blocked_unclear"] and not stops):
            rows.append(row)
    return rows
