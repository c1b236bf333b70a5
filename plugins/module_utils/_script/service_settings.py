# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of firewall services, as the evidence reports them. PRIVATE to the collection.

`read` is a function: it returns the text of a file, None if the file does not exist or is not readable.
"""

import posixpath
import re

from .services import DIRECT, FIREWALLD, OPENRC, UFW_SETTINGS, settings_of, value_of

# Rules of ufw that accept forwarded packets; those for replies, ICMP and single ports do not let pods pass (ufw
# conf/before.rules, src/backend_iptables.py).
_FORWARDED = re.compile(r"^-[AI] (?:FORWARD|ufw6?-(?:before|user|after)-forward) (.*)-j ACCEPT\b", re.MULTILINE)
_LIMITED = re.compile(r"--(?:ct)?state (?!\S*NEW)|-p (?:ipv6-)?icmp|--[sd]?ports? ")
_UFW_RULES = tuple("/etc/ufw/%s%s.rules" % (name, six) for name in ("before", "user", "after") for six in ("", "6"))
_FORWARD = "DEFAULT_FORWARD_POLICY"
_ZONES = ("/etc/firewalld/zones", "/usr/lib/firewalld/zones")
_POLICIES = "/etc/firewalld/policies"
_ZONES_LIMIT = 100
# The name becomes that of a file.
_ZONE = re.compile(r"[\w-]{1,64}\Z")
# `[^<>]*` and _without_comments() keep the work below the square of a hostile file.
_ACCEPTS = re.compile(r"<zone\b[^<>]*\btarget=[\"']ACCEPT[\"']")
# Accepted between interfaces that are assigned to the zone, and before firewalld 1.0 (firewalld src/firewall/core/
# fw_zone.py _interface(), nftables.py build_policy_masquerade_rules()).
_MAY_PASS = re.compile(r"<(?:forward|masquerade)\b")
_MEMBERS = re.compile(r"<(?:source|interface)\b")


def firewalld_settings(read, names=lambda folder: ()):
    """The settings of firewalld as the section reports them, or None if it is not installed; `names(folder)`: those of
    its files, None where it was not read."""
    text = read(FIREWALLD)
    if text is None:
        return None
    settings = settings_of(text)
    forward, forward_by = _zone_forwards(settings.get("DefaultZone", ("", 0))[0] or "public", read, names)
    return {
        "forward": forward, "forward_by": forward_by,
        "backend": settings.get("FirewallBackend", ("nftables", 0))[0].lower(), "flush_all_on_reload": _is_on(
            settings, "FlushAllOnReload"), "cleanup_on_exit": _is_on(settings, "CleanupOnExit"),
        "direct_rules": len(re.findall(r"<(?:rule|chain|passthrough)\b", read(DIRECT) or ""))}


def _is_on(settings, name):
    return settings.get(name, ("yes", 0))[0].lower() not in ("no", "false")


def _zone_forwards(zone, read, names):
    """(whether packets between two interfaces without a zone, such as those of pods, pass; the file of the default
    zone). None where that depends on the interfaces and addresses of the node, or on zones that were not read."""
    name = zone + ".xml"
    if not _ZONE.match(zone):
        return None, None
    path = next((found for found in (posixpath.join(folder, name) for folder in _ZONES) if read(found) is not None),
                None)
    if path is None:
        return None, None
    text, listed = _without_comments(read(path)), names(_ZONES[0])
    others = [other for other in listed or () if other != name and other.endswith(".xml")]
    own = [_without_comments(read(posixpath.join(_ZONES[0], other)) or "") for other in others[:_ZONES_LIMIT]]
    if _ACCEPTS.search(text) or any(_ACCEPTS.search(other) and _MEMBERS.search(other) for other in own):
        return True, path
    unsure = (listed is None or len(others) > _ZONES_LIMIT or names(_POLICIES) or _MAY_PASS.search(text)
              or any(map(_MEMBERS.search, own)))
    return None if unsure else False, path


def _without_comments(text):
    first, *others = text.split("<!--")
    return first + "".join(other.partition("-->")[2] for other in others)


def ufw_settings(read):
    """The settings of ufw as the section reports them, or None if it is not installed."""
    if read(UFW_SETTINGS[0]) is None:
        return None
    settings, forward_by = {}, None
    for path in UFW_SETTINGS:
        found = settings_of(read(path))
        settings.update(found)
        if _FORWARD in found:
            forward_by = "%s:%d" % (path, found[_FORWARD][1])
    routes = any(not _LIMITED.search(matches) for path in _UFW_RULES
                 for matches in _FORWARDED.findall(read(path) or ""))
    return {"forward_policy": value_of(settings, _FORWARD).upper() or None, "forward_by": forward_by, "routes": routes,
            "enabled": value_of(settings, "ENABLED").lower() == "yes",
            "manage_builtins": value_of(settings, "MANAGE_BUILTINS") == "yes",
            "ipv6": value_of(settings, "IPV6").lower() == "yes"}


def savers(read):
    """[(path that is written, path and line of the setting)]: services of RHEL and OpenRC that save all rules."""
    found = []
    for name in ("iptables", "ip6tables"):
        path = "/etc/sysconfig/%s-config" % name
        for option in ("SAVE_ON_STOP", "SAVE_ON_RESTART"):
            value, line = settings_of(read(path)).get("%s_%s" % (name.upper(), option), ("", 0))
            if value == "yes":
                found.append(("/etc/sysconfig/" + name, "%s:%d" % (path, line)))
        # Alpine and Gentoo, where the service has the name of the file.
        path, settings = OPENRC + name, settings_of(read(OPENRC + name))
        value, line = settings.get("SAVE_ON_STOP", ("", 0))
        target = value_of(settings, "%s_SAVE" % name.upper())
        if value == "yes" and target.startswith("/"):
            found.append((target, "%s:%d" % (path, line)))
    return found
