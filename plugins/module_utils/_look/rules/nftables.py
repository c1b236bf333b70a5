# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of kube-proxy's nftables mode, as nft lists them.

`nft list chains` and single maps take a tenth of a second on a big node, `nft list ruleset` ten and a gigabyte."""

from ..._host.host import ABSENT, DENIED, OK, TIMEOUT, UNPARSED

LIST_SECONDS, LIST_LIMIT = 60.0, 64 * 1024 * 1024
SOURCE = "nftables"
FAMILIES, TABLE = ("ip", "ip6"), "kube-proxy"


def read_nftables(host, rules, deep, expected):
    """Set `rules.nftables`, and record in `rules` which parts of the tables could not be read. Where the tables are not
    `expected`, because kube-proxy is known to use another mode, they are listed only where there is one."""
    there = rules.nf_tables
    if there in (None, ABSENT):
        rules.collected[SOURCE] = ABSENT
    elif there != OK:
        rules.miss(SOURCE, there, "the tables of kube-proxy's nftables mode were not listed: nf_tables is %s" % there)
    elif host.find_binary("nft") is None and expected:
        rules.miss(SOURCE, UNPARSED, "nft is not installed on this node, so the tables of kube-proxy's nftables mode "
                                     "could not be read")
    elif host.find_binary("nft") is None or not (expected or _left_over(host)):
        rules.collected[SOURCE] = ABSENT
    else:
        _list(host, rules, deep)


def _left_over(host):
    if host.commands and host.root == "/":
        from ..._host.netlink import nft_tables
        status, names = nft_tables()
        if status == OK:
            return any((family, TABLE) in names for family in FAMILIES)
    # A map of each family takes milliseconds; a node without this map has no such tables left over.
    for family in FAMILIES:
        done = host.run(["nft", "list", "map", family, TABLE, "service-ips"], LIST_SECONDS)
        if done.status != OK or done.rc == 0 or "No such file or directory" not in done.err:
            return True  # It exists, or the complete listing has to report why that is not known.
    return False


def _read_from_kernel(reader, arguments):
    """Whether the kernel returned the rules of a chain without nft; `reader` gets them."""
    from ..._host import netlink
    from ..._parse.nft.expressions import rule_text
    family, table, chain = arguments[2:5]
    status, rules = netlink.nft_expressions(family, table, chain)
    if status == OK:
        lines = ["\t\t%s" % rule_text(rule, netlink.attributes_of) for rule in rules]
        listing = "\n".join(["table %s %s {" % (family, table), "\tchain %s {" % chain] + lines + ["\t}", "}", ""])
        reader.feed(listing.encode("utf-8", "replace"))
        reader.end(OK)
    return status == OK


class _Early:
    """The second of two large tables, listed while nft still collects the first: most of the time is the kernel's."""

    def __init__(self, host, reader):
        self._host, self._reader = host, reader
        self._arguments, self._done, self._chunks = None, None, []
        self.peak_bytes = 0

    def ask(self):
        self._arguments = self._reader.next_table()
        if self._arguments is not None:
            self._done = self._host.stream(["nft"] + self._arguments, self._chunks.append, LIST_SECONDS, LIST_LIMIT)
            self.peak_bytes = self._done.peak_bytes

    def taken(self, arguments):
        """The `Completed` of a table that was listed, whose output the reader gets; None where it was not listed."""
        if arguments != self._arguments:
            return None
        for chunk in self._chunks:
            self._reader.feed(chunk)
        self._chunks = []
        return self._done


def _list(host, rules, deep):
    # Compiled only on nodes that have, or may have, such tables.
    from ..._parse.nft.kube_tables import KubeTablesReader
    single = host.commands and host.root == "/"
    reader = KubeTablesReader(deep, single=single)
    early = _Early(host, reader)
    for arguments in reader.commands():
        if single and arguments[1] == "chain" and _read_from_kernel(reader, arguments):
            continue
        done = early.taken(arguments) or host.stream(["nft"] + arguments, reader.feed, LIST_SECONDS, LIST_LIMIT,
                                                     early.ask)
        reader.end(done.status, done.rc, done.err)
        rules.helpers_peak_bytes = max(rules.helpers_peak_bytes, done.peak_bytes + early.peak_bytes)
    found = reader.close()
    # kube-proxy checks this too, before it creates a table for IPv6.
    found.ipv6 = {OK: True, ABSENT: False}.get(host.presence("/proc/net/if_inet6"))
    for (family, name), status in sorted(found.unread.items()):
        rules.miss(SOURCE, None, "nft did not list %s of %s: %s" % (name, family, status), TABLE)
    for kind in sorted(found.notices):
        line, text = next(((line, text) for known, line, text in found.examples if known == kind), (None, ""))
        rules.notices.append({"source": SOURCE, "kind": kind, "count": found.notices[kind], "line": line, "text": text})
    if found.looked:
        rules.collected[SOURCE] = found.status
        rules.nftables = found
    else:
        rules.miss(SOURCE, DENIED if found.status == DENIED else TIMEOUT if found.status == TIMEOUT else UNPARSED,
                   "nft could not list the chains: %s" % found.status)
