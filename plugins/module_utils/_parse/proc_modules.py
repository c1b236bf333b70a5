# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/modules: the modules that are loaded. PRIVATE to the collection.

Sample: C(nf_conntrack 196608 4 nf_nat,xt_conntrack, Live 0xffffffffc0a4c000 (E))
Format: kernel/module/procfs.c m_show().
"""


def parse_proc_modules(text):
    """{name: state} with state C(Live), C(Loading) or C(Unloading), and the list of lines that could not be read."""
    states, unread = {}, []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 5 and fields[4] in ("Live", "Loading", "Unloading"):
            states[fields[0]] = fields[4]
        elif fields:
            unread.append(line)
    return states, unread
