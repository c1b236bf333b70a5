# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tool of netfilter, or of services, a command is. PRIVATE to the collection.

A variable that is not set in the text is taken for the tool that it is named after: `$IPTABLES`, `${IP6T}`, `"$NFT"`.
"""

import re

from ..effect import CERTAIN, IPV4, IPV6, LIKELY

PROGRAMS_LIMIT = 8
_IPTABLES = re.compile("ip(6|4|X|\0[^\0]*\0)?tables(?:-legacy|-nft)?(?:-(save|restore|apply))?\\Z")
_NAMED = re.compile("\0([^\0]*)\0(?:-(?:legacy|nft))?(?:-(save|restore|apply))?\\Z")
_LIKE_IPTABLES = re.compile(r"(?:\A|[_:])ip_?(?P<six>v?6)?(?:v?4)?_?t(?:ables|bl)?(?![a-z])(?P<rest>.*)")
_LIKE_OTHERS = re.compile(r"(?:\A|[_:])(nft|ipset|ipvsadm|systemctl|service|modprobe|rmmod)(?![a-z])")
_ASKS_ACTION = ("save", "restore", "apply")
_OTHERS = {
    "nft": "nft", "ipset": "sets", "ipvsadm": "ipvs", "ipvsadm-restore": "ipvs", "modprobe": "module",
    "rmmod": "module", "systemctl": "service", "service": "service", "rc-service": "service", "invoke-rc.d": "service",
    "netfilter-persistent": "service", "iptables-persistent": "service", "iptables.init": "service",
    "ip6tables.init": "service", "ufw": "service", "firewall-cmd": "service", "kube-proxy": "cleanup",
}
_INIT_SCRIPT = re.compile(r"/etc/(?:rc\.d/)?(?:init\.d|rc[0-6S]\.d)/(?:[SK]\d\d)?([\w.-]+)\Z")


def is_tool(path):
    return _iptables(path) is not None or path.rpartition("/")[2] in _OTHERS


def run_tool(walker, node, path, arguments):
    """Record what a tool does; false if the tool is not known."""
    if path not in walker.tools:
        walker.tools[path] = None if _INIT_SCRIPT.match(path) else _iptables(path)
    found = walker.tools[path]
    if found is None and "\0" in path and _looks_like_iptables(arguments):
        found = (IPV4, IPV6), "", LIKELY
    if found:
        # Compiled only where a script has such a command.
        from .iptables import run_iptables
        programs = [found]
        while arguments and _iptables(arguments[0]) and len(programs) < PROGRAMS_LIMIT:
            # Braces expand one word to several programs: ip{,6}tables -F is meant for both.
            programs.append(_iptables(arguments[0]))
            arguments = arguments[1:]
        for program in programs:
            run_iptables(walker, node, arguments, *program)
        return True
    name, init = path.rpartition("/")[2], _INIT_SCRIPT.match(path)
    if "\0" in path:
        like = _LIKE_OTHERS.search(name.strip("\0").lower()) if _NAMED.match(name) else None
        name = like.group(1) if like else name
    kind = "service" if init else _OTHERS.get(name)
    if kind is None:
        return False
    if kind == "nft":
        from .nft import run_nft
        run_nft(walker, node, arguments)
    elif kind == "service":
        from .service import run_service
        return run_service(walker, node, init.group(1) if init else name, arguments, init is not None)
    else:
        from .kernel import run_kernel
        run_kernel(walker, node, kind, name, arguments)
    return True


def _iptables(path):
    """(families, action, confidence) of a program of iptables, or None."""
    name = path.rpartition("/")[2]
    found = _IPTABLES.match(name)
    if found:
        family, action = found.groups()
        if family and family not in "46":
            return (IPV4, IPV6), action or "", LIKELY
        return (IPV6 if family == "6" else IPV4,), action or "", CERTAIN
    found = _NAMED.match(name)
    like = _LIKE_IPTABLES.search(found.group(1).lower()) if found else None
    if not like:
        return None
    rest = like.group("rest")
    action = found.group(2) or next((one for one in _ASKS_ACTION if one in rest), "")
    return (IPV6 if like.group("six") or "6" in rest else IPV4,), action, LIKELY


def _looks_like_iptables(arguments):
    return any(one in ("-F", "-X", "--flush", "--delete-chain") for one in arguments) and any(
        option in ("-t", "--table") and table in ("nat", "mangle", "filter", "raw")
        for option, table in zip(arguments, arguments[1:]))
