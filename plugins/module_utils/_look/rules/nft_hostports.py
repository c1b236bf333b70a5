# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host ports in the tables that portmap writes with nft, which no iptables-save prints. PRIVATE to the collection.

The CNI plugin writes these tables where its configuration demands nftables, or where iptables does not work
(containernetworking/plugins plugins/meta/portmap/portmap_nftables.go). One chain of each family is listed, which takes
milliseconds; nft loads nothing where nf_tables is in memory.
"""

import re

from ..._host.host import OK
from ..._parse.iptables.ruleset import RuleSet
from ..._rules.observation import observe
from ..._rules.others.hostports import captures

TABLE, CHAIN = "cni_hostport", "hostports"
LIST_SECONDS = 30.0
LIST_LIMIT = 8 * 1024 * 1024
_FAMILIES = (("ipv4", "ip"), ("ipv6", "ip6"))
_RULE = re.compile(r"^\t\t((tcp|udp|sctp) dport (\d{1,5}) dnat (?:ip6? )?to [0-9a-f.:\[\]]+)(?: |$)", re.MULTILINE)


def nft_hostports(host, rules, ports):
    """[hostport_capture] of both families; `ports` as in Setting. What could not be read goes into `rules.unread`."""
    found = []
    if rules.nf_tables != OK or not ports or host.find_binary("nft") is None:
        return found
    for family, name in _FAMILIES:
        done = host.run(["nft", "list", "chain", name, TABLE, CHAIN], LIST_SECONDS, LIST_LIMIT)
        if done.status == OK and done.rc == 0:
            rule_set = RuleSet("live", family, "nft")
            found += [observe("hostport_capture", rule_set, "%s %s" % (name, TABLE), CHAIN, text, 1,
                              captures(ports, protocol, int(port))) for text, protocol, port in _RULE.findall(done.out)
                      if (protocol, int(port)) in ports]
        elif done.status != OK or "No such file or directory" not in done.err:
            rules.miss("nft_" + family, None, "nft did not list the host ports of table %s %s" % (name, TABLE), TABLE)
    return found
