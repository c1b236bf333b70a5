# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print as JSON everything on this machine that a run may have changed: files, modules, sysctls, rules, interfaces and
the xtables lock.

    snapshot.py [ROOT]     ROOT: read the files of a tree instead of the files of this machine

Reading must not change anything. `nft list ruleset` loads nf_tables, so it runs only if nf_tables is already loaded;
the same holds for ipset. iptables-legacy-save runs only if the kernel already lists legacy tables. Packet counters
change by themselves and are left out.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys

# The paths that a fix may change: /etc, and other paths that kmod, depmod and systemd read or write.
FILES = ("etc", "run/modprobe.d", "run/modules-load.d", "usr/local/lib", "usr/lib/modprobe.d", "usr/lib/modules-load.d",
         "usr/lib/modules", "lib/modules", "boot", "run/xtables.lock")

# In the module trees and /boot only size and time are compared, because hashes take minutes on an emulated node.
BULKY = ("usr/lib/modules", "lib/modules", "boot")

# Sysctls that change by themselves, or that have an effect when they are read.
RESTLESS = ("fs/aio-nr", "fs/dentry-state", "fs/file-nr", "fs/inode-nr", "fs/inode-state", "kernel/ns_last_pid",
            "kernel/perf_cpu_time_max_percent", "kernel/perf_event_max_sample_rate", "kernel/pty/nr", "kernel/random",
            "net/netfilter/nf_conntrack_count", "vm/stat_refresh")


def files(root):
    found = {}
    for start in FILES:
        top = os.path.join(root, start)
        if os.path.islink(os.path.dirname(top)):
            continue
        found.update(entry(root, top))
        for folder, folders, names in os.walk(top):
            for name in folders + names:
                found.update(entry(root, os.path.join(folder, name)))
    return found


def entry(root, path):
    """{path: [content or its hash, size or link target, mode, owner, group, time]}"""
    try:
        state = os.lstat(path)
    except OSError:
        return {}
    name = os.path.relpath(path, root)
    if stat.S_ISLNK(state.st_mode):
        content = os.readlink(path)
    elif stat.S_ISREG(state.st_mode):
        content = str(state.st_size) if name.startswith(BULKY) else digest(path)
    else:
        content = ""
    return {name: [content, oct(state.st_mode), state.st_uid, state.st_gid, state.st_mtime_ns]}


def digest(path):
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


def lines(path):
    """The sorted lines of a file; None where the file does not exist."""
    try:
        with open(path, errors="replace") as stream:
            return sorted(stream.read().splitlines())
    except OSError:
        return None


def modules():
    """Only names, because reference counts change with every socket."""
    loaded = lines("/proc/modules")
    return None if loaded is None else [line.split()[0] for line in loaded]


def sysctls():
    found = {}
    for folder, _folders, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, "/proc/sys")
            if not key.startswith(RESTLESS) and os.stat(path).st_mode & stat.S_IRUSR:
                value = lines(path)
                if value is not None:
                    found[key] = value
    return found


def rules():
    loaded = modules() or []
    found = {name: lines("/proc/net/" + name) for name in ("ip_tables_names", "ip6_tables_names", "ip_vs")}
    for name, program in (("ip_tables_names", "iptables-legacy-save"), ("ip6_tables_names", "ip6tables-legacy-save")):
        if found[name] and shutil.which(program):
            found[program] = [re.sub(r" \[[0-9:]+\]$", "", line) for line in output(program)
                              if not line.startswith("#")]
    if "nf_tables" in loaded:
        found["nft"] = output("nft", "--stateless", "list", "ruleset")
    if "ip_set" in loaded and shutil.which("ipset"):
        found["ipset"] = output("ipset", "save")
    return found


def output(*command):
    return subprocess.check_output(command, universal_newlines=True).splitlines()


def lock():
    """The inode of the xtables lock and its rows in /proc/locks; None if the lock file does not exist."""
    try:
        inode = os.lstat("/run/xtables.lock").st_ino
    except OSError:
        return None
    return [inode] + [row.partition(": ")[2] for row in lines("/proc/locks") if ":%d " % inode in row]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "/"
    json.dump({"files": files(root), "modules": modules(), "sys_module": sorted(os.listdir("/sys/module")),
               "sysctls": sysctls(), "rules": rules(), "interfaces": sorted(os.listdir("/sys/class/net")),
               "lock": lock()}, sys.stdout, sort_keys=True)


if __name__ == "__main__":
    main()
