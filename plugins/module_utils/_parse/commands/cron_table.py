# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of cron and anacron. PRIVATE to the collection.

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

from .embedded import BOOT, TIMER, Command, unquoted

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
