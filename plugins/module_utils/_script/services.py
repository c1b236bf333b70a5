# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firewall services of distributions: what their programs do depends on their settings. PRIVATE to the collection.

What their programs do is defined here, and the programs are not read: a reader of scripts would report all of their
commands, regardless of the settings. `read` is a function: it returns the text of a file, None if the file does not
exist or is not readable.

Programs that own all rules of a host: each start and reload replaces whole tables.

shorewall  Shorewall/Perl/Shorewall/Chains.pm create_netfilter_load: one input of iptables-restore without --noflush;
           DOCKER=Yes keeps the chains of Docker alone; lib.cli clear_command deletes all chains
firehol    sbin/firehol.in: iptables-restore of all tables, stop flushes them
csf        csf.pl dostop, dostart: -F and -X of filter, nat, mangle and raw at each start, stop and restart
ferm       src/ferm: iptables-restore of each table in its configuration, unless @preserve keeps a chain
"""

import re

from .effect import CERTAIN, EVERY, IPV4, IPV6, LIKELY, Effect
from .rule_files import family_of, flushing_commands, read_saved

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
    Act, `settings_of` reads a file of assignments."""
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


BOTH = (IPV4, IPV6)
_ASSIGNMENT = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(?:\"([^\"]*)\"|'([^']*)'|([^\s#;]*))")
# el8 and el9 iptables.init, NF_TABLES.
_RHEL_TABLES = ("raw", "mangle", "filter", "nat")
UFW_SETTINGS = ("/etc/default/ufw", "/etc/ufw/ufw.conf")
DIRECT = "/etc/firewalld/direct.xml"
FIREWALLD = "/etc/firewalld/firewalld.conf"
_PERSISTENT = "/etc/default/netfilter-persistent"
_PLUGIN_FILES = tuple(
    ("/usr/share/netfilter-persistent/plugins.d/" + plugin, family, path, switch) for plugin, family, path, switch in (
        ("15-ip4tables", IPV4, "/etc/iptables/rules.v4", "IPTABLES_RESTORE_NOFLUSH"),
        ("25-ip6tables", IPV6, "/etc/iptables/rules.v6", "IP6TABLES_RESTORE_NOFLUSH")))
_IPVSADM = "/etc/default/ipvsadm"
OPENRC = "/etc/conf.d/"
# Services that load whole rule sets; the unit of each shows what it does to the rules of other programs.
FIREWALL = re.compile(
    r"(?:ip6?tables|nftables|netfilter-persistent|iptables-persistent|firewalld|ufw|ip6?tables-restore|ip6?tables-"
    r"legacy|ip6?tables-nft|ipset|"
    r"shorewall6?|ferm|firehol|arno-iptables-firewall|SuSEfirewall2(?:_\w+)?|fwbuilder|apf|csf|lfd|awall|ipvsadm)\Z")

STOP = "stop"
# Not a sort of effect: rules are added and no rule is lost.
LOAD = "load"
# Programs that run as long as their unit is active: no other line shows what a stop and a reload do.
DAEMONS = ("/firewalld",)
# Scripts that are read where possible; the known acts count where they cannot be read.
READ_FIRST = (".init",)
# The files that they restore; the scripts name them with variables from their settings.
DATA = {"/usr/libexec/iptables/iptables.init": "/etc/sysconfig/iptables",
        "/usr/libexec/iptables/ip6tables.init": "/etc/sysconfig/ip6tables"}


class Act:
    """One thing a service does: `effect`, and `path`, `line` and `kind` of its setting or script, or None."""

    def __init__(self, sort, families, tables, chains=EVERY, comes_back="no", confidence=CERTAIN, file=None, command="",
                 path=None, line=0):
        self.path, self.line, self.kind = path, line, "service_config"
        self.effect = Effect(line, (0, 0), command, sort, tuple(families), tuple(tables), tuple(chains), None, None,
                             file, comes_back, confidence)


def settings_of(text):
    """{name: (value, line)} of a file of assignments, the last one of each; a hash begins a comment line."""
    found = {}
    for number, line in enumerate((text or "").split("\n"), 1):
        match = _ASSIGNMENT.match(line)
        if match:
            found[match.group(1)] = (match.group(2) or match.group(3) or match.group(4) or "", number)
    return found


def known_program(path):
    """The function `(argument, read, environment) -> [Act]` for a program of a service, or None for any other."""
    return next((acts for ending, acts in _PROGRAMS if path.endswith(ending)), None)


