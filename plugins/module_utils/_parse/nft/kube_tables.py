# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The `nft list` commands for the tables of kube-proxy's nftables mode, and their reader. PRIVATE to the collection.

    reader = KubeTablesReader(deep=False)
    for arguments in reader.commands():
        done = host.stream(["nft"] + arguments, reader.feed, timeout, limit)
        reader.end(done.status, done.rc, done.err)
    tables = reader.close()

Each `arguments` is a list without the program; the next command depends on the output of earlier ones. Only for a node
where nf_tables is already loaded or built in: nft loads it otherwise. `nft list ruleset` and `list tables` are not
used: they read the tables of all programs. Measured with nft 1.0.6 and 5000 Services of 2 endpoints, which are 15,000
chains of 1.30 or 5000 of 1.36: `list chains` 0.05 s and 20 MB, `list map` 0.07 s and 13 MB, `list table` 1.2 s and 120
MB or 0.9 s and 52 MB, with `-j` 1.8 s and 265 MB or 1.0 s and 102 MB. Of `list table`, 0.7 s are spent in the kernel,
which searches a list of all maps for the map of each Service; two processors can do this for two tables at the same
time (next_table()). The caller may replace `list chain` with rules of the chain that it reads over netlink
(_host/netlink.py): it passes a listing without the line of the base chain to feed().
"""

from .listing import ListingReader

NAME = "kube-proxy"
FAMILIES = {"ip": "ipv4", "ip6": "ipv6"}
FIRST = ["list", "chains"]
# Sets and maps of fixed names (kubernetes pkg/proxy/nftables/proxier.go). affinity- sets hold clients, not Services.
SETS = (("set", "cluster-ips"), ("map", "service-ips"), ("map", "no-endpoint-services"), ("map", "service-nodeports"),
        ("map", "no-endpoint-nodeports"), ("map", "firewall-ips"), ("set", "nodeport-ips"),
        ("set", "hairpin-connections"))
# The first three of them hold the same ClusterIPs.
LOST_IN = 3
# Chains whose rules are read without `deep`: all traffic passes through these two, and `nft flush table` keeps chains
# and maps. If the kernel can list single chains (`single`), the rules of all chains that belong to no Service are read.
PROBES = ("nat-prerouting", "services")
# Above this number of chains the probes are read only with `deep` or `single`.
PROBED_CHAINS = 25000
# Whole tables are always read up to this many chains of both families together: 5000 Services with two endpoints in
# both families have 30,000.
WHOLE_CHAINS = 40000
# And up to this many balancing chains of a table: the kernel searches a list of all maps for the map of each
# (net/netfilter/nf_tables_api.c nft_set_lookup()), in a time that grows with the square: 5000 take a second,
# 7000 two.
WHOLE_BALANCING = 7000
BALANCING = ("service-", "local-")
# At most this many chains are read one by one; kube-proxy has 20 of its own.
SINGLE_CHAINS = 100
NOT_DEEP = "the table has %d chains, %d of them of Services with endpoints, which are read only with deep: true"

OK, ABSENT, DENIED, UNPARSED = "ok", "absent", "denied", "unparsed"


class KubeTables:
    """The result. `tables` {"ipv4": listing.Table, "ipv6": ...}: the tables `kube-proxy` that exist.

    `status`: ok, absent (no nft, or neither table), denied, timeout, unparsed. `looked`: True if a table that was not
    found does not exist. `unread` {(family, name of a set): status}: it may or may not exist. `deep` {family: None, or
    why the rules of all chains are not known}. `ipv6`: whether the node has IPv6, None where that is not known. `ipv4`:
    False where a listing may lack tables of IPv4 that exist.
    `others`: (family as nft names it, name) of all other tables. `notices` {kind: count}, `examples`.
    """

    def __init__(self):
        self.status, self.looked = UNPARSED, False
        self.tables, self.unread, self.deep = {}, {}, {}
        self.cut = set()
        self.ipv4, self.ipv6 = True, None
        self.others = set()
        self.notices, self.examples = {}, []


class KubeTablesReader:
    """See above. Call `feed` (any number of times) and `end` for each of `commands()`, then `close()`.

    Tables of up to `whole_chains` chains together are read as with `deep`. `single`: asking for one chain costs next to
    nothing.
    """

    def __init__(self, deep=False, whole_chains=WHOLE_CHAINS, single=False):
        self._deep, self._whole_chains, self._single = deep, whole_chains, single
        self._found = KubeTables()
        self._listing = self._arguments = None
        self._waiting = []

    def commands(self):
        """A generator of the arguments of nft, one list for each command."""
        yield self._begin(FIRST)
        whole_families = self._read_whole()
        self._waiting = [["list", "table", name, NAME] for name in whole_families]
        for name in sorted(self._families()):
            family = FAMILIES[name]
            chains = self._found.tables[family].chains
            whole = name in whole_families
            if whole:
                yield self._begin(self._waiting.pop(0))
            if self._found.deep[family] is None:
                continue
            for kind, of_set in SETS:
                yield self._begin(["list", kind, name, NAME, of_set])
            for chain in () if whole else self._probes(chains):
                yield self._begin(["list", "chain", name, NAME, chain])
            if lost_addresses(self._found.tables[family]):
                for kind, of_set in SETS[:LOST_IN]:
                    yield self._begin(["list", kind, name, NAME, of_set])
        if any(leads_nowhere(table) for table in self._found.tables.values()):
            # kube-proxy may have added the chain in the meantime: several listings are no snapshot.
            yield self._begin(FIRST)

    def next_table(self):
        """The arguments that list the next whole table, to read it at the same time; None where none follows."""
        return self._waiting[0] if self._waiting else None

    def _read_whole(self):
        """Sorted families of nft whose table is read completely: the smaller one if both together are too large."""
        whole, left = [], self._whole_chains
        for name in sorted(self._families(), key=lambda name: len(self._found.tables[FAMILIES[name]].chains)):
            chains = self._found.tables[FAMILIES[name]].chains
            balancing = sum(chain.startswith(BALANCING) for chain in chains)
            if self._deep or (len(chains) <= left and balancing <= WHOLE_BALANCING):
                whole.append(name)
                left -= len(chains)
            else:
                self._found.deep[FAMILIES[name]] = NOT_DEEP % (len(chains), balancing)
        return sorted(whole)

    def _probes(self, chains):
        if self._single:
            return sorted(name for name in chains if "/" not in name)[:SINGLE_CHAINS]
        return [name for name in PROBES if name in chains and len(chains) <= PROBED_CHAINS]

    def feed(self, chunk):
        """Some bytes of the output."""
        self._listing.feed(chunk)

    def end(self, status, rc=0, message=""):
        """The command ended: `status` as in `Completed` of _host/host.py, `message` is what it wrote to stderr."""
        status = _status(status, rc, message)
        tables, listing, arguments = self._listing.close(), self._listing, self._arguments
        if status == OK:
            self._count(listing)
        if arguments == FIRST:
            self._take_chains(status, tables)
            return
        kind, name = arguments[1:3]
        family, table = FAMILIES[name], tables.get((name, NAME))
        if kind == "table":
            self._take_table(family, status, table)
        elif kind == "chain":
            if status == OK and table is not None:
                self._take_rules(self._found.tables[family].chains, table.chains)
        elif status == OK and table is not None and arguments[4] in table.sets:
            self._found.tables[family].sets[arguments[4]] = table.sets[arguments[4]]
        elif status != ABSENT:
            self._found.unread[family, arguments[4]] = UNPARSED if status == OK else status

    def close(self):
        """The `KubeTables`."""
        found = self._found
        if found.status == OK and not found.tables:
            found.status = ABSENT
        return found

    def _families(self):
        return [name for name, family in FAMILIES.items() if family in self._found.tables]

    def _begin(self, arguments):
        self._arguments = arguments
        self._listing = ListingReader(whole=lambda family, name: name == NAME and family in FAMILIES,
                                      rules=arguments != FIRST)
        return list(arguments)

    def _count(self, listing):
        for kind, count in listing.notices.items():
            self._found.notices[kind] = self._found.notices.get(kind, 0) + count
        self._found.examples.extend(listing.examples[:5 - len(self._found.examples)])

    def _take_chains(self, status, tables):
        found = self._found
        if found.looked:
            # Second reading: adds new chains only; rules that are known stay.
            for (name, _table), table in _kube_only(tables):
                found.deep.setdefault(FAMILIES[name], "the table was created during the look")
                mine = found.tables.setdefault(FAMILIES[name], table).chains
                mine.update((chain, table.chains[chain]) for chain in table.chains if chain not in mine)
            return
        found.status, found.looked = status, status == OK
        if found.looked:
            found.tables.update((FAMILIES[name], table) for (name, _table), table in _kube_only(tables))
            found.others = set(tables) - {key for key, _table in _kube_only(tables)}

    @staticmethod
    def _take_rules(known, chains):
        for name, chain in chains.items():
            if not chain.is_base and name in known:
                chain.type, chain.hook, chain.priority, chain.policy = (
                    getattr(known[name], word) for word in ("type", "hook", "priority", "policy"))
            known[name] = chain

    def _take_table(self, family, status, table):
        if status == OK and table is not None and table.complete:
            self._found.deep[family] = None
            self._found.tables[family] = table
        else:
            self._found.deep[family] = "nft list table did not print the whole table (%s)" % (
                UNPARSED if status == OK else status)


def _kube_only(tables):
    return [(key, table) for key, table in sorted(tables.items()) if key[1] == NAME and key[0] in FAMILIES]


def _status(status, rc, message):
    if status != OK or not rc:
        return status
    if "No such file or directory" in message:
        return ABSENT
    return DENIED if "not permitted" in message or "ermission denied" in message else UNPARSED


def leads_nowhere(table):
    """{name of a missing chain: the set or chain that leads to it, the first in order} of a table."""
    missing = {}
    for holder in sorted(table.sets):
        for element in table.sets[holder].elements:
            if element.target is not None and element.target not in table.chains:
                missing.setdefault(element.target, holder)
    for holder in sorted(table.chains):
        for target in table.chains[holder].targets:
            if target not in table.chains:
                missing.setdefault(target, holder)
    return missing


def lost_addresses(table):
    """Sorted ClusterIPs in use that no map contains: kube-proxy puts each into the set, and its ports into the maps."""
    sets = table.sets
    if any(name not in sets or not sets[name].complete for _kind, name in SETS[:LOST_IN]):
        return []
    known = {element.key[0] for name in ("service-ips", "no-endpoint-services") for element in sets[name].elements}
    return sorted(element.key[0] for element in sets["cluster-ips"].elements if element.key[0] not in known)


def read_kube_tables(answer, *how):
    """The `KubeTables` of saved outputs: `answer(arguments)`: the output of a command, None for a missing object."""
    reader = KubeTablesReader(*how)
    for arguments in reader.commands():
        text = answer(arguments)
        if text is None:
            reader.end(OK, 1, "Error: No such file or directory")
            continue
        reader.feed(text.encode("utf-8", "backslashreplace"))
        reader.end(OK)
    return reader.close()
