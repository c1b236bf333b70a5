# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real servers of a bundle that differ from the endpoints of the API server."""

from ..._names import BUNDLE_API_SERVICES, UNCOLLECTED
from ..._host.host import OK

MOST = 40


def differing_servers(host, servers):
    """(status, rows): `address`, `port`, `protocol`, the endpoints that the virtual server lacks (`missing`) and the
    real servers that take connections and are none (`extra`). A real server of weight 0 takes no new ones."""
    listed = {}
    for name in host.list_dir(BUNDLE_API_SERVICES)[1]:
        for line in host.read_text("%s/%s" % (BUNDLE_API_SERVICES, name)).text.splitlines():
            address, port, protocol, ends = line.split(" ")
            listed.setdefault((address, int(port), protocol), set()).add(ends)
    rows = []
    for server in servers or ():
        ends = listed.get((server.address, server.port, server.protocol), ())
        if len(ends) != 1:
            continue
        wanted = set(next(iter(ends)).split(","))
        real = {"%s:%d" % ("[%s]" % each.address if ":" in each.address else each.address, each.port)
                for each in server.real_servers if each.weight}
        rows.append({"address": server.address, "port": server.port, "protocol": server.protocol,
                     "missing": sorted(wanted - real)[:MOST], "extra": sorted(real - wanted)[:MOST]})
    return (OK, [row for row in rows if row["missing"] or row["extra"]]) if rows else (UNCOLLECTED, None)
