# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that dnf runs after its transactions. PRIVATE to the collection.

Samples: `iptables*:any:systemctl restart iptables` (dnf 4, post-transaction-actions.d/*.action: package, state,
command) and `post_transaction:iptables*:::/usr/bin/systemctl restart iptables` (dnf 5,
libdnf5-plugins/actions.d/*.actions: callback, package, direction, options, command, without a shell: the command is cut
into words at blanks outside of quotes).
"""

import shlex

from .embedded import PACKAGE_UPGRADE, command, shell_words

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
            text = _words(fields[4]) if len(fields) == 5 else ""
        else:
            fields = line.split(":", 2)
            text = fields[2].strip() if len(fields) == 3 else ""
        if text:
            found.append(command(number, text, PACKAGE_UPGRADE, exact=False))
    return found


def _words(rest):
    """A line of dnf 5 as a shell command; a line that cannot be split into words starts nothing."""
    try:
        return shell_words(shlex.split(rest))
    except ValueError:
        return ""
