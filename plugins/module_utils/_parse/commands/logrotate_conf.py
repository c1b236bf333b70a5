# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts in logrotate's configuration. PRIVATE to the collection.

Sample:
    /var/log/iptables.log {
        weekly
        postrotate
            systemctl restart iptables
        endscript
    }
Grammar: logrotate man, logrotate config.c readConfigFile(): a script begins after a line with only its keyword and ends
at a line with only `endscript`; logrotate rejects the whole file if a script in it does not end.
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
