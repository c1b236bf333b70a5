# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that own all rules of a host: each start and reload replaces whole tables. PRIVATE to the collection.

shorewall  Shorewall/Perl/Shorewall/Chains.pm create_netfilter_load: one input of iptables-restore without --noflush;
           DOCKER=Yes keeps the chains of Docker alone; lib.cli clear_command deletes all chains
firehol    sbin/firehol.in: iptables-restore of all tables, stop flushes them
csf        csf.pl dostop, dostart: -F and -X of filter, nat, mangle and raw at each start, stop and restart
ferm       src/ferm: iptables-restore of each table in its configuration, unless @preserve keeps a chain
"""

import re

from .effect import CERTAIN, EVERY, IPV4, IPV6, LIKELY

_LOADS = ("start", "restart", "reload", "refresh", "try", "force-reload", "condrestart", "restore")
_TABLES = ("filter", "mangle", "nat", "raw")
_FERM = "/etc/ferm/ferm.conf"
_FERM_TABLE = re.compile(r"^[^#\n]*?\btable\s+(?:\(([^)\n]{1,100})\)|(\w+))", re.MULTILINE)

_COMMAND = re.compile(r"(?:\S*/)?(shorewall6?|firehol|csf|ferm)(?: |\Z)")


def manager_of(command):
    """The name of such a program in a command, or None."""
    found = _COMMAND.match(command)
    return found and found.group(1)


def without_manager(name, unit):
    """What to do where such a program runs on a node."""
    text = "%s keeps no chain of Kubernetes%s." % (name, " unless @preserve in /etc/ferm/ferm.conf names it"
                                                   if name == "ferm" else "")
    rest = ("Run systemctl mask %s without a stop, which clears all rules" % unit if unit
            else "Disable it without a stop, which clears all rules")
    return ("%s %s, and move the rules of the site to an nft table of their own, or to a chain that they alone are in "
            "(iptables -N SITE)." % (text, rest))


def manager_acts(act, settings_of):
    """((end of the path of a program, its function `(argument, read, environment) -> [Act]`), ...); `act` makes an
    Act."""
    def replaced(family, why):
        return act("restore", (family,), _TABLES, comes_back="replaced", command=why)

    def shorewall(name, family):
        path = "/etc/%s/%s.conf" % (name, name)

        def acts(argument, read, _environment=None):
            startup = settings_of(read(path)).get("STARTUP_ENABLED", ("Yes", 0))[0].lower()
            if argument in _LOADS:
                return [] if startup == "no" else [replaced(family, "%s %s" % (name, argument))]
            if argument in ("clear", "stop"):
                return [act("flush", (family,), _TABLES, command="%s %s" % (name, argument))]
            return []
        return acts

    def firehol(argument, _read, _environment=None):
        if argument in _LOADS:
            return [replaced(family, "firehol %s" % argument) for family in (IPV4, IPV6)]
        return [act("flush", (IPV4, IPV6), EVERY, command="firehol stop")] if argument == "stop" else []

    def csf(argument, _read, _environment=None):
        if argument in ("--initup", "--start", "-s", "--startq", "-sq", "--restart", "-r", "--restartq", "-ra",
                        "--restartall", "--stop", "-f", "--startf", "-sf", "--disable", "-x", "--enable", "-e"):
            return [act("flush", (IPV4, IPV6), _TABLES, command="csf %s" % argument)]
        return []

    def ferm(argument, read, _environment=None):
        text = read(_FERM) or ""
        if argument and argument not in _LOADS and not argument.endswith(".conf") or not text or "@preserve" in text:
            return []
        named = {word for both in _FERM_TABLE.findall(text) for part in both for word in part.split()}
        return [act("restore", (family,), tuple(sorted(named & set(_TABLES))) or ("filter",), comes_back="replaced",
                    command="ferm %s" % _FERM, confidence=CERTAIN if family == IPV4 else LIKELY)
                for family in (IPV4, IPV6) if family == IPV4 or "ip6" in text]

    return (("/shorewall", shorewall("shorewall", IPV4)), ("/shorewall6", shorewall("shorewall6", IPV6)),
            ("/firehol", firehol), ("/csf", csf), ("/sbin/ferm", ferm))
