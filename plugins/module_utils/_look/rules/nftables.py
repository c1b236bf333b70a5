# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of kube-proxy's nftables mode, as nft lists them.

`nft list chains` and single maps take a tenth of a second on a big node, `nft list ruleset` ten and a gigabyte.

Whether a rule that iptables-save prints without a match has none in the kernel either.

iptables-nft-save leaves out matches that it cannot express: the set of a native nft rule, or, before 1.8.8, marks and
ports that a newer iptables wrote. nft prints them. nft is run only for chains that have an observation, and not for a
rule that refuses or hides something by a match that was printed.

Whether nf_tables is in the running kernel, so that a query loads no module.
"""

import re

from ..._host.host import ABSENT, DENIED, OK, TIMEOUT, UNPARSED
from ..._parse.iptables.save_rule import read_rule
from ..._parse.kernel.module_files import parse_proc_modules
from ..._rules.kube_proxy.lost_match import NO_PORT, NO_SET
from ..._rules.observation import place_of

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
    from ..._parse.nft.statements import rule_text
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


KINDS = ("anchor_shadowed", "lost_match", "unexpected_drop")
CONFIRM_SECONDS, CONFIRM_LIMIT, CONFIRM_CHAINS = 30.0, 8 * 1024 * 1024, 8
FAMILY_NAMES = {"ipv4": "ip", "ipv6": "ip6"}
# What nft prints before the verdict of a rule without a match: its comment and its counter.
_NO_MATCH = re.compile(r'^(?:(?:xt match "comment"|counter packets \d+ bytes \d+) ?)+')
# How a port or a set is printed that iptables-save may have left out of a rule with other matches.
_LOST = re.compile(r'\bdport\b|@|xt match "(?!comment|addrtype)')
# How nft writes a target of iptables (nft(8), statements). A rule without a match begins with its target, any other
# rule begins with its match.
_STATEMENTS = {"MARK": ("meta mark set", "mark set")}


def confirmed(host, rules, observations, more):
    """(observations, more), as of ask(), without the observations that nft refutes; a chain that cannot be listed is
    recorded in `rules.unread`. If a chain has more observations than were kept, the kept ones decide for the others."""
    kept, answers, refuted = [], {}, set()
    for row in observations:
        words = _to_ask(row)
        if words is None:
            kept.append(row)
            continue
        place = (row["family"], row["table"], row["chain"])
        if place not in answers:
            answers[place] = _statements(host, place) if len(answers) < CONFIRM_CHAINS else None
            if answers[place] is None:
                rules.miss("nft_" + row["family"], None, "iptables-save prints a rule of %s without a match, and nft, "
                                                         "which would show one, could not be asked" % row["chain"],
                           row["table"])
        if answers[place] is not None and any(_confirms(words, line) for line in answers[place]):
            kept.append(row)
        else:
            refuted.add(place_of(row))
    refuted.difference_update(place_of(row) for row in kept)
    return kept, {place: count for place, count in more.items() if place not in refuted}


def _to_ask(row):
    """The parts of a rule whose match may be missing in the output, otherwise None."""
    if row["kind"] not in KINDS or row["backend"] != "nft" or row["family"] not in FAMILY_NAMES or " " in row["table"]:
        return None
    words = read_rule(row["text"])
    if words is None or words.target is None or ((words.options or words.matches)
                                                 and not row["detail"].startswith((NO_PORT, NO_SET))):
        return None
    return words


def _confirms(words, line):
    """True if the rule that nft prints has this target and also lacks the match that iptables-save did not print."""
    target = words.target
    written = _STATEMENTS.get(target,
                              (target.lower(),)) + ("jump %s" % target, "goto %s" % target, 'xt target "%s"' % target)
    if words.options or words.matches:
        return any(" %s " % text in " %s " % line for text in written) and not _LOST.search(line)
    return line.startswith(written)


def _statements(host, place):
    """The rules of a chain as nft prints them, without their counters; None where nft is not there or does not
    answer."""
    family, table, chain = place
    answer = host.run(["nft", "list", "chain", FAMILY_NAMES[family], table, chain], CONFIRM_SECONDS, CONFIRM_LIMIT)
    if answer.status != OK or answer.rc != 0:
        return None
    inside = [line.strip() for line in answer.out.splitlines() if line.startswith("\t\t")]
    return [_NO_MATCH.sub("", line) for line in inside if not line.startswith(("type ", "comment "))]


def nf_tables_status(host, node):
    """ok (it is in the kernel), absent (nor is any of its rules), or why that is not known: denied, unparsed."""
    listed = host.read_text("/proc/modules")
    if listed.status == ABSENT and host.presence("/proc/sys/kernel/modprobe") == ABSENT:
        return OK  # A kernel without CONFIG_MODULES cannot load anything.
    loaded, _unread = parse_proc_modules(listed.text)
    if "nf_tables" in loaded:
        return OK
    release = node["kernel_release"]
    if not listed.ok or not release:
        return DENIED if listed.status == DENIED else UNPARSED
    # Only this case needs the code that reads how kernels were built, so it is compiled here.
    from ..host.kernels import Kernel
    from ..modules import state
    verdict = state.resolve(Kernel(host, release, True), "nf_tables", state.RunningKernel(host, loaded, True), {})
    if verdict.state == state.BUILTIN:
        return OK
    return UNPARSED if verdict.state == state.UNKNOWN else ABSENT
