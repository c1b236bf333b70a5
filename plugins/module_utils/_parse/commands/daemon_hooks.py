# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in the configuration of daemons that run them when a state changes: keepalived, monit, OpenVPN, supervisord,
incron, acpid. PRIVATE to the collection."""

import re

from .embedded import BOOT, EVENT, TIMER, Command, literal

# Samples:
#     notify_backup "/etc/keepalived/to_backup.sh eth0" root         keepalived
#     if status != 0 then exec "/bin/sh -c 'iptables -F'"            monit
#     up "/etc/openvpn/up.sh tun0"                                   OpenVPN
# None of them but acpid uses a shell: a quoted value is a command with its arguments. keepalived: keepalived
# core/global_parser.c, vrrp/vrrp_parser.c, check/check_parser.c (`#` and `!` begin a comment); a value without quotes
# ends at the first blank, and a user follows. Only `notify` gets arguments: type, name, state, priority.
_KEEPALIVED = re.compile(
    r"[ \t]*(notify(?:_(?:master|backup|fault|stop|deleted|master_rx_lower_pri|up|down))?|quorum_(?:up|down)|"
    r"(?:startup|shutdown)_script|script|misc_path|(?:(?:lvs|vrrp)_)?notify_fifo_script)[ \t]+(?:\"([^\"\n]*)\"|"
    r"'([^'\n]*)'|([^\s\"'{#!]\S*))")
_WHEN = {"script": TIMER, "misc_path": TIMER, "startup_script": BOOT}
_STATE = ' "$TYPE" "$NAME" "$STATE" "$PRIORITY"'
# monit src/p.y, src/l.l: noise words such as `program`, `with` and `=` may be left out; `check program NAME path PATH`.
_MONIT = re.compile(
    r"(?:\b(?:start|stop|restart)(?:[ \t]+program)?[ \t]*=?|\bexec|(check[ \t]+program[ \t]+\S+[ \t]+(?:with[ \t]+)?"
    r"path))[ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|(?<=[ \t=])(/\S+))", re.IGNORECASE)
# OpenVPN src/openvpn/options.c; without `script-security 2` it runs none of them.
_OPENVPN = re.compile(
    r"[ \t]*(?:up|down|route-up|route-pre-down|ipchange|client-(?:connect|disconnect)|learn-address)[ \t]+"
    r"(?:\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)'|(/\S+))")
_ACPI = re.compile(r"[ \t]*action[ \t]*=[ \t]*(\S.*)")
_SUPERVISOR = re.compile(r"[ \t]*command[ \t]*=[ \t]*(\S.*)")
_INCRON = re.compile(r"[ \t]*/\S+[ \t]+[A-Z0-9_,=]+[ \t]+(\S.*)")


def parse_keepalived_conf(text):
    """[Command]; scripts that it tracks run all the time."""
    found = []
    for number, line in _lines(text, "#!"):
        match = _KEEPALIVED.match(line)
        words = literal(next(filter(None, match.groups()[1:]), "")) if match else ""
        if words:
            found.append(Command(number, words + _STATE * (match.group(1) == "notify"),
                                 _WHEN.get(match.group(1), EVENT)))
    return found


def parse_monit_conf(text):
    """[Command]; the program of `check program` runs in each cycle."""
    found = []
    for number, line in _lines(text, "#"):
        for check, *values in _MONIT.findall(line):
            words = literal(next(filter(None, values), ""))
            if words:
                found.append(Command(number, words, TIMER if check else EVENT))
    return found


def parse_openvpn_conf(text):
    """[Command]."""
    return _of_lines(text, "#;", _OPENVPN, EVENT)


def parse_supervisor_conf(text):
    """[Command]: programs that start with the daemon."""
    return _of_lines(text, "#;", _SUPERVISOR, BOOT)


def parse_incron_table(text):
    """[Command]; `$@`, `$#` and `$%` stand for names of what changed."""
    return _of_lines(text, "#", _INCRON, EVENT)


def parse_acpi_events(text):
    """[Command], which a shell reads."""
    return [Command(number, match.group(1), EVENT)
            for number, line in _lines(text, "#") for match in [_ACPI.match(line)] if match]


def _of_lines(text, comments, pattern, when):
    found = [(number, literal(next(filter(None, match.groups()), "")))
             for number, line in _lines(text, comments) for match in [pattern.match(line)] if match]
    return [Command(number, words, when) for number, words in found if words]


def _lines(text, comments):
    """(number, line) without whole lines that are comments."""
    return [(number, line) for number, line in enumerate(text.split("\n"), 1)
            if line.strip() and line.lstrip()[0] not in comments]
