# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that apt runs as hooks before and after its work. PRIVATE to the collection.

Sample: `DPkg::Post-Invoke { "systemctl restart iptables || true"; };`.
Grammar: apt man apt.conf(5), apt-pkg/contrib/configuration.cc ReadConfigFile(): scopes in braces, statements end with a
semicolon, comments are `//`, `#` and those of C; a backslash does not escape a quote. Names are case-insensitive.
"""

import re

from .embedded import PACKAGE_UPGRADE, command

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
                found.append(command(line, " ".join(words[1:] or words), PACKAGE_UPGRADE, exact=False))
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
        elif piece.isspace() or piece.startswith(("//",
                                                  "/*")) or (piece[0] == "#" and len(piece) > 1 and not open_word):
            open_word = False
        else:
            value = piece.strip('"') if piece[0] == '"' else piece
            words[-1:] = [words[-1] + value] if open_word else words[-1:] + [value]
            line, open_word = number, True
        number += piece.count("\n")
