# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A saved rule set without the chains that Kubernetes and its CNI plugin create themselves. PRIVATE to the collection.

It removes their declarations, their rules, and every rule that jumps to them or matches one of their sets, because
iptables-restore rejects a jump to a missing chain, and with it the whole table. All other bytes stay unchanged and in
place. iptables-restore also accepts what iptables-save never writes: `-I`, `-N`, `-P` and the long names of options
(iptables/iptables-restore.c, iptables/xshared.c).
"""

import collections
import re

from ..._parse.iptables.save_rule import is_open, plain, tokens
from ..._rules.others.owners import CNI, KUBERNETES, owner_of

# Owners whose chains a program on the node creates again.
OWNERS = frozenset(KUBERNETES + CNI)
# felix marks each rule it puts into a built-in chain with a hash of it (calico felix/iptables/table.go).
_MARK = "cali:"
# Their sets do not exist at boot either, and iptables-restore rejects a match on a missing set.
_SETS = re.compile(r"(?:inet6:)?(?:KUBE-|kube-router-|cali[46]0|azure-npm-|weave-|felix-)")
_OF_CHAIN = ("-A", "--append", "-I", "--insert", "-N", "--new-chain", "-P", "--policy", "-F", "--flush", "-X",
             "--delete-chain", "-D", "--delete")
_JUMPS = ("-j", "--jump", "-g", "--goto")
# A comment has at most 255 characters; at most this many further lines may belong to one rule.
_REACH = 255

Cleaned = collections.namedtuple("Cleaned", ("text", "chains", "rules"))


def clean_saved(text):
    """`Cleaned`: the text, and how many declarations and rules were removed."""
    table, kept, chains, rules = None, [], 0, 0
    for line in _joined(text.split("\n")):
        bare = line.strip()
        if bare.startswith("*"):
            table = bare[1:]
        if bare.startswith(":") and owner_of("".join(bare[1:].split(None, 1)[:1]), table) in OWNERS:
            chains += 1
        elif bare[:1] in ("-", "[") and _is_of_theirs(bare, table):
            rules += 1
        else:
            kept.append(line)
    return Cleaned("\n".join(kept), chains, rules)


def _joined(lines):
    """The lines; the lines of a rule whose comment holds line ends are joined."""
    index = 0
    while index < len(lines):
        end = index + 1
        if is_open(lines[index]) and lines[index].lstrip()[:1] in ("-", "["):
            reach = next((number for number in range(end, min(end + _REACH, len(lines))) if is_open(lines[number])),
                         None)
            end = reach + 1 if reach is not None else end
        yield "\n".join(lines[index:end])
        index = end


def _is_of_theirs(rule, table):
    words = tokens(rule.replace("\n", " ")) or rule.split()
    if words[0].startswith("["):
        words = words[1:]
    return any(option in _OF_CHAIN + _JUMPS and owner_of(value, table) in OWNERS
               or option == "--comment" and plain(value).startswith(_MARK)
               or option == "--match-set" and _SETS.match(plain(value)) for option, value in zip(words, words[1:]))
