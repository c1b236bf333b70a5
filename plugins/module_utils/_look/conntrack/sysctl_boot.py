# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sysctls that systemd-sysctl sets at boot.

The files of all directories are read in the order of their base names; the last assignment of a key wins. A pattern
applies only to keys that no line names; a line that is only `-key` names its key too. A line that repeats the value of
an earlier line stays in the place of the earlier one (systemd src/sysctl/sysctl.c). /etc/sysctl.conf counts where a
link in sysctl.d leads to it, and with other inits (procps sysctl --system). A key may have several names: then the last
line that writes one of them counts.

Programs that set sysctls after sysctl.d was read: ufw, docker and tuned.

ufw applies the files that IPT_SYSCTL of /etc/default/ufw names after its rules, where ENABLED is yes (ufw
src/ufw-init-functions ufw_start()); its rules load nf_conntrack. dockerd turns forwarding on unless it is configured
not to (moby libnetwork/drivers/bridge).
"""

from collections import OrderedDict

from ..._conntrack.keys import FORWARD
from ..._conntrack.predict import Assignment, Write, number
from ..._host.host import ABSENT, UNPARSED
from ..._names import UNCOLLECTED
from ..._parse.assignments import assigned, fits, is_pattern, parse_assignments, parse_sysctl_conf, parse_tuned_profile
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
        for position, path in enumerate(paths + ([] if loader == "systemd" else [OLD_FILE])):
            if position >= FILES_LIMIT or left <= 0:
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


_OF_RULES = "net/netfilter/"
DAEMON_JSON, _FORWARDS = "/etc/docker/daemon.json", "ip-forward"
# The link that `systemctl enable` creates for each of the three.
_WANTED = "/etc/systemd/system/multi-user.target.wants/%s.service"
_ACTIVE = "/etc/tuned/active_profile"
_FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
_REAPPLIED = ("/run/sysctl.d", "/etc/sysctl.d")
_PROFILES_LIMIT = 16
_OFF = ("0", "false", "no", "off")


def rival_writes(host, loader):
    """[Write] in the order in which they happen."""
    writes = _ufw(host) if _starts(host, loader, "ufw") else []
    if _starts(host, loader, "docker"):
        writes += _dockerd(host)
    if _starts(host, loader, "tuned"):
        writes += tuned_writes(host)
    return writes


def _starts(host, loader, service):
    """Whether it starts at boot, as far as the links show. A part of a node's files may have the link alone."""
    if loader in ("systemd", "unknown") and host.read_link(_WANTED % service) is not None:
        return True
    return loader != "systemd" and host.exists("/etc/init.d/" + service)


def _ufw(host):
    if parse_assignments(host.read_text("/etc/ufw/ufw.conf").text).get("ENABLED") not in ("yes", "YES"):
        return []
    writes = []
    for path in parse_assignments(host.read_text("/etc/default/ufw").text).get("IPT_SYSCTL", "").split():
        for row in parse_sysctl_conf(host.read_text(path).text) if path[0] == "/" else ():
            if row.value is not None:
                writes.append(Write(row.key, "ufw (%s:%d)" % (path, row.line), _always(number(row.value)),
                                    row.key.startswith(_OF_RULES)))
    return writes


def _always(value):
    return lambda before: value


def _dockerd(host):
    forwards = _forwards(host, host.read_text(DAEMON_JSON))
    if forwards is None:
        # It writes 1 or nothing.
        return [Write(FORWARD, "docker", lambda before: 1 if before == 1 else None, True)]
    return [Write(FORWARD, "docker", _always(1), True)] if forwards else []


def _forwards(host, text):
    """Whether dockerd turns forwarding on, which it does by default; None where its configuration cannot be read."""
    if not text.ok:
        return True if text.status in (ABSENT, UNCOLLECTED) else None
    if not text.text.strip():
        return True  # The JSON parser is compiled only where there is some JSON.
    from ..._parse.yaml.parse_yaml import parse_yaml, plain_value
    documents = parse_yaml(text.text)
    problem = next((document.problem for document in documents if document.problem), None)
    fields = plain_value(documents[0].root, 1) if len(documents) == 1 else None
    value = fields.get(_FORWARDS, True) if isinstance(fields, dict) else None
    if problem or not isinstance(value, bool):
        host.note(DAEMON_JSON, "could not be read: %s" % (
            problem or "it is no object, or %s is no boolean" % _FORWARDS))
        return None
    return value


# The sysctls that tuned sets at its start.
# tuned applies its profile with the profiles that it includes. Then, unless reapply_sysctl is off, it applies
# /run/sysctl.d, /etc/sysctl.d and /etc/sysctl.conf again, but no directory below /usr (tuned/plugins/plugin_sysctl.py,
# tuned/profiles/loader.py and locator.py).
def tuned_writes(host):
    """[Write] in the order in which they happen."""
    settings, seen = {}, []
    for name in host.read_text(_ACTIVE).text.split()[:_PROFILES_LIMIT]:
        _take(host, name, seen, settings)
    writes = [Write(key, "tuned (%s:%d)" % (path, line), _modified(value), False)
              for key, (value, path, line) in sorted(settings.items())]
    if not writes or parse_assignments(host.read_text("/etc/tuned/tuned-main.conf").text).get("reapply_sysctl",
                                                                                              "1").lower() in _OFF:
        return writes
    return writes + [Write(row.key, "tuned (%s:%d)" % (path, row.line), _modified(row.value), False)
                     for path in _reapplied(host) for row in parse_sysctl_conf(host.read_text(path).text)
                     if row.value is not None]


def _take(host, name, seen, settings):
    """The settings of the profiles that a profile includes, then its own. A profile that includes its own name includes
    the file of that name that it hides."""
    places = ("%s/%s/tuned.conf" % (folder, name.rpartition("/")[2]) for folder in _FOLDERS)
    path = next((place for place in places if place not in seen and host.is_file(place)), None)
    if path is None or len(seen) >= _PROFILES_LIMIT:
        return
    seen.append(path)
    profile = parse_tuned_profile(host.read_text(path).text)
    for included in profile.include:
        _take(host, included, seen, settings)
    if profile.replaces:
        settings.clear()
    settings.update((key, (value, path, line)) for key, value, line in profile.settings)


def _modified(value):
    def apply(before):
        left = assigned(value, before if isinstance(before, int) else None)
        return None if left is None else number(left)
    return apply


def _reapplied(host):
    chosen = {}
    for folder in _REAPPLIED:
        for base in host.list_dir(folder)[1]:
            if base.endswith(".conf"):
                chosen.setdefault(base, folder + "/" + base)
    return [chosen[base] for base in sorted(chosen)] + ["/etc/sysctl.conf"]
