# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sysctls that tuned sets at its start. PRIVATE to the collection.

tuned applies its profile with the profiles that it includes. Then, unless reapply_sysctl is off, it applies
/run/sysctl.d, /etc/sysctl.d and /etc/sysctl.conf again, but no directory below /usr (tuned/plugins/plugin_sysctl.py,
tuned/profiles/loader.py and locator.py).
"""

from ..._conntrack.predict import Write, number
from ..._parse.assignments import parse_assignments
from ..._parse.sysctl_conf import parse_sysctl_conf
from ..._parse.tuned_profile import assigned, parse_tuned_profile

_ACTIVE = "/etc/tuned/active_profile"
_FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
_REAPPLIED = ("/run/sysctl.d", "/etc/sysctl.d")
_PROFILES_LIMIT = 16
_OFF = ("0", "false", "no", "off")


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
