# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a support bundle, or a tree with parts of a node, must hold to be judged. PRIVATE to the collection."""

from .. import _names

# Parts that are judged: (name, with the files or commands that the part is read from; paths, of which one must exist).
PARTS = (
    ("rules (iptables-save, ip6tables-save, nft list ruleset)", (_names.BUNDLE_RULES,)),
    ("loaded modules (lsmod)", ("/proc/modules",)),
    ("modules of the kernel (/lib/modules/RELEASE/modules.*)", ("/lib/modules", "/usr/lib/modules")),
    ("kernel configuration (/boot/config-RELEASE)", ("/boot", "/proc/config.gz")),
    ("release of the kernel (uname -a)", ("/proc/sys/kernel/osrelease",)),
    ("running sysctls (sysctl -a)", ("/proc/sys/net",)),
    ("sysctl.d", ("/etc/sysctl.d", "/usr/lib/sysctl.d")),
    ("modprobe.d", ("/etc/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")),
    ("modules-load.d", ("/etc/modules-load.d", "/usr/lib/modules-load.d")),
    ("conntrack counters (conntrack -S)", ("/proc/net/stat/nf_conntrack",)),
    ("log of the kernel (dmesg)", (_names.BUNDLE_COMMANDS + "/dmesg",)),
    ("iptables programs (update-alternatives --display iptables)",
     ("/usr/sbin/iptables", "/sbin/iptables", "/usr/bin/iptables")),
    ("scripts and units", ("/etc/systemd", "/usr/local/sbin", "/usr/local/bin")),
    ("processes, kubelet and the xtables lock (preflight.yml --check on the node)", ()))
# Paths of the programs of a system. A tree without any of them holds only some files of a node.
_PROGRAMS = ("/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/lib/systemd/systemd", "/lib/systemd/systemd")


def lacking(there):
    """The PARTS that are missing; `there(path)` returns whether a path exists."""
    return [what for what, paths in PARTS if not any(there(path) for path in paths)]


def is_part_of_a_node(there):
    """Whether a tree holds files of a node but not a system that could boot or run."""
    return not any(there(path) for path in _PROGRAMS)
