# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that run when devices and interfaces change and when logs are rotated. PRIVATE to the collection.

Commands that package managers run as hooks.
"""

import fnmatch
import re

from .embedded import BOOT, EVENT, PACKAGE_UPGRADE, TIMER, Command, joined, literal, shell_words, unquoted

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


# Commands that apt runs as hooks before and after its work.
# Sample: `DPkg::Post-Invoke { "systemctl restart iptables || true"; };`.
# Grammar: apt man apt.conf(5), apt-pkg/contrib/configuration.cc ReadConfigFile(): scopes in braces, statements end with
# a semicolon, comments are `//`, `#` and those of C; a backslash does not escape a quote. Names are case-insensitive.

# apt-pkg/deb/dpkgpm.cc, apt-pkg/update.cc; lower case.
_HOOKS = ("dpkg::pre-invoke", "dpkg::post-invoke", "dpkg::pre-install-pkgs", "apt::update::pre-invoke",
          "apt::update::post-invoke", "apt::update::post-invoke-success", "apt::install::pre-invoke",
          "apt::install::post-invoke", "apt::install::post-invoke-success")
_APT_PIECE = re.compile(r'"[^"]*"?|//[^\n]*|/\*.*?(?:\*/|\Z)|#(?!clear\b|include\b)[^\n]*|[{};]|\n|[^\S\n'
                        r']+|[^\s"{};#/]+|[/#]', re.DOTALL)


def parse_apt_conf(text):
    """[Command] of the hooks that run commands."""
    found, scopes = [], []
    for words, line, end in _statements(text):
        if end == "{":
            scopes.append(words[0] if words else "")
        else:
            name = "::".join(scopes + words[:1] if len(words) > 1 else scopes).lower()
            if words and any(name == hook or name.startswith(hook + "::") for hook in _HOOKS):
                found.append(Command(line, " ".join(words[1:] or words), PACKAGE_UPGRADE))
            if end == "}":
                del scopes[-1:]
    return found


def _statements(text):
    """(words, line of the final word, the semicolon or brace that ends them) of each statement."""
    words, number, line, open_word = [], 1, 1, False
    for piece in _APT_PIECE.findall(text):
        if piece in ("{", "}", ";"):
            yield words, line, piece
            words, open_word = [], False
        elif piece.isspace() or piece.startswith(("//", "/*")) or (
                piece[0] == "#" and len(piece) > 1 and not open_word):
            open_word = False
        else:
            value = piece.strip('"') if piece[0] == '"' else piece
            words[-1:] = [words[-1] + value] if open_word else words[-1:] + [value]
            line, open_word = number, True
        number += piece.count("\n")


# Commands that dpkg runs as hooks before and after its work.
# Sample: `post-invoke="systemctl restart iptables || true"`. A line is a command-line option without its dashes. The
# value follows `=` or a blank, quotes around it are removed, and comments begin with `#` (man dpkg,
# lib/dpkg/options.c).
_HOOK = re.compile(r"[ \t]*(?:pre|post)-invoke[ \t]*[= \t][ \t]*(\S.*?)\s*\Z")


def parse_dpkg_cfg(text):
    """[Command] of the hooks that run commands."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        hook = _HOOK.match(line)
        if hook:
            found.append(Command(number, unquoted(hook.group(1)), PACKAGE_UPGRADE))
    return found


# Commands that dnf runs after its transactions.
# Samples: `iptables*:any:systemctl restart iptables` (dnf 4, post-transaction-actions.d/*.action: package, state,
# command) and `post_transaction:iptables*:::/usr/bin/systemctl restart iptables` (dnf 5,
# libdnf5-plugins/actions.d/*.actions: callback, package, direction, options, command, without a shell: the command is
# cut into words at blanks outside of quotes).
_CALLBACKS = ("pre_base_setup", "post_base_setup", "repos_configured", "repos_loaded", "pre_add_cmdline_packages",
              "post_add_cmdline_packages", "goal_resolved", "pre_transaction", "post_transaction")


def parse_dnf_actions(text):
    """[Command] of a file of either generation."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        fields = line.split(":", 4)
        if fields[0] in _CALLBACKS:
            text = literal(fields[4]) if len(fields) == 5 else ""
        else:
            fields = line.split(":", 2)
            text = fields[2].strip() if len(fields) == 3 else ""
        if text:
            found.append(Command(number, text, PACKAGE_UPGRADE))
    return found
