# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that dpkg runs as hooks before and after its work. PRIVATE to the collection.

Sample: `post-invoke="systemctl restart iptables || true"`. A line is a command-line option without its dashes. The
value follows `=` or a blank, quotes around it are removed, and comments begin with `#` (man dpkg, lib/dpkg/options.c).
"""

import re

from .embedded import PACKAGE_UPGRADE, command

_HOOK = re.compile(r"[ \t]*(?:pre|post)-invoke[ \t]*[= \t][ \t]*(\S.*?)\s*\Z")


def parse_dpkg_cfg(text):
    """[Command] of the hooks that run commands."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        hook = _HOOK.match(line)
        if hook:
            value = hook.group(1)
            quoted = len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]
            found.append(command(number, value[1:-1] if quoted else value, PACKAGE_UPGRADE, exact=False))
    return found