def openrc_program(path, data):
    """The same for a script of OpenRC that systemd does not know, by its first line."""
    name = path.rpartition("/")[2]
    if name not in ("iptables", "ip6tables") or not data.startswith((b"#!/sbin/openrc-run", b"#!/sbin/runscript")):
        return None
    return _openrc_init(name, family_of(name))


def acts_of_verb(unit, verb, read):
    """[Act] of a firewall's own command that does not start or stop its unit (`ufw reload`), or None."""
    word = _VERBS.get((unit, verb))
    return None if word is None else known_program(_VERB_PROGRAMS[unit])(word, read)


def _iptables_init(name, family):
    data = "/etc/sysconfig/" + name

    def acts(argument, read, _environment=None):
        """RHEL's iptables.init: it restores the whole file at the start, and flushes every chain at the stop."""
        if argument in ("start", "reload"):
            return _restored(data, family, read)
        found = []
        if argument in ("stop", "restart", "condrestart", "try-restart", "force-reload"):
            found.append(Act("flush", (family,), _RHEL_TABLES, command="%s -t TABLE -F, -X" % name))
        if argument == "panic":
            found.append(Act("policy", (family,), _RHEL_TABLES, ("INPUT", "FORWARD", "OUTPUT"),
                             command="%s -P CHAIN DROP" % name))
        return found + (_restored(data, family, read)
                        if argument in ("restart", "condrestart", "try-restart", "force-reload") else [])
    return acts


def _openrc_init(name, family):
    def acts(argument, read, _environment=None):
        """Alpine's and Gentoo's init script: it loads the saved file at the start, and flushes at the stop."""
        settings = settings_of(read(OPENRC + name))
        path, line = settings.get("%s_SAVE" % name.upper(), ("", 0))
        found = []
        if argument in ("start", "restart", "reload") and path and "noflush" not in value_of(settings,
                                                                                             "SAVE_RESTORE_OPTIONS"):
            found += _restored(path, family, read)
        if argument in ("stop", "restart", "reload"):
            found.append(Act("flush", (family,), EVERY, command="%s -t TABLE -F, -X" % _tool(family)))
        for act in found:
            act.path, act.line = OPENRC + name, line
        return found
    return acts


def _restored(path, family, read):
    """The restore of a file without --noflush replaces every table that the file has."""
    saved = read_saved(read(path) or "", family)
    if saved is None or not saved.tables:
        return []
    return [Act("restore", (family,), saved.tables, comes_back="replaced", file=path,
                command="%s-restore < %s" % (_tool(family), path))]


def _tool(family):
    return "ip6tables" if family == IPV6 else "iptables"


def _netfilter_persistent(argument, read, environment=None):
    """Debian's netfilter-persistent with the plugins of iptables-persistent."""
    # The plugins read the file, so it overrides the environment of their unit.
    settings = {name: (value, 0) for name, value in (environment or {}).items()}
    settings.update(settings_of(read(_PERSISTENT)))
    found = []
    for plugin, family, path, switch in [each for each in _PLUGIN_FILES if read(each[0]) is not None] or _PLUGIN_FILES:
        if argument == "flush":
            found.append(Act("flush", (family,), EVERY, command="%s -t TABLE -F, -X" % _tool(family)))
        elif argument == "stop" and re.match(r"0*[1-9]", value_of(settings, "FLUSH_ON_STOP")):
            value, line = settings["FLUSH_ON_STOP"]
            found.append(Act("flush", (family,), EVERY, command="FLUSH_ON_STOP=" + value, path=_PERSISTENT, line=line))
        elif argument in ("start", "restart", "reload"):
            found += _loaded(path, family, read) if value_of(settings, switch) == "yes" else [
                _standing(act, plugin, read(plugin)) for act in _restored(path, family, read)]
    return found


def _standing(act, path, text):
    """The act of a plugin, with the line of the plugin that performs it, behind its loads with --test."""
    lines = [number for number, line in enumerate((text or "").split("\n"), 1)
             if re.search(r"^[^#]*tables-restore\b", line) and "--test" not in line]
    if lines:
        act.path, act.line, act.kind = path, lines[-1], "script"
    return act


def _ipvsadm_init(argument, read, _environment=None):
    """Debian's init script of ipvsadm: it does nothing unless AUTO=true."""
    settings = settings_of(read(_IPVSADM))
    if value_of(settings, "AUTO") != "true" or argument not in ("start", "stop", "restart", "clear"):
        return []
    return [Act("ipvs", BOTH, EVERY, (), command="AUTO=true", path=_IPVSADM, line=settings["AUTO"][1])]


