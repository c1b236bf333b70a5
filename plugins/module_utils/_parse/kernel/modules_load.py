# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""modules-load.d: modules to load at boot. PRIVATE to the collection.

Sample:
    # netfilter for the node
    nf_conntrack
    br_netfilter
Grammar: systemd src/modules-load/modules-load.c; the whole stripped line is one name or alias, `#` and `;` start
a comment, parameters do not exist. OpenRC (init.d/modules) and Debian's /etc/modules take the first word.
"""

from ... import _names


def parse_modules_load(text, first_word_only=False):
    """([(line number, name in kmod's spelling)], [(line number, text) that names no module])."""
    names, unread = [], []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        name = line.split()[0] if first_word_only else line
        if _names.is_name(name):
            names.append((number, _names.normalise(name)))
        else:
            unread.append((number, line))
    return names, unread
