# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of a node, or of dumps that lie on it, read once and without side effects.

The order of the commands avoids side effects (iptables 1.8.7 to 1.8.11, seen): the names of legacy tables first; the
save of the nft backend, which creates nothing, only where nf_tables is in memory; the save of the legacy backend only
where a legacy table exists, and never with -t, which would create it. Neither takes the xtables lock; -L and -S
would."""

import contextlib
import gc
import re
import time

from ... import _errors
from ..._host.host import ABSENT, DENIED, OK, TIMEOUT, UNPARSED
from ..._parse.iptables.ruleset import NAMELESS, RuleSet
from ..backends.iptables_builds import MULTI, backend_of
from .nftables import nf_tables_status

SAVE_SECONDS, SAVE_LIMIT = 60.0, 400 * 1024 * 1024
# How often a save of the nft backend that looks torn is run, within SAVE_SECONDS, until two readings agree.
READINGS = 4
FAMILIES = (("ipv4", "iptables-save", "/proc/net/ip_tables_names"),
            ("ipv6", "ip6tables-save", "/proc/net/ip6_tables_names"))
SOURCES = ("nft_ipv4", "nft_ipv6", "legacy_ipv4", "legacy_ipv6")
TEXT_LIMIT, NAME_LIMIT = 200, 64
_DENIED = re.compile(r"Permission denied|Operation not permitted|you must be root", re.I)


class Rules:
    """The rules that were read. `source`: live, files or None (nothing runs here); `collected` {source: status};
    `rule_sets` [RuleSet]; `unread` [{source, table (None = all of it), evidence}]: sources of rules that cannot be read
    here; `notices` [{source, kind, count, line, text}]; `nf_tables`: status of nf_tables in the kernel, None if not
    queried; `nftables`: KubeTables of kube-proxy's nftables mode (nftables.py), None until they were read; `native`
    {(family, name): [text]} of listed native nft tables (nft_native.py); `listings` [source] without a table of
    iptables or kube-proxy; `misnamed` {source} whose name and header differ in the backend; `of_tree`: True where the
    files around the dumps are of the same node; `commands` {source: argv} that gave rules."""

    def __init__(self, source):
        self.source = source
        self.read_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.collected, self.rule_sets, self.unread, self.notices = {}, [], [], []
        self.nftables, self.native, self.listings = None, {}, []
        self.of_tree, self.misnamed = False, set()
        self.nf_tables, self.commands, self.helpers_peak_bytes = None, {}, 0

    def miss(self, source, status, evidence, table=None):
        """Record rules that exist, or may exist, and were not read."""
        if table is None:
            self.collected[source] = status
        self.unread.append({"source": source, "table": table, "evidence": evidence})

    def take(self, source, sets):
        """Add rule sets as they were parsed, with a notice for each irregularity."""
        self.rule_sets += sets
        for rules in sets:
            first = {}
            for kind, line, text in rules.examples:
                first.setdefault(kind, (line, text[:TEXT_LIMIT]))
            for kind in sorted(rules.notices):
                line, text = first.get(kind, (0, ""))
                self.notices.append({"source": source, "kind": kind, "count": rules.notices[kind], "line": line or None,
                                     "text": text})
            for table in sorted(rules.unreadable):
                self.miss(source, None, "iptables-save prints table %s only as incompatible: nft wrote rules that it "
                                        "cannot show" % table, table)
            for name in sorted(name for name in rules.tables if not rules.tables[name].complete):
                self.miss(source, None, _lacking(rules.tables[name], rules.notices), name[:NAME_LIMIT])


def _lacking(table, notices):
    """Why not every rule of a table is known; `notices`: those of its dump."""
    name, passed_over = table.name[:NAME_LIMIT], notices.get("too_many_lines")
    if notices.get("unsupported_revision") and table.unread:
        return "iptables cannot print %(unsupported_revision)d rules ([unsupported revision] of a newer one)" % notices
    if table.name == NAMELESS:
        return "the table of some rules is not known"
    if not table.committed and passed_over:
        return "table %s is too large: %d lines of this dump were not read (docs/security.md has the bounds)" % (
            name, passed_over)
    if not table.committed:
        return "the end of table %s is missing in this dump" % name
    return "%s of table %s could not be read" % ("1 line" if table.unread == 1 else "%d lines" % table.unread, name)


@contextlib.contextmanager
def many_objects():
    """Reading rules makes no garbage; the garbage collector would take a fifth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            # Nor does the collector take 11 ms for 110,000 rules afterwards; freeze() exists since Python 3.7.
            getattr(gc, "freeze", int)()
            gc.enable()


class _Dump:
    """The output of a save, or a file. Its parser is imported for the first text: many machines have no rule."""

    def __init__(self, *arguments):
        self._arguments = arguments
        self._reader = None

    def feed(self, chunk):
        if self._reader is None:
            from ..._parse.iptables.save import SaveReader
            self._reader = SaveReader(*self._arguments)
        self._reader.feed(chunk)

    def rule_sets(self):
        return self._reader.close() if self._reader else []