def _loaded(path, family, read):
    """A file that is loaded with --noflush: its rules are added, and its own commands remove rules."""
    return [Act(LOAD, (family,), (), file=path)] + _flushed_by(path, family, read) if read(path) else []


def _flushed_by(path, family, read):
    """The commands in such a file that remove rules."""
    return [Act(found.sort, (family,), (found.table,), (found.chain,) if found.chain else EVERY, command=found.text,
                path=path, line=found.line) for found in flushing_commands(read(path) or "")]


def _ufw_init(argument, read, _environment=None):
    """ufw 0.36 changes only its own chains, unless MANAGE_BUILTINS=yes; with IPV6=no it replaces filter
    of IPv6 at its start."""
    settings = {}
    for path in UFW_SETTINGS:
        settings.update((name, (value, line, path)) for name, (value, line) in settings_of(read(path)).items())
    if value_of(settings, "ENABLED").lower() != "yes" and argument not in ("force-stop", "flush-all"):
        return []
    found = []
    if value_of(settings, "MANAGE_BUILTINS") == "yes" or argument == "flush-all":
        _value_, line, path = settings.get("MANAGE_BUILTINS", ("", 0, None))
        found.append(Act("flush", BOTH, ("filter",), command="MANAGE_BUILTINS=yes", path=path, line=line))
        found.append(Act("flush", BOTH, ("mangle", "nat"), ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
                         command="MANAGE_BUILTINS=yes", path=path, line=line))
    if argument in ("start", "restart", "force-reload"):
        if value_of(settings, "IPV6").lower() != "yes" and "IPV6" in settings:
            _value_, line, path = settings["IPV6"]
            found.append(Act("restore", (IPV6,), ("filter",), comes_back="replaced", command="IPV6=no", path=path,
                             line=line))
        for name in ("before", "after", "user"):
            for path in ("/etc/ufw/%s.rules" % name, "/etc/ufw/%s6.rules" % name):
                found += _flushed_by(path, family_of(path), read)
    return found


def _firewalld(argument, read, _environment=None):
    """firewalld flushes only its own table with nftables and without direct rules, otherwise all of iptables."""
    settings = settings_of(read(FIREWALLD))
    direct = re.search(r"<(?:rule|chain|passthrough)\b", read(DIRECT) or "")
    if argument == STOP and settings.get("CleanupOnExit", ("yes", 0))[0].lower() in ("no", "false"):
        return []
    if settings.get("FirewallBackend", ("nftables", 0))[0].lower() == "iptables":
        line = settings["FirewallBackend"][1]
        return [Act("flush", BOTH, EVERY, command="FirewallBackend=iptables", path=FIREWALLD, line=line)]
    if direct:
        line = (read(DIRECT) or "").count("\n", 0, direct.start()) + 1
        return [Act("flush", BOTH, EVERY, confidence=LIKELY, command="a direct rule", path=DIRECT, line=line)]
    return []


def value_of(settings, name):
    return settings[name][0] if name in settings else ""


_PROGRAMS = (("/iptables/iptables.init", _iptables_init("iptables", IPV4)),
             ("/iptables/ip6tables.init", _iptables_init("ip6tables", IPV6)),
             ("/netfilter-persistent", _netfilter_persistent), ("/ufw-init", _ufw_init), ("/firewalld", _firewalld),
             ("/init.d/ipvsadm", _ipvsadm_init)) + manager_acts(Act, settings_of)
_VERB_PROGRAMS = {
    "iptables.service": "/usr/libexec/iptables/iptables.init",
    "ip6tables.service": "/usr/libexec/iptables/ip6tables.init",
    "netfilter-persistent.service": "/usr/sbin/netfilter-persistent", "ufw.service": "/usr/lib/ufw/ufw-init"}
# (unit, verb of a firewall's own command) -> the argument of its program.
_VERBS = {
    ("iptables.service", "panic"): "panic", ("ip6tables.service", "panic"): "panic",
    ("netfilter-persistent.service", "flush"): "flush", ("netfilter-persistent.service", "reload"): "reload",
    ("ufw.service", "reload"): "restart", ("ufw.service", "enable"): "start", ("ufw.service", "disable"): "stop",
    ("ufw.service", "reset"): "stop"}
