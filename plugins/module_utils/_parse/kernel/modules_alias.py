# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""modules.alias: further names under which modules are requested. PRIVATE to the collection.

Sample: `alias ipt_MASQUERADE xt_MASQUERADE`. The file has tens of thousands of lines, nearly all of them
patterns of hardware buses, so it is searched for one name and not turned into a table.
"""

import fnmatch
import re

from ... import _names


def find_alias(text, name):
    """Names of the modules that `name` stands for, in the order of the file (kmod takes all that match)."""
    wanted = _names.normalise(name)
    # Patterns that could match begin with the same two characters, in either spelling of the underscore.
    start = re.escape(wanted[:2]).replace("_", "[-_]")
    found = []
    # A search for a newline and the text is fast; ^ would be tried at each of a million characters.
    for pattern, module in re.findall(r"\nalias (%s\S*) ([!-.0-~]+)[ \t\r]*(?=\n|\Z)" % start, "\n" + text):
        pattern = _names.normalise(pattern)
        if pattern == wanted or ("*" in pattern and fnmatch.fnmatchcase(wanted, pattern)):
            found.append(_names.normalise(module))
    return found
