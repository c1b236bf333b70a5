# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/var/lib/dpkg/alternatives/NAME and /var/lib/alternatives/NAME: one group of update-alternatives. PRIVATE to the collection.

Sample: C(auto), C(/usr/sbin/iptables), then name and link of each slave, an empty line, and for each choice its path, its
priority and the paths of its slaves. Debian's and openSUSE's program (dpkg utils/update-alternatives.c) and that of the Red Hat
family (chkconfig alternatives.c) agree in all but the choices, of which nothing is needed here.
"""

MODES = ("auto", "manual")


def parse_alternatives(text):
    """C({"mode": auto | manual, "link": path, "slaves": {name: link}}), or None for what is no such file."""
    head, empty, _choices = text.partition("\n\n")
    lines = head.split("\n")
    names, links = lines[2::2], lines[3::2]
    if not empty or len(lines) < 2 or lines[0] not in MODES or len(names) != len(links):
        return None
    if not all(path.startswith("/") for path in [lines[1]] + links):
        return None
    return {"mode": lines[0], "link": lines[1], "slaves": dict(zip(names, links))}