def compile_rest():
    """Import and compile what a big rule set will need, while the save still reads it from the kernel."""
    from ..._parse.iptables import save
    from .. import bounds
    from . import answers, nftables, setting
    return save, answers, bounds, nftables, setting


def rules_of(host, node):
    """`Rules` of a live node; a second caller gets the rules that were read for the first."""
    if "rules" not in host.kept:
        with many_objects():
            host.kept["rules"] = read_live(host, node)
    return host.kept["rules"]


def read_live(host, node):
    """`Rules` that the kernel of a live node holds in this network namespace; in any other place no command is run."""
    if node["place"] == "bundle":
        return _read_bundle(host)
    if node["place"] != "live":
        rules = Rules(None)
        rules.collected = dict.fromkeys(SOURCES, ABSENT)
        return rules
    rules = Rules("live")
    rules.nf_tables = nf_tables_status(host, node)
    if rules.nf_tables == OK and not host.is_root():
        rules.nf_tables = DENIED
    for family, program, _names in FAMILIES:
        _read_nft(host, rules, family, program)
    for family, program, names in FAMILIES:
        _read_legacy(host, rules, family, program, names)
    return rules


def _read_bundle(host):
    """`Rules` of the dumps that a bundle holds, in whatever form."""
    from ..._names import BUNDLE_RULES, UNCOLLECTED
    from .dump_forms import without_repeats
    rules = Rules("files")
    rules.of_tree = True
    for name in host.list_dir(BUNDLE_RULES)[1]:
        _read_file(host, rules, "%s/%s" % (BUNDLE_RULES, name), name)
    _miss_tables(rules)
    rules.rule_sets, doubts = without_repeats(rules.rule_sets)
    left = {(found.source, name) for found in rules.rule_sets for name in list(found.tables) + found.unreadable}
    rules.unread = [row for row in rules.unread if row["table"] in (None, "kube-proxy")
                    or (row["source"], row["table"]) in left]
    for source, table, doubt in doubts:
        rules.miss(source, None, doubt, table)
    rules.collected = rules.collected or dict.fromkeys(SOURCES, UNCOLLECTED)
    return rules


def _read_nft(host, rules, family, program):
    source = "nft_" + family
    if rules.nf_tables == ABSENT:
        rules.collected[source] = ABSENT
    elif rules.nf_tables == DENIED:
        rules.miss(source, DENIED, "only root can list the rules of the nft backend")
    elif rules.nf_tables != OK:
        rules.miss(source, rules.nf_tables, "whether nf_tables is in the kernel is not known, and a query "
                                            "could load it")
    else:
        _save(host, rules, source, family, program, "nft")


def _read_legacy(host, rules, family, program, names):
    source, listed = "legacy_" + family, host.read_text(names)
    tables = listed.text.split()
    if listed.status == ABSENT or (listed.ok and not tables):
        rules.collected[source] = ABSENT
        return
    if not listed.ok:
        rules.miss(source, listed.status, "%s is %s: whether legacy tables exist is not known" % (names, listed.status))
        return
    found = _save(host, rules, source, family, program, "legacy")
    for table in sorted(set(tables) - set(found.tables) if found else ()):
        rules.miss(source, None, "table %s exists (%s) but iptables-save omits it" % (table, names), table)


def _save(host, rules, source, family, program, backend):
    """Read one backend of one family into `rules`; returns its `RuleSet`, or None where nothing could be read."""
    command = save_command(host, program, backend)
    if command is None:
        rules.miss(source, UNPARSED, "this node has no %s of the %s backend to read its rules" % (program, backend))
        return None
    done, sets, problem = _read_until_sound(host, rules, command, family, backend)
    _take_messages(rules, source, done.err)
    if problem:
        rules.miss(source, *problem)
        return None
    rules.collected[source] = OK
    rules.commands[source] = command
    for found in sets:
        # The header of early releases does not contain the backend; the program determines it.
        found.family, found.backend = family, backend
    rules.take(source, sets)
    return sets[0]


def _read_until_sound(host, rules, command, family, backend):
    """(Completed, [RuleSet], (status, why) or None) of a save; one that looks torn is read until two readings agree."""
    before, begun = None, time.monotonic()
    for _reading in range(READINGS):
        left = SAVE_SECONDS - (time.monotonic() - begun)
        if left <= 0:
            break
        dump = _Dump("live", family, backend)
        done = host.stream(command, dump.feed, left, SAVE_LIMIT, compile_rest)
        # Without a table there is nothing to print; that is a set of rules too, an empty one.
        sets = dump.rule_sets() or [RuleSet("live", family, backend)]
        rules.helpers_peak_bytes = max(rules.helpers_peak_bytes, done.peak_bytes)
        problem = _problem(done, sets, command)
        signs = None
        if backend == "nft" and not problem:
            from ..._rules.structure import torn_signs
            signs = frozenset().union(*[torn_signs(found) for found in sets if found.tables or found.unreadable])
        if not signs or signs == before:
            return done, sets, problem
        before = signs
    return done, sets, (UNPARSED, "the rules changed during each reading with %s; run it again later"
                        % command[0].rsplit("/", 1)[-1])


