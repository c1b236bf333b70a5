# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dump of iptables-save -c, kept line by line so that it can be given back to iptables-restore. PRIVATE to the
collection.

Sample:
    *nat
    :PREROUTING ACCEPT [12:3456]
    :KUBE-SERVICES - [0:0]
    [7:420] -A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
    COMMIT
iptables-restore reads one rule a line (iptables/xshared.c xtables_restore_parse_line()), so a comment that contains a
newline cannot be restored, and the text after that newline may look like any line. A dump with such a comment is not
used.
"""

import re

from ..._parse.iptables.save_rule import is_open

_CHAIN = re.compile(r":(\S+) (\S+) \[\d+:\d+\]\Z")
_RULE = re.compile(r"\[(\d{1,20}):(\d{1,20})\] (-A (\S+)(?: .*)?)\Z")


class RawTable:
    """`built_in` and `chains`: names in their order; `rules` {chain: [(text from `-A` on, packets, bytes)]}."""

    def __init__(self):
        self.built_in = []
        self.chains = []
        self.rules = {}

    def texts(self, chain):
        return [text for text, _packets, _bytes in self.rules.get(chain, ())]


class DumpError(Exception):
    """The dump cannot be used; the text is the reason."""


def read_dump(text):
    """`{table: RawTable}` of a dump. Raises DumpError for a dump that is incomplete, or that iptables-restore would
    read with another meaning."""
    tables, table = {}, None
    for line in text.split("\n"):
        line = line.rstrip(" ")  # The legacy backend ends a rule without a target with a blank.
        if not line or line.startswith("#"):
            if "incompatible" in line:
                raise DumpError("it contains %r, so some rules cannot be shown by iptables" % line[:120])
        elif line.startswith("*") and table is None:
            table = tables[line[1:]] = RawTable()
        elif line == "COMMIT" and table is not None:
            table = None
        elif table is None or not _taken(table, line):
            raise DumpError("iptables-restore cannot read this line of it: %s" % ascii(line[:120]))
    if table is not None:
        raise DumpError("its end is missing")
    return tables


def _taken(table, line):
    chain = _CHAIN.match(line)
    if chain:
        (table.chains if chain.group(2) == "-" else table.built_in).append(chain.group(1))
        return True
    rule = _RULE.match(line)
    if rule is None or is_open(line):
        return False
    table.rules.setdefault(rule.group(4), []).append((rule.group(3), int(rule.group(1)), int(rule.group(2))))
    return True


def changed_between(early, late):
    """The difference between two readings of the same tables as a sentence, or None. `early`, `late`: results of
    read_dump().

    Packets still pass rules that no program maintains any more, so counters may rise. A rule whose counter fell was
    written again.
    """
    if sorted(early) != sorted(late):
        return "tables were created or deleted"
    for name in sorted(early):
        before, after = early[name], late[name]
        if (before.built_in, before.chains) != (after.built_in, after.chains):
            return "chains of table %s were created or deleted" % name
        for chain in sorted(set(before.rules) | set(after.rules)):
            if before.texts(chain) != after.texts(chain):
                return "rules of chain %s in table %s changed" % (chain, name)
            for (_text, packets, _bytes), (_same, later, _more) in zip(before.rules[chain], after.rules[chain]):
                if later < packets:
                    return ("a counter in chain %s of table %s decreased, so its rules were written again"
                            % (chain, name))
    return None


def packets_between(early, late):
    """How many packets the rules counted between two readings that changed_between() found equal."""
    return sum(later[1] - row[1] for name in early for chain in early[name].rules
               for row, later in zip(early[name].rules[chain], late[name].rules[chain]))
