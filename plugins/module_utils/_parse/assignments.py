# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of assignments: what a shell and /etc/os-release have in common. PRIVATE to the collection.

Files of sysctl.d, and the sysctls in the profiles of tuned.

Sample:
    # comment, as ; is
    net.netfilter.nf_conntrack_max = 262144
    -net/ipv4/conf/eth0.100/rp_filter = 2
    net.ipv4.conf.*.rp_filter = 2
    -net.ipv4.conf.lo.rp_filter
Grammar: systemd src/sysctl/sysctl.c parse_file(), src/shared/sysctl-util.c sysctl_normalize().
"""

import fnmatch
import re
import shlex
from collections import namedtuple

# Files of shell assignments, from which services read their settings.
_PAIR = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*[\"']?([^\"'#\n]*)", re.M)


def parse_assignments(text):
    """{name: value}; the last assignment of a name counts. Quotes are removed, nothing is expanded."""
    return {name: value.strip() for name, value in _PAIR.findall(text)}


# os-release: which distribution this is.
# Sample: `VERSION_ID="12"`. Grammar: man os-release, shell-like assignments.
def parse_os_release(text):
    """{KEY: value}; lines that are not assignments are skipped, as the format requires."""
    values = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if not equals or not key or key.startswith("#"):
            continue
        try:
            words = shlex.split(value, posix=True)
        except ValueError:
            continue  # An open quote: the value is unknown.
        values[key] = words[0] if words else ""
    return values


# key: path below /proc/sys, possibly a pattern; value: None for a line that excludes a key from patterns; line: from 1.
Setting = namedtuple("Setting", "key value line")

_BLANKS = " \t\r\n"
_LINE_END = re.compile(r"\r\n|[\n\r\0]")
_SEPARATOR = re.compile(r"[./]")
_PATTERN = re.compile(r"[*?\[]")
_SWAPPED = {ord("."): "/", ord("/"): "."}
# include: names; replaces: whether settings of included profiles are dropped; settings: [(key, value, line)].
Profile = namedtuple("Profile", "include replaces settings")

_SECTION = re.compile(r"\[([^\]]+)\]")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ABOUT_ITSELF = ("type", "replace", "enabled", "devices", "priority", "devices_udev_regex")
_OFF, _ON = ("0", "false", "no", "off"), ("1", "true", "yes", "on")


def parse_sysctl_conf(text):
    """[Setting] in the order of the file; an invalid line is skipped, as systemd-sysctl does with a warning."""
    settings = []
    for number, line in enumerate(_LINE_END.split(text), 1):
        line = line.strip(_BLANKS)
        if not line or line[0] in "#;" or ("=" not in line and line[0] != "-"):
            continue
        key, equals, value = (line[1:] if line[0] == "-" else line).partition("=")
        settings.append(Setting(path_of(key.strip(_BLANKS)), value.strip(_BLANKS) if equals else None, number))
    return settings


def path_of(key):
    """The key as a path: its first separator decides which of the two notations it uses."""
    first = _SEPARATOR.search(key)
    if first and first.group() == ".":
        key = key.translate(_SWAPPED)
    return "/".join(part for part in key.split("/") if part not in ("", "."))


def is_pattern(key):
    return _PATTERN.search(key) is not None


def fits(pattern, key):
    """Whether a pattern matches a key: part by part, because in glob(3) * does not match a slash."""
    patterns, parts = pattern.replace("[^", "[!").split("/"), key.split("/")
    return len(patterns) == len(parts) and all(fnmatch.fnmatchcase(part, wanted)
                                               for part, wanted in zip(parts, patterns))


# The sysctls in profiles of tuned.
# Sample:
#     [main]
#     include=throughput-performance
#     [sysctl]
#     net.netfilter.nf_conntrack_max = >262144   # only if that is more
# Grammar: tuned/profiles/loader.py (ConfigParser with = and comments behind #), tuned/plugins/base.py
# _process_assignment_modifiers().
def parse_tuned_profile(text):
    """`Profile`; its settings are of sections with the type sysctl, by their option `type` or by their name."""
    sections, name = {}, None
    for number, line in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", line).strip()
        found = _SECTION.match(line)
        if found:
            name = found.group(1)
        elif name and "=" in line and line[0] != ";":
            key, _equals, value = line.partition("=")
            sections.setdefault(name, []).append((key.strip(), value.strip(), number))
    include = {key: value for key, value, _line in sections.get("main", [])}.get("include", "")
    replaces, settings = False, []
    for name in sorted(sections):
        about = {key: value.lower() for key, value, _line in sections[name] if key in _ABOUT_ITSELF}
        if about.get("type", name) == "sysctl" and about.get("enabled") not in _OFF:
            replaces = replaces or about.get("replace") in _ON
            settings += [(path_of(key), value, line) for key, value, line in sections[name] if key not in _ABOUT_ITSELF]
    return Profile([word for word in re.split(r"\s*[,;]\s*", include) if word], replaces, settings)


def assigned(value, before):
    """The value after a profile assigns `value` to a key with the value `before`, an int or None; None if that
    is not predictable."""
    value = value.strip("\"'")
    if "${" in value:
        return None
    if value[:1] not in "<>" or len(value) < 2:
        return value
    if before is None or not re.match(r"[0-9]{1,18}\Z", value[1:].strip()):
        return None
    limit = int(value[1:])
    return str(max(limit, before) if value[0] == ">" else min(limit, before))
