# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tool of netfilter, or of services, a command is. PRIVATE to the collection.

A variable that is not set in the text is taken for the tool that it is named after: `$IPTABLES`, `${IP6T}`, `"$NFT"`.

Commands that start, stop or reload services.
"""

import fnmatch
import re

from ..effect import CERTAIN, CONNECTIONS, EVERY, IPV4, IPV6, LIKELY, POSSIBLE
from ..nft_script import ALL_FAMILIES, taken_away
from ..rule_files import SAVED_BY
from ..sequence import SERVICES
from ..services import FIREWALL
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


# Units that a pattern may match: systemctl restart 'iptables*'.
_COMMON = ("iptables", "ip6tables", "nftables", "netfilter-persistent", "firewalld")
_VERBS = frozenset(("start", "stop", "restart", "reload", "try-restart", "condrestart", "reload-or-restart",
                    "try-reload-or-restart", "reload-or-try-restart", "force-reload", "condstop", "panic", "flush",
                    "save-and-restart"))
# Verbs that end in a start.
_STARTS = frozenset(("start", "restart", "try-restart", "condrestart", "reload-or-restart", "reload-or-try-restart",
                     "force-reload"))
_SERVICE_OPTIONS = ("-t", "--type", "-p", "--property", "-s", "--signal", "--kill-who", "--job-mode", "-n", "--lines",
                    "-o", "--output", "--root")
_ELSEWHERE = frozenset(("--user", "-H", "--host", "-M", "--machine", "--global"))
_NOW = {"enable": "start", "disable": "stop", "mask": "stop", "reenable": "restart"}
_FRONT_ENDS = {"netfilter-persistent": "netfilter-persistent", "iptables-persistent": "netfilter-persistent",
               "iptables.init": "iptables", "ip6tables.init": "ip6tables"}
_FIREWALL_CMD = {"--reload": "reload", "--complete-reload": "restart", "--panic-on": "panic"}


def run_service(walker, node, name, arguments, is_init_script):
    """Record what a command does to a service; false if the command is not known to be about a service."""
    if walker.elsewhere:
        return True
    plain = [word for word in arguments if not word.startswith("-")]
    if is_init_script or name in _FRONT_ENDS:
        unit = _FRONT_ENDS.get(name, name)
        if not FIREWALL.match(unit):
            return False
        _tell_unit(walker, node, unit, plain[0] if plain else "")
    elif name == "systemctl":
        _systemctl(walker, node, arguments)
    elif name == "ufw":
        verb = plain[0] if plain and plain[0] in ("reload", "enable", "disable", "reset") else ""
        _tell_unit(walker, node, "ufw", verb, True)
    elif name == "firewall-cmd":
        if "--passthrough" in arguments and plain[:1] in (["ipv4"], ["ipv6"]):
            number = arguments.index(plain[0])
            walker.command(node, ["ip6tables" if plain[0] == "ipv6" else "iptables"] + arguments[number + 1:])
        for option, verb in _FIREWALL_CMD.items():
            if option in arguments:
                _tell_unit(walker, node, "firewalld", verb)
    elif len(plain) > 1:
        _tell_unit(walker, node, plain[0], plain[1])
    return True


def _systemctl(walker, node, arguments):
    if set(arguments) & _ELSEWHERE or any(word.startswith(("--host=", "--machine=", "--root=")) for word in arguments):
        return
    words, skip = [], False
    for word in arguments:
        if not skip and not word.startswith("-"):
            words.append(word)
        skip = not skip and word in _SERVICE_OPTIONS
    if not words:
        return
    verb = words[0]
    if verb in _NOW:
        if _NOW[verb] != "stop":
            walker.enabled.update(unit if "." in unit else unit + ".service" for unit in words[1:])
        if "--now" not in arguments:
            return
        verb = _NOW[verb]
    for unit in words[1:]:
        _tell_unit(walker, node, unit, verb)


def _tell_unit(walker, node, unit, verb, any_verb=False):
    name = unit[:-8] if unit.endswith(".service") else unit
    if verb == "save" and FIREWALL.match(name):
        place = "netfilter-persistent save" if name == "netfilter-persistent" else "service %s save" % name
        if not walker.findings.sequence.saves(_families(name), place):
            for path in SAVED_BY.get(name, ()):
                walker.write(node, path, RULES)
    if verb not in _VERBS and not any_verb and MARK not in verb or not verb:
        return
    if name in SERVICES and verb in _STARTS:
        walker.findings.sequence.restarts(SERVICES[name])
    if set("*?[") & set(name):
        for one in _COMMON:
            if fnmatch.fnmatchcase(one, name):
                _tell_unit(walker, node, one, verb, any_verb)
        return
    if MARK in unit or not FIREWALL.match(name):
        if MARK not in unit + verb:
            walker.findings.run(node, name + ".service" if "." not in name or unit.endswith(".service") else unit,
                                (verb,), "unit")
        return
    walker.effect(node, "service", confidence=CERTAIN if MARK not in verb else LIKELY, families=_families(name),
                  unit=name + ".service", verb=verb if MARK not in verb else None, comes_back="unknown")


def _families(name):
    return (IPV6,) if name.startswith("ip6") else (IPV4,) if name.startswith("iptables") else (IPV4, IPV6)
