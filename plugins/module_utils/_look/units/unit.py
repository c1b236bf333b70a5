# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One unit of systemd with its drop-ins, merged as systemd merges them."""

from ..._host.host import ABSENT, OK
from ..._parse.systemd.exec import parse_exec
from ..._parse.systemd.unit import merge_assignments

EXEC_KEYS = ("ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost")
_YES, _NO = ("1", "yes", "y", "true", "t", "on"), ("0", "no", "n", "false", "f", "off")


class Unit:
    """One unit: `name` (the one systemd uses), `aliases`, `path`, `drop_ins` (paths, in the order they are read),
    `masked`. `unread` is `[(path, status)]` of files that apply and could not be read, `broken` is `[(path, line)]`
    where systemd stops reading a file. In a drop-in the lines before that line apply; a unit whose own file is broken
    cannot be started (`refused`)."""

    def __init__(self, name, path, masked=False):
        self.name, self.path, self.masked = name, path, masked
        self.aliases, self.drop_ins, self.unread, self.broken = [], [], [], []
        self._merged = {}

    def take(self, texts):
        """Merge `[(path, status, UnitText)]`, the unit's own file first."""
        self.unread += [(path, status) for path, status, _text in texts if status not in (OK, ABSENT)]
        self.broken = [(path, text.broken) for path, _status, text in texts if text.broken]
        self._merged = merge_assignments([(path, text.assignments) for path, _status, text in texts])

    @property
    def refused(self):
        return any(path == self.path for path, _line in self.broken)

    def values(self, section, key):
        """[Value] that count, empty assignments applied."""
        return self._merged.get((section, key), [])

    def last(self, section, key, default=None):
        """Text of the last value, which is the one that counts where a key takes only one."""
        values = self.values(section, key)
        return values[-1].text if values else default

    def yes(self, section, key, default=False):
        """A switch: the last value that systemd's parse_boolean() understands."""
        assigned = [word for word in (value.text.lower() for value in self.values(section, key)) if word in _YES + _NO]
        return assigned[-1] in _YES if assigned else default

    def words(self, section, key):
        """The words of all values, as of dependencies: names divided by blanks."""
        return [word for value in self.values(section, key) for word in value.text.split()]

    def exec_lines(self):
        """[ExecLine] of the commands of a service or a socket, in the order of EXEC_KEYS."""
        section = "Socket" if self.name.endswith(".socket") else "Service"
        return [line for key in EXEC_KEYS for value in self.values(section, key)
                for line in parse_exec(key, value, self.name)]
