# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drop-in that removes the flushing commands from a unit. PRIVATE to the collection.

An empty assignment clears a list of commands, the assignments after it form the new list (systemd man systemd.service,
ExecStart=). Drop-ins are read in the order of their names, so ours has to be the last one.
"""

import re

from ..._parse.commands.embedded import shell_words
from ..._parse.systemd.unit import parse_unit
from ..script import read_script
from . import removal

NAME = "zz-kubenode-netfilter.conf"
FOLDER = "/etc/systemd/system"
HEADER = ("# Takes what flushes the rules of Kubernetes out of this unit. Written by kubenode.netfilter.flush_hooks; "
          "changes are overwritten.\n")

START_KEYS = ("ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost")
_UNIT_KEYS = ("Before", "RefuseManualStart", "RefuseManualStop")
_SHELL = re.compile(r"(?:.*/)?(?:ba|da|k|a)?sh\Z")
# Matches a list of commands that became empty.
_EMPTY = re.compile(r"(?:[\s;&|:]|\btrue\b)*\Z")


class DropIn:
    """`commands` {key: [prefixes and text]} of the lists that are replaced, `before` units, `refuse` manual starts and
    stops, `environment` words."""

    def __init__(self):
        self.commands, self.before, self.environment, self.refuse = {}, [], [], False

    def text(self):
        unit = ["Before=" + name for name in self.before]
        if self.refuse:
            unit += ["RefuseManualStart=yes", "RefuseManualStop=yes"]
        service = ["Environment=" + word for word in self.environment]
        for key in sorted(self.commands):
            service += [key + "="] + ["%s=%s" % (key, command) for command in self.commands[key]]
        return HEADER + "".join("[%s]\n%s\n" % (name, "\n".join(lines))
                                for name, lines in (("Unit", unit), ("Service", service)) if lines)


def path_of(unit):
    """The path of the drop-in of a unit."""
    return "%s/%s.d/%s" % (FOLDER, unit, NAME)


def read_drop_in(text):
    """`DropIn` of a text that DropIn.text() wrote."""
    found = DropIn()
    for assignment in parse_unit(text.encode("utf-8", "surrogateescape")).assignments:
        if assignment.section == "Service" and assignment.key == "Environment":
            found.environment.append(assignment.text)
        elif assignment.section == "Service":
            commands = found.commands.setdefault(assignment.key, [])
            commands += [assignment.text] if assignment.text else []
        elif assignment.key == "Before":
            found.before.append(assignment.text)
        elif assignment.key in _UNIT_KEYS:
            found.refuse = True
    return found


def sorts_behind(path):
    """Whether a drop-in of this path is read after ours."""
    return path.rsplit("/", 1)[-1] > NAME


def noflush_start(argv, settings, knows_switch, loadable, program):
    """The start of a distribution's firewall without flushing: (commands, words of the environment), or None.

    `program(name)` returns the path of a program, `loadable(path)` returns whether a saved rule set flushes nothing by
    itself (None: the file does not exist). `settings`: the names that /etc/default/netfilter-persistent sets, which
    override the environment; `knows_switch`: whether its plugins support the switch.
    """
    path = argv[0] if argv else ""
    for ending, files in _RESTORED:
        if path.endswith(ending):
            there = [(program(name), saved) for name, saved in files if loadable(saved) is not None]
            if not all(loadable(saved) for _program, saved in there):
                return None
            # Without its program the rules were not restored before either.
            return ["%s --noflush %s" % (found, saved) for found, saved in there if found], []
    if path.endswith("/netfilter-persistent") and knows_switch and not settings.intersection(_SWITCHES):
        return None, [name + "=yes" for name in _SWITCHES]
    return None


# Program of a unit -> what it restores: Azure Linux and Photon (SPECS/iptables), RHEL's iptables.init, which has a unit
# for each family.
_RESTORED = (
    ("/etc/systemd/scripts/iptables",
     (("iptables-restore", "/etc/systemd/scripts/ip4save"), ("ip6tables-restore", "/etc/systemd/scripts/ip6save"))),
    ("/iptables/iptables.init", (("iptables-restore", "/etc/sysconfig/iptables"),)),
    ("/iptables/ip6tables.init", (("ip6tables-restore", "/etc/sysconfig/ip6tables"),)))
# Debian's plugins of iptables-persistent read these from the environment (15-ip4tables, 25-ip6tables).
_SWITCHES = ("IPTABLES_RESTORE_NOFLUSH", "IP6TABLES_RESTORE_NOFLUSH")


# A command line of a unit without its flushing commands.
# A part of the line is edited only if it is written there exactly as its shell reads it.
def without_flush(text, argv, restores):
    """`text` (after its prefixes) without its commands that destroy rules, perhaps `""`; None if it cannot be edited.

    `restores`: a restore command gets `--noflush` and stays; otherwise it is removed as well.
    """
    script = _script_of(argv)
    effects = read_script(script if script is not None else shell_words(argv)).effects
    kept = [effect for effect in effects if restores and effect.sort == "restore" and effect.comes_back != "saved"]
    gone = [effect for effect in effects if effect not in kept]
    if not effects:
        return None
    if script is None:
        return "" if not kept or gone else _with_noflush(text, [text])
    if _EMPTY.match(removal.edited(script, [effect.span for effect in gone], nothing=removal.NOTHING)):
        return ""
    for effect in gone:
        source = _written(text, script[effect.span[0]:effect.span[1]])
        text = text.replace(source, removal.NOTHING) if source else None
    return _with_noflush(text, [script[effect.span[0]:effect.span[1]] for effect in kept])


def _script_of(argv):
    """The script that a shell runs with -c, or None for a line without a shell."""
    options = zip(argv[1:], argv[2:]) if argv and _SHELL.match(argv[0]) else ()
    return next((word for option, word in options if re.match(r"-[a-z]*c\Z", option)), None)


def _with_noflush(text, sources):
    for source in sources:
        source = _written(text, source)
        place = removal.noflush_at(source) if source else None
        if place is None:
            return None
        place += text.index(source)
        text = text[:place] + " --noflush" + text[place:]
    return text


def _written(text, source):
    """The source as it stands in the line, or None: systemd turns two dollar signs into one (man systemd.service)."""
    forms = [form for form in (source, source.replace("$", "$$")) if text is not None and text.count(form) == 1]
    return forms[-1] if forms else None
