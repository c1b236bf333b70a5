# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that start, stop or reload services. PRIVATE to the collection."""

import fnmatch

from ..effect import CERTAIN, IPV4, IPV6, LIKELY
from ..rule_files import SAVED_BY
from ..sequence import SERVICES
from ..services import FIREWALL
from ..values import MARK, RULES

# Units that a pattern may match: systemctl restart 'iptables*'.
_COMMON = ("iptables", "ip6tables", "nftables", "netfilter-persistent", "firewalld")
_VERBS = frozenset(("start", "stop", "restart", "reload", "try-restart", "condrestart", "reload-or-restart",
                    "try-reload-or-restart", "reload-or-try-restart", "force-reload", "condstop", "panic", "flush",
                    "save-and-restart"))
# Verbs that end in a start.
_STARTS = frozenset(("start", "restart", "try-restart", "condrestart", "reload-or-restart", "reload-or-try-restart",
                     "force-reload"))
_WITH_VALUE = ("-t", "--type", "-p", "--property", "-s", "--signal", "--kill-who", "--job-mode", "-n", "--lines", "-o",
               "--output", "--root")
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
        _tell(walker, node, unit, plain[0] if plain else "")
    elif name == "systemctl":
        _systemctl(walker, node, arguments)
    elif name == "ufw":
        _tell(walker, node, "ufw", plain[0] if plain and plain[0] in ("reload", "enable", "disable", "reset") else "",
              True)
    elif name == "firewall-cmd":
        if "--passthrough" in arguments and plain[:1] in (["ipv4"], ["ipv6"]):
            number = arguments.index(plain[0])
            walker.command(node, ["ip6tables" if plain[0] == "ipv6" else "iptables"] + arguments[number + 1:])
        for option, verb in _FIREWALL_CMD.items():
            if option in arguments:
                _tell(walker, node, "firewalld", verb)
    elif len(plain) > 1:
        _tell(walker, node, plain[0], plain[1])
    return True


def _systemctl(walker, node, arguments):
    if set(arguments) & _ELSEWHERE or any(word.startswith(("--host=", "--machine=", "--root=")) for word in arguments):
        return
    words, skip = [], False
    for word in arguments:
        if not skip and not word.startswith("-"):
            words.append(word)
        skip = not skip and word in _WITH_VALUE
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
        _tell(walker, node, unit, verb)


def _tell(walker, node, unit, verb, any_verb=False):
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
                _tell(walker, node, one, verb, any_verb)
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
