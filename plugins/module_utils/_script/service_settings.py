# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of firewall services, as the evidence reports them. PRIVATE to the collection.

`read` is a function: it returns the text of a file, None if the file does not exist or is not readable.
"""

import re

from .services import DIRECT, FIREWALLD, UFW_SETTINGS, settings_of, value_of


def firewalld_settings(read):
    """The settings of firewalld as the section reports them, or None if it is not installed."""
    text = read(FIREWALLD)
    if text is None:
        return None
    settings = settings_of(text)
    return {
        "backend": settings.get("FirewallBackend", ("nftables", 0))[0].lower(), "flush_all_on_reload": _is_on(
            settings, "FlushAllOnReload"), "cleanup_on_exit": _is_on(settings, "CleanupOnExit"),
        "direct_rules": len(re.findall(r"<(?:rule|chain|passthrough)\b", read(DIRECT) or "")),
    }


def _is_on(settings, name):
    return settings.get(name, ("yes", 0))[0].lower() not in ("no", "false")


def ufw_settings(read):
    """The settings of ufw as the section reports them, or None if it is not installed."""
    if read(UFW_SETTINGS[0]) is None:
        return None
    settings = {}
    for path in UFW_SETTINGS:
        settings.update(settings_of(read(path)))
    return {"enabled": value_of(settings, "ENABLED").lower() == "yes",
            "manage_builtins": value_of(settings, "MANAGE_BUILTINS") == "yes",
            "ipv6": value_of(settings, "IPV6").lower() == "yes"}


def savers(read):
    """[(path of the file that is written, path and line of the setting)]: RHEL's services that save all rules on their
    own."""
    found = []
    for name in ("iptables", "ip6tables"):
        path = "/etc/sysconfig/%s-config" % name
        for option in ("SAVE_ON_STOP", "SAVE_ON_RESTART"):
            value, line = settings_of(read(path)).get("%s_%s" % (name.upper(), option), ("", 0))
            if value == "yes":
                found.append(("/etc/sysconfig/" + name, "%s:%d" % (path, line)))
    return found
