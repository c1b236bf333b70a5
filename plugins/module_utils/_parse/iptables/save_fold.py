# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the service rules of kube-proxy's iptables mode with a few regular expressions. PRIVATE to the collection.

A node with 10,000 Services has 110,000 rules of four shapes; as objects they would need 200 MB. A rule is folded only
if it is printed exactly as kube-proxy makes it and stands where it has to; any other rule stays a Rule. The results are
the same in both cases. Source of the shapes: kubernetes pkg/proxy/iptables/proxier.go 1.20 to 1.33, printed by
iptables-nft-save and iptables-legacy-save.
"""

import functools
import itertools
import operator
import re

from .ruleset import BARE, NAMELESS, Chain

_HASH = "[A-Z2-7]{16}"
# Above 1000 endpoints kube-proxy leaves the comment out; a comment of one word is not quoted.
_TEXT = r'"[^"\\\n]{0,300}"|[\w.][\w.-]{0,300}'
_RECENT = r"--name %s --mask [0-9a-f.:]{1,39} --rsource "


def _comment(name=None):
    """A comment, which kube-proxy writes before other matches; `late` is one behind them."""
    # (?:x|) is a fifth faster than (?:x)?, for which Python records where each repetition begins.
    return "(?:-m comment --comment %s |)" % (("(?P<%s>" % name if name else "(?:") + _TEXT + ")")


# A chain of a service or an endpoint.
_DECLARED = "".join((r":(?P<chain>KUBE-S(?:EP|VC|VL)-", _HASH, r") - \[\d{1,20}:\d{1,20}\]"))
# Both rules of an endpoint: masquerade traffic from the endpoint itself, translate to the same address.
_ENDPOINT = "".join(
    (r"-A (?P<chain>KUBE-SEP-", _HASH, r") -s (?:(?P<four>[\d.]{7,15})/32|(?P<six>[\da-f:]{2,39})/128) ",
     _comment("comment"), r"-j KUBE-MARK-MASQ", r"\n-A (?P=chain) -p (?P<protocol>tcp|udp|sctp) ", _comment("other"),
     r"(?P<recent>-m recent --set ", _RECENT % "(?P=chain)", r"|)", r"-m (?P=protocol) ", _comment("late"),
     r"-j DNAT --to-destination (?:(?P=four)|\[(?P=six)\]):(?P<port>[1-9]\d{0,4})"))
# A rule of a service: to an endpoint by probability, to the endpoint that the client used before, or masquerading.
_SERVICE = "".join(
    (
        r"-A (?P<chain>KUBE-SV[CL]-", _HASH, r") (?:", _comment("comment"),
        r"(?:-m statistic --mode random --probability (?P<chance>0\.\d{11}) |)", _comment("late"),
        r"-j (?P<endpoint>KUBE-SEP-", _HASH, r")",
        r"|(?P<other>", _comment(), r"-m recent --rcheck --seconds \d{1,10} --reap ",
        _RECENT % ("(?P<kept>KUBE-SEP-" + _HASH + ")"), _comment(), r"-j (?P=kept)",
        r"|(?:! -s [\da-f.:]{2,39}/\d{1,3} |)-d [\da-f.:]{2,39}/(?:32|128) (?:! -i [\w.+-]{1,16} |)-p "
        r"(?P<protocol>tcp|udp|sctp) ", _comment(), r"-m (?P=protocol) --dport [1-9]\d{0,4} ", _comment(),
        r"-j KUBE-MARK-MASQ))"))
# A rule that sends a virtual address or a node port to its service.
_JUMP = "".join(
    (
        r"(?P<text>-A (?:KUBE-SERVICES -d (?P<address>[\da-f.:]{2,39})/(?:32|128)|KUBE-NODEPORTS) -p "
        r"(?P<protocol>tcp|udp|sctp) ", _comment("comment"),
        r"-m (?P=protocol) --dport (?P<port>[1-9]\d{0,4}) ", _comment("late"),
        r"-j (?P<target>KUBE-(?:SVC|SVL|EXT|FW|XLB)-", _HASH, r"))"))
_PROTOCOLS = {name: name for name in ("tcp", "udp", "sctp")}
# Bytes of save_lines.ROOM that each takes: both rules of an endpoint; a balancing rule of a service; another rule of a
# service; a rule that leads to a service, with its Service; a rule whose text is kept as well;
# a comment.
_OF_ENDPOINT, _OF_BALANCING, _OF_OTHER, _OF_JUMP, _OF_WRITTEN, _OF_COMMENT = 200, 40, 120, 710, 230, 150


class _Ports(dict):
    """Port numbers by their text; all endpoints with the same port share one object in memory."""

    def __missing__(self, text):
        self[text] = int(text)
        return self[text]


_PORTS = _Ports()


def is_first_half(line):
    """True for a rule that is folded together with the next one: both have to be read at once."""
    return "-A KUBE-SEP-" in line and line.endswith(" -j KUBE-MARK-MASQ\n")


def fold_block(text, lines):
    """Takes whole lines without counters: folds chains and rules itself, passes all others to `lines.line`."""
    _Folder(lines).fold("\n" + text[:-1], _SHAPES)


def texts_of(chain, services):
    """The folded rules of a chain that can be rebuilt, as printed: balancing rules, or those of an endpoint."""
    comments = services.comments.get(chain, ())
    if chain in services.endpoints:
        yield from _endpoint_texts(chain, *services.endpoints[chain] + comments)
    chances, endpoints = services.balancing.get(chain, ((), ()))
    for chance, endpoint, both in zip(chances, endpoints, comments or itertools.repeat(())):
        yield _balancing_text(chain, "%.11f" % chance if chance is not None else None, endpoint, *both)


def _endpoint_texts(chain, address, port, protocol, comment=None, other=None, recent="", late=None):
    source, destination = ("%s/128", "[%s]") if ":" in address else ("%s/32", "%s")
    return ("-A %s -s %s %s-j KUBE-MARK-MASQ" % (chain, source % address, _commented(comment)),
            "-A %s -p %s %s%s-m %s %s-j DNAT --to-destination %s:%s" % (
                chain, protocol, _commented(other), recent, protocol, _commented(late), destination % address, port))


def _balancing_text(chain, chance, endpoint, comment=None, late=None):
    statistic = "-m statistic --mode random --probability %s " % chance if chance else ""
    return "-A %s %s%s%s-j %s" % (chain, _commented(comment), statistic, _commented(late), endpoint)


def _commented(comment):
    return "-m comment --comment %s " % comment if comment else ""


class _Shape:
    """Lines of one shape: their pattern, and the function that handles a run of them.

    Each line contains `mark`; `take(folder, columns)` gets `{group: [text of each row]}`, `lines(row)` writes a row as
    it was printed.
    """

    def __init__(self, mark, pattern, take, lines, only_nat=True):
        self.mark = "\n" + mark
        # The pattern begins at the end of the line before: a search for a fixed text is faster than one for any line.
        self.pattern, self.take, self.lines = re.compile(r"\n" + pattern + r"(?![^\n])"), take, lines
        self.only_nat = only_nat


class _Folder:
    """Adds runs of folded lines of one shape to the table that is being read."""

    def __init__(self, lines):
        self.lines, self.table = lines, None

    def fold(self, text, shapes):
        """Takes lines, each with its line end before it: those of the first shape, then those between them."""
        if not text:
            return
        if not shapes:
            for line in text.split("\n")[1:]:
                self.lines.line(line)
            return
        shape = shapes[0]
        if shape.mark not in text:
            self.fold(text, shapes[1:])
            return
        parts = shape.pattern.split(text)
        width = shape.pattern.groups + 1
        between, columns = parts[::width], {name: parts[group::width]
                                            for name, group in shape.pattern.groupindex.items()}
        start, last = 0, len(between) - 1
        for index in [index for index, before in enumerate(between) if before or index == last]:
            self._run(shape, columns, start, index)
            self.fold(between[index], shapes[1:])
            start = index

    def _run(self, shape, columns, start, end):
        """Folds a run of rows if the table allows it; a row that must not be folded is read like any other line."""
        if start < end and self.lines.table is None:
            self._refuse(shape, columns, start)
            start += 1
        self.table = self.lines.table
        if start < end and shape.only_nat and self.table.name not in ("nat", NAMELESS):
            for index in range(start, end):
                self._refuse(shape, columns, index)
        elif start < end:
            shape.take(self, {name: column[start:end] for name, column in columns.items()})

    def _refuse(self, shape, columns, index):
        for line in shape.lines({name: column[index] for name, column in columns.items()}):
            self.lines.line(line)

    def declared(self, columns):
        """Lines that declare chains."""
        names, chains = columns["chain"], self.table.chains
        fresh = dict.fromkeys(names, BARE)
        if len(fresh) == len(names) and chains.keys().isdisjoint(fresh):
            chains.update(fresh)
            self.lines.names.update(zip(names, names))
            self.lines.declared(len(names))
        else:
            for index in range(len(names)):
                self._refuse(_CHAINS, columns, index)

    def endpoints(self, columns):
        """Pairs of rules of KUBE-SEP chains; the first pair of each chain."""
        names, known = self._shared(columns["chain"]), self.table.services.endpoints
        addresses = (columns["four"] if None not in columns["four"]
                     else [four or six for four, six in zip(columns["four"], columns["six"])])
        rows = list(zip(addresses, map(_PORTS.__getitem__, columns["port"]), map(_PROTOCOLS.get, columns["protocol"])))
        fresh, extra = dict(zip(names, rows)), [columns[group] for group in ("comment", "other", "recent", "late")]
        if len(fresh) == len(names) and known.keys().isdisjoint(fresh) and not self._mixed(names):
            known.update(fresh)
            room = len(names) * _OF_ENDPOINT
            if any(map(any, extra)):
                self.table.services.comments.update(zip(names, zip(*extra)))
                self.table.services.noting.update(itertools.compress(names, columns["recent"]))
                room += 2 * len(names) * _OF_COMMENT
            self.lines.folded(2 * len(names), room)
            return
        for index, (name, row) in enumerate(zip(names, rows)):
            if name in known:
                self._refuse(_ENDPOINTS, columns, index)
            else:
                self._write_down(name, _endpoint_texts(name, *(row + tuple(column[index] for column in extra))))
                known[name] = row
                if columns["recent"][index]:
                    self.table.services.noting.add(name)
                self.lines.taken += _OF_ENDPOINT

    def services(self, columns):
        """Rules of KUBE-SVC and KUBE-SVL chains: the balancing rules, and the rules that have to precede them."""
        names, others, balancing = columns["chain"], columns["other"], self.table.services.balancing
        starts = [0] + [index for index, (name, following) in enumerate(zip(names, names[1:]), 1) if name != following]
        ends = starts[1:] + [len(names)]
        firsts = [next((index for index in range(start, end) if not others[index]), end)
                  for start, end in zip(starts, ends)]
        chains, led_to = self._shared([names[start] for start in starts]), self._shared(columns["endpoint"])
        mixed, commented = self._mixed(chains), any(columns["comment"]) or any(columns["late"])
        comments = list(zip(columns["comment"], columns["late"])) if commented else ()
        texts, folded, kept = [], 0, 0
        for name, start, first, end in zip(chains, starts, firsts, ends):
            endpoints = tuple(led_to[first:end])
            if name in mixed or name in balancing or None in endpoints or len(set(endpoints)) < end - first:
                self._one_by_one(name, columns, range(start, end))
                continue
            for index in range(start, first):
                texts.append("-A %s %s" % (name, others[index]))
                self.table.services.add_other(name, columns["kept"][index])
            if endpoints:
                balancing[name] = _chances(tuple(columns["chance"][first:end])), endpoints
                folded += len(endpoints)
                if any(map(any, comments[first:end])):
                    self.table.services.comments[name] = tuple(comments[first:end])
                    self._entitle(name, comments[first:end])
                    kept += len(endpoints)
        self.lines.note_all(texts)
        self.lines.folded(len(texts) + folded, len(texts) * _OF_OTHER + folded * _OF_BALANCING
                          + kept * _OF_COMMENT)

    def _one_by_one(self, name, columns, indexes):
        services = self.table.services
        for index in indexes:
            endpoint, chance = columns["endpoint"][index], columns["chance"][index]
            if endpoint:
                comments = columns["comment"][index], columns["late"][index]
                self._write_down(name, [_balancing_text(name, chance, endpoint, *comments)])
                services.add_balancing(name, float(chance) if chance else None, endpoint)
                self._entitle(name, [comments])
            elif name in services.balancing:
                self._refuse(_SERVICES, columns, index)
            else:
                self._write_down(name, ["-A %s %s" % (name, columns["other"][index])])
                services.add_other(name, columns["kept"][index])

    def _entitle(self, name, comments):
        """Keeps the title of a chain, the first of its `comments`, pairs of which each may be None."""
        found = next(filter(None, itertools.chain.from_iterable(comments)), None)
        if found:
            self.table.services.titles.setdefault(name, found.strip('"').partition(" ")[0])

    def jumps(self, columns):
        """Rules of virtual addresses in KUBE-SERVICES, and of node ports in KUBE-NODEPORTS."""
        services, addresses = self.table.services, columns["address"]
        chains = ["KUBE-SERVICES" if address else "KUBE-NODEPORTS" for address in addresses]
        for name in dict.fromkeys(chains):
            self.table.chains.setdefault(name, Chain())
        jumps = zip(
            chains, addresses, map(_PROTOCOLS.get, columns["protocol"]), map(_PORTS.__getitem__, columns["port"]),
            self._shared(columns["target"]),
            [comment and comment.strip('"').partition(" ")[0]
             for comment in (early or late for early, late in zip(columns["comment"], columns["late"]))])
        services.in_nodeports += addresses.count(None)
        services.in_services += len(addresses) - addresses.count(None)
        for text in columns["text"]:
            if self.lines.family_known:
                break
            self.lines.tell_family(text)
        first = self.lines.note_all(columns["text"])
        services.jumps.extend(jumps if first is None else itertools.compress(jumps, first))
        for target in itertools.compress(columns["target"], map(operator.not_, first or ())):
            services.copies[target] = services.copies.get(target, 0) + 1
        self.lines.folded(len(addresses), (len(addresses) if first is None else sum(first)) * _OF_JUMP)

    def _shared(self, names):
        """The same names, with one shared string in memory for each chain, which also makes lookups faster."""
        return list(map(self.lines.names.get, names, names))

    def _mixed(self, names):
        """The chains in `names` that may hold more than folded rules that can be rebuilt; their rules are recorded."""
        noted, chains = self.lines.noted, self.table.chains
        if not self.lines.family_known:
            return set(names)
        if noted.isdisjoint(names) and set(map(chains.get, names)) == {BARE}:
            return ()
        return {name for name in names if name in noted or chains.get(name) is not BARE}

    def _write_down(self, name, texts):
        self.table.chains.setdefault(name, Chain())
        self.lines.tell_family(texts[0])
        self.lines.note_folded(name)
        self.lines.note_all(texts)
        self.lines.folded(len(texts), len(texts) * _OF_WRITTEN)


@functools.lru_cache(maxsize=1024)
def _chances(texts):
    """The probabilities as numbers; most services have the same ones as another."""
    return tuple([float(text) if text else None for text in texts])


_CHAINS = _Shape(":KUBE-S", _DECLARED, _Folder.declared, lambda row: [":%s - [0:0]" % row["chain"]], only_nat=False)
_ENDPOINTS = _Shape("-A KUBE-SEP-", _ENDPOINT, _Folder.endpoints, lambda row: _endpoint_texts(
    row["chain"], row["four"] or row["six"], row["port"], row["protocol"], row["comment"], row["other"], row["recent"],
    row["late"]))
_SERVICES = _Shape("-A KUBE-SV", _SERVICE, _Folder.services,
                   lambda row: [
                       "-A %s %s" % (row["chain"], row["other"]) if row["other"]
                       else _balancing_text(row["chain"], row["chance"], row["endpoint"], row["comment"],
                                            row["late"])])
_JUMPS = _Shape("-A KUBE-", _JUMP, _Folder.jumps, lambda row: [row["text"]])
_SHAPES = (_CHAINS, _ENDPOINTS, _SERVICES, _JUMPS)
