# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts inside of logrotate's configuration. PRIVATE to the collection.

Sample:
    /var/log/iptables.log {
        weekly
        postrotate
            systemctl restart iptables
        endscript
    }
Grammar: logrotate man, logrotate config.c readConfigFile(): a script begins behind a line that holds its keyword alone
and ends at a line that holds `endscript` alone; a file with a script that does not end is refused as a whole.
"""

from .embedded import TIMER, command

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
                found.append(command(start, "\n".join(lines) + "\n", TIMER))
            start = None
        else:
            lines.append(line)
    return found if start is None else []
