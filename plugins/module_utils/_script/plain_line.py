# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A line that consists of one nft command, as in units. PRIVATE to the collection.

nftables.service exists on most nodes, disabled. Its lines do not need the grammar of a shell, whose sources a node
would compile for them on each run.
"""

import re

from .effect import POSSIBLE, Effect, Reading

# No quotes, expansions, patterns or redirects; a file by its path, or the words of one statement.
_LINE = re.compile(r"(?:/(?:[\w.-]+/)*)?nft(?: -f (/etc/[\w./-]+)|((?: [\w./-]+)+))\n\Z")


def read_plain_line(text):
    """The Reading of such a line, None for any other text."""
    found = _LINE.match(text)
    file, statement = found.groups() if found else (None, None)
    # Options change the action, and anything may follow them.
    if not found or statement and " -" in statement:
        return None
    from .nft_script import ALL_FAMILIES, taken_away
    command = text[:-1]
    if file:
        effects = [("apply", ALL_FAMILIES, (), (), None, None, file, "unknown", POSSIBLE)]
    else:
        effects = [what for _start, _end, what in taken_away(statement)]
    return Reading([Effect(1, (0, len(command)), command, *what) for what in effects], [], True, None, 1)
