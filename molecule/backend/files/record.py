# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print as JSON what a change of backends may have touched: the groups of alternatives, the rules of both backends
without counters, the boot."""

import json
import os
import re
import subprocess

GROUPS = ("iptables", "ip6tables", "arptables", "ebtables")


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True,
                          check=False).stdout


def groups():
    found = {}
    for name in GROUPS:
        query = output("update-alternatives", "--query", name)
        found[name] = [line for line in query.split("\n\n")[0].splitlines() if line.startswith(("Status", "Value"))]
        links = ["/usr/sbin/%s%s" % (name, part) for part in ("", "-save", "-restore")]
        found[name] += [os.path.realpath(link) for link in links if os.path.lexists(link)]
    return found


def rules():
    """A save of the legacy backend would make its tables where there are none."""
    programs = ["iptables-nft-save", "ip6tables-nft-save"]
    for names, program in (("ip_tables_names", "iptables-legacy-save"), ("ip6_tables_names", "ip6tables-legacy-save")):
        if os.path.exists("/proc/net/" + names) and open("/proc/net/" + names).read():
            programs.append(program)
    return {program: [re.sub(r"\[\d+:\d+\]$", "", line) for line in output(program).splitlines()
                      if not line.startswith("#")] for program in programs}


print(json.dumps({"groups": groups(), "rules": rules(), "boot": open("/proc/sys/kernel/random/boot_id").read()}))
