# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that run when devices and interfaces change and when logs are rotated. PRIVATE to the collection."""

import fnmatch
import re

from .embedded import BOOT, EVENT, TIMER, Command, joined, shell_words

# Programs that udev's rules start.
# Sample: `ACTION=="add", SUBSYSTEM=="net", RUN+="/bin/sh -c '/sbin/iptables -F'"`.
# `SYSCTL{net/ipv4/ip_forward}="0"` writes a sysctl, which reads as that command here.
# Grammar: systemd src/udev/udev-rules.c parse_line(), man udev. There is no shell: udev splits the value into words at
# blanks outside of quotes. A program without a directory is one of udev's own. `%%` and `$$` stand for `%` and `$`.
_TOKEN = re.compile(r'([A-Z_]+)(?:\{([^}"]*)\})?\s*(==|!=|\+=|-=|:=|=)\s*(e?)"((?:[^"\\]|\\.)*)"')
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"]|['"])+""")
_PIECE = re.compile(r"""'([^']*)'|"([^"]*)"|([^'"]+|['"])""")
_STARTS = {"RUN": (None, "", "program"), "PROGRAM": (None, ""), "IMPORT": ("program",)}
OWN_PROGRAMS = "/usr/lib/udev/"


def parse_udev_rules(text):
    """[Command], one for each program."""
    found = []
    for number, line in joined(text, True):
        for key, attribute, operator, escaped, value in _TOKEN.findall(line):
            if key == "SYSCTL" and operator in ("=", ":="):
                found.append(Command(number, shell_words(["sysctl", "-w", "%s=%s" % (attribute, value)]), EVENT))
            if key in _STARTS and (attribute or None) in _STARTS[key] and operator != "-=":
                value = _unescaped(value) if escaped else value.replace('\\"', '"')
                words = [_word(word) for word in _WORD.findall(value)]
                if words:
                    own = "" if "/" in words[0] or words[0].startswith("$") else OWN_PROGRAMS
                    found.append(Command(number, shell_words([own + words[0]] + words[1:]), EVENT))
    return found


def _word(word):
    return "".join(one or two or plain
                   for one, two, plain in _PIECE.findall(word)).replace("$$", "$").replace("%%", "%")


def _unescaped(value):
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), value)


# Commands in `/etc/network/interfaces`.
# Sample:
#     auto eth0
#     iface eth0 inet dhcp
#         pre-up iptables-restore < /etc/iptables.rules
#         down iptables -F
# Grammar: ifupdown man interfaces(5): a backslash continues a line, `#` begins a comment only at the start of a line,
# `auto /eth*` is a pattern.
_UP = ("pre-up", "up", "post-up")
_DOWN = ("pre-down", "down", "post-down")


def parse_interfaces(text):
    """[Command] of the interfaces; commands of an interface that `auto` or `allow-hotplug` brings up run at boot."""
    lines = [(number, words) for number, line in joined(text, False) for words in [line.strip().split(None, 1)]
             if len(words) == 2]
    at_boot = {name for _number, (key, rest) in lines if key == "auto" or key.startswith("allow-")
               for name in rest.split()}
    found, when, stanza = [], EVENT, ""
    for number, (key, rest) in lines:
        if key in ("iface", "mapping", "source", "source-directory", "auto") or key.startswith("allow-"):
            name = rest.split()[0]
            stanza, when = key, BOOT if any(fnmatch.fnmatchcase(name, each.lstrip("/")) for each in at_boot) else EVENT
        elif stanza == "iface" and key in _UP:
            found.append(Command(number, rest, when))
        elif (stanza == "iface" and key in _DOWN) or (stanza == "mapping" and key == "script"):
            found.append(Command(number, rest, EVENT))
    return found


# Scripts in logrotate's configuration.
# Sample:
#     /var/log/iptables.log {
#         weekly
#         postrotate
#             systemctl restart iptables
#         endscript
#     }
# Grammar: logrotate man, logrotate config.c readConfigFile(): a script begins after a line with only its keyword and
# ends at a line with only `endscript`; logrotate rejects the whole file if a script in it does not end.
_KEYWORDS = ("prerotate", "postrotate", "firstaction", "lastaction", "preremove")


def parse_logrotate_conf(text):
    """[Command], one for each script."""
    found, start, lines = [], None, []
    for number, line in enumerate(text.split("\n"), 1):
        word = line.strip()
        if start is None:
            if word in _KEYWORDS:
                start, lines = number + 1, []
        elif word == "endscript":
            if lines:
                found.append(Command(start, "\n".join(lines) + "\n", TIMER, True))
            start = None
        else:
            lines.append(line)
    return found if start is None else []


# Commands in a configuration of wg-quick.
# Sample: `PostDown = iptables -F FORWARD; iptables -t nat -F` below `[Interface]`.
# Grammar: wireguard-tools src/wg-quick/linux.bash parse_options(): keys in any case, `#` begins a comment.
_OF_WG = re.compile(r"\s*(preup|postup|predown|postdown)\s*=\s*(.*?)\s*\Z", re.IGNORECASE)


def parse_wg_conf(text):
    """[Command]; those of the start run at boot where the unit of the interface is enabled."""
    found, section = [], ""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.partition("#")[0].strip()
        section = line.lower() if line.startswith("[") else section
        match = _OF_WG.match(line) if section == "[interface]" else None
        if match:
            found.append(Command(number, match.group(2), BOOT if match.group(1).lower().endswith("up") else EVENT))
    return found