def _problem(done, sets, command):
    """(status, why) where the output of a save is not all of the rules, otherwise None."""
    line = (done.err.strip().splitlines() or [""])[0][:TEXT_LIMIT]
    name = " ".join(command).rsplit("/", 1)[-1]
    if done.status == TIMEOUT:
        return TIMEOUT, "%s did not end within %d seconds" % (name, SAVE_SECONDS)
    if done.status != OK:
        return done.status, "%s did not finish: %s" % (
            name, "its output does not end" if done.status == UNPARSED else done.status)
    if done.rc != 0:
        return (DENIED if _DENIED.search(done.err) else UNPARSED), "%s ended with status %d: %s" % (name, done.rc, line)
    if any(found.notices.get("unreadable_line") and not found.tables for found in sets):
        return UNPARSED, "%s printed output that is not a dump" % name
    error = _unexpected(done.err)
    if error and not any(found.tables or found.unreadable for found in sets):
        return UNPARSED, "%s printed no table and complained: %s" % (name, error[0][:TEXT_LIMIT])
    if any(not table.committed for found in sets for table in found.tables.values()):
        return UNPARSED, "the output of %s ends too early" % name
    return None


# Message of an nft program about the other backend, on a node without a program for that (iptables nft-shared.c).
_OTHER_BACKEND = "tables present"


def _unexpected(messages):
    """Error messages of a program, without the message about the other backend."""
    return [line.strip() for line in messages.splitlines() if line.strip() and _OTHER_BACKEND not in line]


def _take_messages(rules, source, messages):
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    warned = [line for line in lines if _OTHER_BACKEND in line]
    for kind, texts in (("legacy_tables_present", warned), ("message", _unexpected(messages))):
        if texts:
            rules.notices.append({"source": source, "kind": kind, "count": len(texts), "line": None,
                                  "text": texts[0][:TEXT_LIMIT]})


def save_command(host, program, backend):
    """The command that prints the rules of a backend, as arguments; None where the node has no such program."""
    for name in (program.replace("tables-", "tables-%s-" % backend, 1), program):
        path = host.find_binary(name)
        if path and backend_of(host, path) == backend:
            return [path]
    for name in MULTI[backend]:
        path = host.find_binary(name)
        if path:
            return [path, program]
    return None


def read_files(host, paths):
    """`Rules` that dumps hold, plain or gzip. Raises BadInput for a path that is not a readable file."""
    rules = Rules("files")
    names = [path.rsplit("/", 1)[-1] for path in paths]
    for path, name in zip(paths, names):
        _read_file(host, rules, path, name if names.count(name) == 1 else path)
    _miss_tables(rules)
    return rules


def _miss_tables(rules):
    """A listing of other tables may accompany dumps of the node's rules, but does not replace them."""
    for source in rules.listings if not rules.rule_sets and rules.nftables is None else ():
        # The other files of a bundle are judged, and this listing too.
        rules.miss(source, OK if rules.of_tree else UNPARSED,
                   "%s contains no table of iptables or of kube-proxy" % source)


def _read_file(host, rules, path, source):
    if not path.startswith("/"):
        raise _errors.BadInput("src %r is not an absolute path; give the whole path of the dump on the node" % path)
    if host.is_dir(path):
        raise _errors.BadInput("src %s is a directory; name the dumps in it one by one" % path)
    dump = _Dump(source)
    status = host.stream_file(path, dump.feed, SAVE_LIMIT)
    if status == ABSENT:
        raise _errors.BadInput("src %s does not exist on the node; check the path and the host" % path)
    if status == DENIED and rules.of_tree:
        return rules.miss(source, status, "a file that may contain rules was not read")
    if status == DENIED:
        raise _errors.BadInput("src %s cannot be read by this user; become root or change its mode" % path)
    if host.stat(path) is None or not host.is_file(path):
        raise _errors.BadInput("src %s is not a regular file; save the dump into one" % path)
    from .dump_forms import is_plain, read_other_forms, take_name
    sets = dump.rule_sets()
    rules.collected[source] = status
    if status != OK:
        rules.miss(source, status, "%s is damaged or too large, and only its beginning was read" % source)
    elif sets and not is_plain(sets):
        sets = read_other_forms(host, path, rules, source)
    elif not sets and rules.nftables is None:
        rules.miss(source, UNPARSED, "%s contains no table of an iptables-save dump" % source)
    take_name(rules, source, sets)
    rules.take(source, sets)
