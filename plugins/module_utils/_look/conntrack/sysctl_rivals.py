# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that set sysctls after sysctl.d was read: ufw, docker and tuned.

ufw applies the files that IPT_SYSCTL of /etc/default/ufw names after its rules, where ENABLED is yes (ufw
src/ufw-init-functions ufw_start()); its rules load nf_conntrack. dockerd turns forwarding on unless it is configured
not to (moby libnetwork/drivers/bridge)."""

from ..._conntrack.keys import FORWARD
from ..._conntrack.predict import Write, number
from ..._host.host import ABSENT
from ..._names import UNCOLLECTED
from ..._parse.assignments import parse_assignments
from ..._parse.sysctl_conf import assigned, parse_sysctl_conf, parse_tuned_profile

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
