# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tool of netfilter, or of services, a command is. PRIVATE to the collection.

A variable that is not set in the text is taken for the tool that it is named after: `$IPTABLES`, `${IP6T}`, `"$NFT"`.
"""

import re

from ..effect import CERTAIN, CONNECTIONS, EVERY, IPV4, IPV6, LIKELY, POSSIBLE
from ..nft_script import ALL_FAMILIES, taken_away
from ..values import FILE, MARK, RULES, SETS
from ..words import MODULE

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
    "conntrack": "connections"}
_INIT_SCRIPT = re.compile(r"/etc/(?:rc\.d/)?(?:init\.d|rc[0-6S]\.d)/(?:[SK]\d\d)?([\w.-]+)\Z")
# Sets of kube-proxy, kube-router, Calico, Weave, Cilium and Azure NPM.
_OTHERS_SET = re.compile(r"(?:KUBE-|kube-router-|cali[46]0|weave-|cilium_|azure-npm-)")
_SET_VERBS = {"flush": "flush", "-F": "flush", "--flush": "flush", "destroy": "destroy", "-X": "destroy",
              "--destroy": "destroy", "x": "destroy"}
_WITH_VALUE = ("-D", "--define", "-I", "--includepath", "-d", "--debug")
_FIELDS = ("sort", "families", "tables", "chains", "unit", "verb", "file", "comes_back", "confidence")
_LISTS, _ADDS = re.compile(r"list +ruleset\b"), re.compile(r"(?:add|insert) +rule\b")


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
        run_nft(walker, node, arguments)
    elif kind == "service":
        from .service import run_service
        return run_service(walker, node, init.group(1) if init else name, arguments, init is not None)
    else:
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


# ipset, ipvsadm, modprobe -r, rmmod and kube-proxy --cleanup.
def run_kernel(walker, node, kind, name, arguments):
    plain = [word for word in arguments if not word.startswith("-")]
    if kind == "sets":
        _sets(walker, node, arguments)
    elif kind == "ipvs":
        if name == "ipvsadm-restore" or any(re.match(r"-[CR]\Z|--(?:clear|restore)\Z", word) for word in arguments):
            walker.effect(node, "ipvs", families=(IPV4, IPV6), tables=EVERY)
    elif kind == "module":
        modules = [word.replace("-", "_") for word in plain if MODULE.match(word.replace("-", "_"))]
        asks = any(re.match(r"-[a-z]*n|--dry-run|--show", word) for word in arguments)
        if modules and not asks and (name == "rmmod"
                                     or any(re.match(r"-[a-z]*r|--remove", word) for word in arguments)):
            walker.effect(node, "module", tables=tuple(modules))
    elif kind == "connections":
        # conntrack -F of the table of connections, which may follow (conntrack-tools src/conntrack.c).
        flushes = any(re.match(r"-[a-zA-Z]*F\Z|--flush\Z", word) for word in arguments)
        if flushes and not {"expect", "dying"} & set(plain):
            walker.effect(node, CONNECTIONS, families=(IPV4, IPV6), tables=(CONNECTIONS,))
    elif kind == "cleanup" and any(word in ("--cleanup", "--cleanup=true", "--cleanup-iptables") for word in arguments):
        walker.effect(node, "delete", families=(IPV4, IPV6), tables=("nat", "filter", "mangle"), chains=("KUBE-*",))


def _sets(walker, node, arguments):
    verb = next((_SET_VERBS[word] for word in arguments if word in _SET_VERBS), None)
    operands = [word for word in arguments if not word.startswith(("-", "!")) and word not in _SET_VERBS]
    if verb is None:
        return
    known = operands[0].partition(MARK)[0] if operands else ""
    if not known:
        confidence = CERTAIN if not operands else LIKELY if operands[0] == SETS else POSSIBLE
        walker.effect(node, "sets", families=(IPV4, IPV6), tables=EVERY, confidence=confidence)
    elif _OTHERS_SET.match(operands[0]):
        walker.effect(node, "sets", families=(IPV4, IPV6), tables=(known + ("*" if MARK in operands[0] else ""),),
                      confidence=LIKELY if MARK in operands[0] else CERTAIN)


# What an nft command does to tables of other programs. Options: nftables src/main.c.
def run_nft(walker, node, arguments):
    """Record what `nft arguments` does: its words, or the file it reads."""
    words, path, number = [], None, 0
    while number < len(arguments):
        word = arguments[number]
        number += 1
        if words or not word.startswith("-") or word == "-":
            words.append(word)
        elif word == "--check" or re.match(r"-[a-zA-Z]*[chvV]", word) and word not in ("-D", "-I", "-d"):
            return
        elif word.startswith("--file="):
            path = word[7:]
        elif word in ("--file",) or re.match(r"-[a-zA-Z]*f\Z", word):
            path, number = "".join(arguments[number:number + 1]), number + 1
        elif re.match(r"-[a-zA-Z]*f", word):
            path = word.partition("f")[2]
        elif word in _WITH_VALUE:
            number += 1
    if path is None:
        _tell(walker, node, " ".join(words), False)
    else:
        _file(walker, node, path)


def _file(walker, node, path):
    text = walker.text_of_file(path)
    files = FILE.findall(text)
    piped = path in ("-", "/dev/stdin")
    _tell(walker, node, text, piped, path if path in walker.files else None)
    if files or MARK in text and not text.replace(RULES, "").strip("\n") == "" and "\0?\0" in text:
        walker.effect(node, "apply", piped, POSSIBLE, families=ALL_FAMILIES, file=files[0] if files else None,
                      comes_back="unknown")


def _tell(walker, node, text, piped, file=None):
    if _LISTS.match(text):
        walker.findings.sequence.prints(ALL_FAMILIES)
    elif _ADDS.match(text):
        walker.findings.sequence.appends(ALL_FAMILIES)
    for _start, _end, what in taken_away(text):
        fields = dict(zip(_FIELDS, what))
        fields["confidence"] = LIKELY if MARK in text and fields["confidence"] == LIKELY else fields["confidence"]
        walker.effect(node, fields.pop("sort"), piped, **dict(fields, file=file))
