# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/modules: the modules that are loaded. PRIVATE to the collection.

Sample: `nf_conntrack 196608 4 nf_nat,xt_conntrack, Live 0xffffffffc0a4c000 (E)`
Format: kernel/module/procfs.c m_show().
"""

from ... import _names


def parse_proc_modules(text):
    """{name: state} with state `Live`, `Loading` or `Unloading`, and the list of lines that could not be read.

    The users listed in a line are loaded as well, even if the text is only a part of the list and has no line for them.
    """
    states, users, unread = {}, set(), []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 5 and fields[4] in ("Live", "Loading", "Unloading"):
            states[fields[0]] = fields[4]
            users.update(name for name in fields[3].split(",") if _names.is_name(name))
        elif fields:
            unread.append(line)
    for name in users.difference(states):
        states[name] = "Live"
    return states, unread
