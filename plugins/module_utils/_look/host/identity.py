# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The identity of a tree: its place, its system, its kernel. Every look begins with it; the rest of the section
node_host is in host.py. PRIVATE to the collection."""

import re

from ..._host.host import ABSENT, OK, Text
from ..._parse.os_release import parse_os_release
from .place import detect_place

# Longer than any valid field of os-release.
FIELD_LIMIT = 200
_INITS = {"systemd": "systemd", "openrc-init": "openrc", "init": "sysvinit"}


def identify(host, place=None):
    """The part of the section node_host that other sections need. `place` forces a kind of place; by default it is
    detected."""
    found, reason = (place, "given as an option") if place else detect_place(host)
    os_release = host.read_text("/etc/os-release")
    if not os_release.ok:
        os_release = host.read_text("/usr/lib/os-release")
    system = {key: value[:FIELD_LIMIT] for key, value in parse_os_release(os_release.text).items()}
    release = host.read_text("/proc/sys/kernel/osrelease") if found != "image" else Text(ABSENT)
    return {
        "schema": 1,
        "collected": {"os_release": os_release.status, "kernel_release": release.status, "place": OK},
        "place": found,
        "place_reason": reason,
        "root": host.root,
        "os": {
            "id": system.get("ID") or None,
            "id_like": sorted(system.get("ID_LIKE", "").split()),
            "version_id": system.get("VERSION_ID") or None,
            "name": system.get("PRETTY_NAME") or system.get("NAME") or None,
            "variant_id": system.get("VARIANT_ID") or None,
        },
        "kernel_release": release.text.strip() if re.match(r"[!-~]{1,64}\Z", release.text.strip()) else None,
        "init": _init(host) if found == "live" else None,
    }


def _init(host):
    # systemd's own test (man sd_booted) comes first: its process may be called init.
    if host.is_dir("/run/systemd/system"):
        return "systemd"
    if host.is_dir("/run/openrc"):
        return "openrc"
    return _INITS.get(host.read_text("/proc/1/comm").text.strip(), "other")
