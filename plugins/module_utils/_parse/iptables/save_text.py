# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of iptables-save, made from another listing of a table. PRIVATE to the collection."""


# A line that the reader cannot read: lines of the table are missing from here on.
MORE = "? more chains may follow"


class SaveText:
    """`table` (None: not known), `policies` [(chain, policy, packets, bytes)], `chains` names of user chains, `rules`
    lines from `-A` on, `unread` lines with rules that cannot be translated, `whole`: nothing of the table is missing,
    `doubts` sentences about details that the listing does not print, `family` of its addresses, None if the rules have
    to show it, `declared`: the listing names all chains before the first rule."""

    def __init__(self, table, policies, chains, rules, unread=(), whole=False, doubts=(), family=None, declared=False):
        self.table = table
        self.policies = policies
        self.chains = chains
        self.rules = rules
        self.unread = unread
        self.whole = whole
        self.doubts = doubts
        self.family = family
        self.declared = declared

    def lines(self):
        """The lines of iptables-save; a line that could not be read becomes one that the reader counts as unread."""
        found = ["*" + self.table] if self.table else []
        found += [":%s %s [%d:%d]" % row for row in self.policies]
        found += [":%s - [0:0]" % name for name in self.chains]
        found += self.rules
        found += ["? " + text for text in self.unread]
        if not (self.whole or self.declared):
            found.append(MORE)
        return found + (["COMMIT"] if self.whole and self.table else [])
