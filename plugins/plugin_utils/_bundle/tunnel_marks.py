# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The marks that tunnels put on their encrypted packets, as a text shows them. PRIVATE to the collection.

Samples:
    interface: wg0                                       wg show, and below it
      fwmark: 0xca6c
    wg0     0xca6c                                       wg show all fwmark
    [#] wg set wg0 fwmark 51820                          wg-quick up
    32765:  not from all fwmark 0xca6c lookup 51820      ip rule: wg-quick, NetBird
    FwMark = 0xca6c                                      a file of wg-quick, wg showconf
    FirewallMark=0x8888                                  [WireGuard] of a .netdev of systemd-networkd

Where a peer is allowed all addresses and no mark is set, wg-quick takes 51820 (wireguard-tools wg-quick/linux.bash
add_default).
"""

import dataclasses
import re

_WORDS = (b"wmark", b"FwMark", b"FirewallMark", b"AllowedIPs")
# Programs, manuals and scripts of a node name marks that are not set.
_NO_PLACE = re.compile(r"(?:^|/)(?:usr|s?bin|lib|opt|proc|sys|var)/|\.(?:sh|py|md5|html|ya?ml)\Z")
_NUMBER = r"(0x[0-9a-fA-F]{1,8}|[1-9]\d{0,9})\b"
_SHOWN = re.compile(r"^interface: ([\w.-]{1,15})$(?:\n[ \t]+\S.*)*?\n[ \t]+fwmark: " + _NUMBER, re.MULTILINE)
_LISTED = re.compile(r"^([\w.-]{1,15})\t(0x[0-9a-f]{1,8})$", re.MULTILINE)
_SET = re.compile(r"^(?:\[#\] |.{0,60}[#$] (?:sudo )?)wg set ([\w.-]{1,15}) fwmark " + _NUMBER, re.MULTILINE)
_RULE = re.compile(r"^\d{1,10}:[ \t]+not from all fwmark " + _NUMBER + r"(?:/0xffffffff)? lookup ", re.MULTILINE)
_FILE = re.compile(r"^[ \t]*\[(?:Interface|WireGuard)\][ \t]*$", re.MULTILINE)
_OWN = re.compile(r"^[ \t]*(?:FwMark|FirewallMark)[ \t]*=[ \t]*" + _NUMBER, re.MULTILINE | re.IGNORECASE)
_NO_ROUTES = re.compile(r"^[ \t]*Table[ \t]*=[ \t]*(?!auto\b)", re.MULTILINE)
# Only wg-quick reads these keys.
_OF_WG_QUICK = re.compile(r"^[ \t]*(?:Address|DNS|PostUp|SaveConfig|MTU)[ \t]*=", re.MULTILINE)
_ALL = re.compile(r"^[ \t]*AllowedIPs[ \t]*=.*(?:\b0\.0\.0\.0/0|(?<![0-9a-f:])::/0)", re.MULTILINE)
_NAME_OF_FILE = re.compile(r"wireguard/([\w.-]{1,15})\.conf")
_DEFAULT = 51820


def marked_tunnels(item):
    """[(item with a line `mark name` for each tunnel of a file or a session, its kind, None)], or an empty list."""
    if item.data is None or not any(word in item.data for word in _WORDS) or _NO_PLACE.search(item.path):
        return []
    text, found = item.data.decode("utf-8", "replace").replace("\r\n", "\n"), {}
    for name, mark in _SHOWN.findall(text) + _SET.findall(text) + _LISTED.findall(text):
        found.setdefault(name, int(mark, 0))
    for part in _FILE.split(text)[1:]:
        own = _OWN.search(part)
        default = (_ALL.search(part) and _OF_WG_QUICK.search(part) and not _NO_ROUTES.search(part)
                   and not re.search(r"^[ \t]*FwMark", part, re.MULTILINE))
        named = _NAME_OF_FILE.search(item.path) or _NAME_OF_FILE.search(text)
        name = named.group(1) if named else "a WireGuard tunnel"
        if name not in found and (own or default):
            found[name] = int(own.group(1), 0) if own else _DEFAULT
    for mark in _RULE.findall(text):
        if int(mark, 0) not in found.values():
            found["the tunnel that ip rule shows"] = int(mark, 0)
    lines = "".join("%d %s\n" % (mark, name) for name, mark in found.items() if mark < 1 << 32)
    return [(dataclasses.replace(item, data=lines.encode()), "tunnel_marks", None)] if lines else []
