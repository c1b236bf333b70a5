# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script does to the rules of a node, and what it starts. PRIVATE to the collection.

Effect: `line` is where the command begins, `span` the part of the text that would have to be removed; with a `:` in its
place the text is still a script. `command` is its source, not masked. `sort`:
    flush, delete, policy   rules, chains, a policy of iptables' tables
    restore                 iptables-restore of `file`, or of what the script itself holds
    ruleset, table          nft: everything, or one table
    apply                   `nft -f` of `file`, whose statements decide what happens
    service                 `unit` gets `verb`
    sets, ipvs, module      ipset, ipvsadm, modprobe -r and rmmod
    connections             conntrack -F
    settings                lines that are written into `file` of modprobe.d or sysctl.d, or what the rules do that are
                            written into a `file` that a service loads; `tables` holds them, `verb` is enable where the
                            script enables that service
    copy                    the files in `tables` are copied into such a `file`
`families`: ipv4, ipv6; of nft also inet, arp, bridge. `tables` and `chains`: `("*",)` is every one. `comes_back`: no,
saved (the same script restores what it saved), replaced (other rules are loaded instead), unknown. `confidence`:
certain, likely (through a name that is not known in this text), possible. What the same script does after it:
`saved_to` is where it saves the rules that are left, or None; `restarted` are the programs of Kubernetes that it
restarts; `appends` is true where it adds rules.

Run: a program or unit that a script starts and that has to be read too, and its `span`. `how`: run, source, directory
(run-parts), unit (`arguments` is the verb). `after`: see after() of sequence.py.

Reading: `effects` and `runs` in the order of the text; `declared` is false where some of the text could not be read;
`cut` names in a few words the limit that ended the reading, or None; `statements` is how many were followed; `uncalled`
are names of functions that the text defines and never calls.
"""

import collections

# Around what a text does not know, such as the value of a variable.
MARK = "\0"
EVERY = ("*",)
CONNECTIONS = "connections"
IPV4, IPV6 = "ipv4", "ipv6"
CERTAIN, LIKELY, POSSIBLE = CONFIDENCES = ("certain", "likely", "possible")

Effect = collections.namedtuple("Effect", (
    "line", "span", "command", "sort", "families", "tables", "chains", "unit", "verb", "file", "comes_back",
    "confidence", "saved_to", "restarted", "appends"))
Effect.__new__.__defaults__ = (None, (), False)
Run = collections.namedtuple("Run", ("line", "path_or_name", "arguments", "how", "span", "after"))
Run.__new__.__defaults__ = ((),)
Reading = collections.namedtuple("Reading", ("effects", "runs", "declared", "cut", "statements", "uncalled"))
Reading.__new__.__defaults__ = ((),)
