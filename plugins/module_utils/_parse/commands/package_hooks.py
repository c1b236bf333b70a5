# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that package managers run as hooks. PRIVATE to the collection."""

import re

from .embedded import PACKAGE_UPGRADE, Command, literal, unquoted

# Commands that apt runs as hooks before and after its work.
# Sample: `DPkg::Post-Invoke { "systemctl restart iptables || true"; };`.
# Grammar: apt man apt.conf(5), apt-pkg/contrib/configuration.cc ReadConfigFile(): scopes in braces, statements end with
# a semicolon, comments are `//`, `#` and those of C; a backslash does not escape a quote. Names are case-insensitive.

# apt-pkg/deb/dpkgpm.cc, apt-pkg/update.cc; lower case.
_HOOKS = ("dpkg::pre-invoke", "dpkg::post-invoke", "dpkg::pre-install-pkgs", "apt::update::pre-invoke",
          "apt::update::post-invoke", "apt::update::post-invoke-success", "apt::install::pre-invoke",
          "apt::install::post-invoke", "apt::install::post-invoke-success")
_PIECE = re.compile(r'"[^"]*"?|//[^\n]*|/\*.*?(?:\*/|\Z)|#(?!clear\b|include\b)[^\n]*|[{};]|\n|[^\S\n'
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
    for piece in _PIECE.findall(text):
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
# value follows `=` or a blank, quotes around it are removed, and comments begin with `#` (lib/dpkg/options.c).
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
