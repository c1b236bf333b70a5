# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which proxy modes the kernel and the programs of a node allow, and which one to prefer. PRIVATE to the collection.

nftables mode: alpha in 1.29, beta in 1.31, stable in 1.33; kernel 5.13 and nft 1.0.1 (kubernetes enhancements, keps
3866 and 5343). ipvs mode: deprecated in 1.35 (keps 5495).
"""

import re

from ..._host.host import INDEX_LIMIT, OK
from ..._versions import numbers

_NEEDS = {"iptables": ("iptables", "iptables-restore", "iptables-save"), "ipvs": ("ipset", "iptables-restore"),
          "nftables": ("nft",)}
_MODULES = {"iptables": ("x_tables",), "ipvs": ("ip_vs", "ip_set"), "nftables": ("nf_tables",)}
_NFTABLES_KERNEL, _NFTABLES_STABLE, _NFTABLES_ALPHA = (5, 13), (1, 33), (1, 29)


def modes_of(host, release, tools, version):
    """(rows `{"mode", "possible", "because"}`, advice); `release` of the kernel, `tools` of the section, `version` of
    kube-proxy or None. The section of kernel modules reports whether modprobe.d blocks a module."""
    kernel, minor = numbers(release or "")[:2], numbers(version or "")[:2]
    rows = []
    for mode in sorted(_NEEDS):
        missing = [tool for tool in _NEEDS[mode] if tools.get(tool) == "absent"]
        doubtful = [tool for tool in _NEEDS[mode] if tools.get(tool) not in ("present", "absent")]
        lacking = [name for name in _MODULES[mode] if _available(host, release, name) is False]
        possible, because = True, "the kernel and all programs support it"
        if mode == "nftables" and kernel and kernel < _NFTABLES_KERNEL:
            possible, because = False, "kernel %s is older than 5.13" % re.sub(r"[^\w.+~-]", "?", release)
        elif mode == "nftables" and minor and minor < _NFTABLES_ALPHA:
            possible, because = False, "kube-proxy %s has no such mode" % version
        elif missing:
            possible, because = False, "kube-proxy finds no %s" % ", ".join(missing)
        elif lacking:
            possible, because = False, "kernel module %s is not available" % ", ".join(lacking)
        elif doubtful:
            possible, because = None, "whether kube-proxy finds %s is not known" % ", ".join(doubtful)
        rows.append({"mode": mode, "possible": possible, "because": because})
    return rows, _advice({row["mode"]: row["possible"] for row in rows}, minor)


def _advice(possible, minor):
    if possible["nftables"] and minor and minor >= _NFTABLES_STABLE:
        return "nftables, if the network plugin supports it"
    if possible["iptables"] is not False:
        return "iptables"
    return "nftables" if possible["nftables"] else None


def _available(host, release, name):
    """Whether the running kernel has a module: in memory or built in, or in its index; None where that cannot be
    read."""
    if host.is_dir("/sys/module/%s" % name) or not release:
        return True if release else None
    folder, known = "/lib/modules/%s/" % release, []
    for index in ("modules.dep", "modules.builtin"):
        status, data = host.read_bytes(folder + index, INDEX_LIMIT)
        if status == OK and ("/%s.ko" % name).encode("ascii", "replace") in data:
            return True
        known.append(status == OK)
    return False if all(known) else None
