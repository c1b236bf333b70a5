# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in the configuration of daemons that run them when a state changes: keepalived, monit, OpenVPN, supervisord,
incron, acpid. PRIVATE to the collection.

Tables of cron and anacron.

Sample:
    IPT=/sbin/iptables
    # m h dom mon dow user command
    */5 * * * * root /opt/fw.sh
    @reboot     root $IPT -F
Grammar: cron man crontab(5); cronie and Debian's cron agree on it. A system crontab has a user before the command, a
user's crontab has none. Lines cannot be continued. The first `%` without a backslash ends the command; the rest is its
input, in which each further `%` begins a line.
"""

import re

from .embedded import BOOT, EVENT, TIMER, Command, literal, unquoted

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


_SETTING = re.compile(r"""\s*(?:"([^"=]+)"|'([^'=]+)'|([A-Za-z_]\w*))\s*=\s*(.*)\Z""")
# SUSE and cronie accept a `-` before an entry, which only keeps the entry out of the log.
_ENTRY = re.compile(r"-?(?:@(?P<name>\w+)|(?:[\d*~][^\s]*(?:\s+[\w*~/,?#-]+){4}))\s+(?P<rest>\S.*)\Z")
_ANACRON = re.compile(r"(?:\d+|@\w+)\s+\d+\s+\S+\s+(?P<rest>\S.*)\Z")
_AT_BOOT = "reboot"


def parse_cron_table(text, with_user=False):
    """[Command] of a crontab; `with_user` for `/etc/crontab` and `/etc/cron.d`."""
    return _entries(text, _ENTRY, with_user)


def parse_anacron_table(text):
    """[Command] of an `/etc/anacrontab`."""
    return _entries(text, _ANACRON, False)


def _entries(text, form, with_user):
    settings, found = {}, []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        entry = form.match(line)
        if entry is None:
            setting = _SETTING.match(line)
            if setting:
                settings[setting.group(1) or setting.group(2) or setting.group(3)] = unquoted(setting.group(4).strip())
            continue
        rest = entry.group("rest")
        if with_user:
            rest = "".join(rest.split(None, 1)[1:])
        if rest:
            when = BOOT if entry.groupdict().get("name") == _AT_BOOT else TIMER
            found.append(Command(number, _with_settings(_shell(rest), settings), when))
    return found


def _shell(rest):
    """The command with the input that cron gives it."""
    pieces = [piece.replace("\\%", "%") for piece in re.split(r"(?<!\\)%", rest)]
    if len(pieces) == 1:
        return pieces[0]
    return "%s <<< '%s'" % (pieces[0].rstrip(), "\n".join(pieces[1:]).replace("'", "'\\''"))


def _with_settings(text, settings):
    """The command, preceded by assignments of the table's settings that it uses."""
    used = [name for name in sorted(settings) if re.search(r"\$\{?%s\b" % re.escape(name), text)]
    return "".join("%s='%s'; " % (name, settings[name].replace("'", "'\\''")) for name in used) + text
