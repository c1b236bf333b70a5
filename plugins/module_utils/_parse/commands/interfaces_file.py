# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in `/etc/network/interfaces`. PRIVATE to the collection.

Sample:
    auto eth0
    iface eth0 inet dhcp
        pre-up iptables-restore < /etc/iptables.rules
        down iptables -F
Grammar: ifupdown man interfaces(5): a backslash continues a line, `#` begins a comment only at the start of a line,
`auto /eth*` is a pattern.
"""

import fnmatch

from .embedded import BOOT, EVENT, command

_UP = ("pre-up", "up", "post-up")
_DOWN = ("pre-down", "down", "post-down")


def parse_interfaces(text):
    """[Command] of the interfaces; commands of an interface that `auto` or `allow-hotplug` brings up run at boot."""
    lines = [(number, words) for number, words in ((number, line.split(None, 1)) for number, line in _joined(text))
             if len(words) == 2]
    at_boot = {name for _number, (key, rest) in lines if key == "auto" or key.startswith("allow-")
               for name in rest.split()}
    found, when, stanza = [], EVENT, ""
    for number, (key, rest) in lines:
        if key in ("iface", "mapping", "source", "source-directory", "auto") or key.startswith("allow-"):
            name = rest.split()[0]
            stanza, when = key, BOOT if any(fnmatch.fnmatchcase(name, each.lstrip("/")) for each in at_boot) else EVENT
        elif stanza == "iface" and key in _UP:
            found.append(command(number, rest, when, exact=False))
        elif (stanza == "iface" and key in _DOWN) or (stanza == "mapping" and key == "script"):
            found.append(command(number, rest, EVENT, exact=False))
    return found


def _joined(text):
    """(number of the first line, text) with continued lines joined, without comments."""
    start, parts = None, []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if start is None and line.lstrip().startswith("#"):
            continue
        start = start or number
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        yield start, "".join(parts + [line]).strip()
        start, parts = None, []
    if parts:
        yield start, "".join(parts).strip()
