# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sysctls in profiles of tuned. PRIVATE to the collection.

Sample:
    [main]
    include=throughput-performance
    [sysctl]
    net.netfilter.nf_conntrack_max = >262144   # only if that is more
Grammar: tuned/profiles/loader.py (ConfigParser with = and comments behind #), tuned/plugins/base.py
_process_assignment_modifiers().
"""

import re
from collections import namedtuple

from .sysctl_conf import path_of

# include: names; replaces: whether settings of included profiles are dropped; settings: [(key, value, line)].
Profile = namedtuple("Profile", "include replaces settings")

_SECTION = re.compile(r"\[([^\]]+)\]")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ABOUT_ITSELF = ("type", "replace", "enabled", "devices", "priority", "devices_udev_regex")
_OFF, _ON = ("0", "false", "no", "off"), ("1", "true", "yes", "on")


def parse_tuned_profile(text):
    """`Profile`; its settings come from sections whose type is sysctl, by their option `type` or, without one, by their
    name."""
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
    """The value after a profile assigns `value` to a key with the value `before` (an int, or None if unknown); None if
    that is not predictable."""
    value = value.strip("\"'")
    if "${" in value:
        return None
    if value[:1] not in "<>" or len(value) < 2:
        return value
    if before is None or not re.match(r"[0-9]{1,18}\Z", value[1:].strip()):
        return None
    limit = int(value[1:])
    return str(max(limit, before) if value[0] == ">" else min(limit, before))
