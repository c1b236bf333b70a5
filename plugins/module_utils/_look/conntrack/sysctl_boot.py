# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sysctls that systemd-sysctl sets at boot.

The files of all directories are read in the order of their base names; the last assignment of a key wins. A pattern
applies only to keys that no line names; a line that is only `-key` names its key too. A line that repeats the value of
an earlier line stays in the place of the earlier one (systemd src/sysctl/sysctl.c). /etc/sysctl.conf counts where a
link in sysctl.d leads to it, and with other inits (procps sysctl --system). A key may have several names: then the last
line that writes one of them counts."""

from collections import OrderedDict

from ..._conntrack.predict import Assignment
from ..._host.host import ABSENT, UNPARSED
from ..._names import UNCOLLECTED
from ..._parse.sysctl_conf import fits, is_pattern, parse_sysctl_conf
from ..conf_dirs import effective_files, is_masked, passed_over

UNIT = "systemd-sysctl.service"
UNIT_DIRECTORIES = ("/etc/systemd/system", "/run/systemd/system")
OLD_FILE = "/etc/sysctl.conf"
# A node has about fifty files of a few kilobytes. A line beyond these limits is not read, and may be the last of a key.
FILES_LIMIT = 10000
CHARACTERS_LIMIT = 4 * 1024 * 1024
_LATE = "not read: the files before it hold %d KiB, or are %d" % (CHARACTERS_LIMIT // 1024, FILES_LIMIT)


def values_of(host, path):
    """{key: value} of one file, patterns and lines without a value left out."""
    return OrderedDict((row.key, row.value) for row in parse_sysctl_conf(host.read_text(path).text)
                       if row.value and not is_pattern(row.key))


class SysctlBoot:
    """`status` as of effective_files, or of a file that could not be read; `masked`: whether the service that reads the
    files at boot is masked."""

    def __init__(self, host, loader):
        with host.noting() as unlisted:
            self.status, paths = effective_files(host, "sysctl.d")
            self.masked = loader == "systemd" and any(is_masked(host, folder + "/" + UNIT)
                                                      for folder in UNIT_DIRECTORIES)
        self._held = OrderedDict()
        self._in_place = loader == "systemd"
        # A bundle may hold one file of many; then a key that none of its files sets may be set by another one.
        self.whole = UNCOLLECTED not in (_seen(host, "/etc"), _seen(host, "/usr/lib", "/lib"))
        # Whether any file may hold the last assignment of a key, whether an unreadable file so far may hold it, and the
        # keys that are set after that file.
        self._may_all, self._may_one, self._behind = bool(unlisted), False, set()
        left = CHARACTERS_LIMIT
        for number, path in enumerate(paths + ([] if loader == "systemd" else [OLD_FILE])):
            if number >= FILES_LIMIT or left <= 0:
                self.status = UNPARSED
                self._may_all = True
                host.note(path, _LATE)
                break
            text = host.read_text(path)
            if text.status in (ABSENT, UNCOLLECTED):
                continue  # A broken link sets nothing, but hides files of its name in lower directories.
            left -= len(text.text)
            if not text.ok:
                self.status = text.status
                self._may_one, self._behind = True, set()
                continue
            for setting in parse_sysctl_conf(text.text):
                self._take(setting, path)

    def _take(self, setting, path):
        if not is_pattern(setting.key) and setting.value:
            self._behind.add(setting.key)
        if self._in_place and setting.key in self._held and self._held[setting.key].value == setting.value:
            return
        self._held.pop(setting.key, None)
        self._held[setting.key] = Assignment(setting.value, "%s:%d" % (path, setting.line))

    def is_certain(self, *names):
        """Whether the value of a key does not depend on files that could not be read; a line that names a key counts
        before all patterns."""
        return not self._may_all and (not self._may_one or not self._behind.isdisjoint(names))

    def assignment(self, *names):
        """The `Assignment` of a key with all its `names` (`net/netfilter/nf_conntrack_max`), or None; one without a
        value counts as None."""
        found = None
        unnamed = [name for name in names if name not in self._held]
        for written, each in self._held.items():
            # An empty value changes no number: the value of an earlier line stays.
            if each.value and (written in names or unnamed and is_pattern(written)
                               and any(fits(written, name) for name in unnamed)):
                found = each
        return found


def passed_over_lines(host):
    """{key: `Assignment`} of files that are not read, because their names do not end in .conf."""
    return {row.key: Assignment(row.value, "%s:%d" % (path, row.line)) for path, text in passed_over(host, "sysctl.d")
            for row in parse_sysctl_conf(text) if row.value}


def _seen(host, *parents):
    """The status of the first of these directories whose sysctl.d is there or may be listed."""
    statuses = [host.list_dir(parent + "/sysctl.d")[0] for parent in parents]
    return next((status for status in statuses if status != UNCOLLECTED), UNCOLLECTED)
