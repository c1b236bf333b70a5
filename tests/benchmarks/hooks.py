# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the search for hooks takes in 20,000 scripts, compared with grep for the same words."""

import json
import random
import sys

from measure import NODE_PYTHON, TOP, Ansible, CannotRun, Outcome, quiet, take_turns, workplace
from resolve import payload

sys.path.insert(0, str(TOP / "tests" / "fixtures"))

import hook_nodes
import node_tree

sys.path.insert(0, str(TOP / ".build"))

FACTS = "node_facts, hooks only"
FACTS_MODULE = "kubenode.netfilter.node_facts"
GREP = "grep -rlE"
FILES = {False: 20000, True: 500}
ROUNDS = {False: 9, True: 1}
SIZE = 2000
LIMIT = 4
SECONDS_LIMIT = 1.0
FOLDER = "/srv/scripts"
# One script in a hundred has one of these commands; folders take them in turn.
HOOKS = ("iptables -F", "iptables -t nat -F", "systemctl restart iptables", "nft flush ruleset", "ip6tables -X",
         "iptables-restore < /etc/iptables/rules.v4")
WORDS = ("backup check clean config copy count daemon delete device disk echo else exit export file find format group "
         "host if index install kernel limit list log mail memory mount name network node number path pod print "
         "process read remove report return root rotate run send server service set shell size sleep start state "
         "status stop string system table test then time update user value wait while write").split()


def words():
    """The words that the module searches for."""
    from ansible_collections.kubenode.netfilter.plugins.module_utils._script.words import WORDS as searched
    return [word.decode("ascii") for word in searched]


def script(chance, hook):
    """A script of about 2 KB in which only `hook` touches rules."""
    lines, size = ["#!/bin/sh"], 0
    while size < SIZE:
        lines.append("%s=\"%s\"" % (chance.choice(WORDS), " ".join(chance.choice(WORDS) for _word in range(8))))
        size += len(lines[-1]) + 1
    if hook:
        lines.insert(len(lines) // 2, hook)
    return "\n".join(lines) + "\n"


def manifest(number):
    """A node with that many scripts, a hundred in each folder; one script in a hundred has a hook."""
    chance = random.Random(number)
    return dict(
        hook_nodes.DEBIAN, **{
            "%s/%03d/%05d.sh" % (FOLDER.lstrip("/"), index // 100, index): script(
                chance, HOOKS[index // 100 % len(HOOKS)] if index % 100 == 42 else None) for index in range(number)})


def measure(smoke):
    with workplace() as folder:
        tree = node_tree.unpack(manifest(FILES[smoke]), folder / "node")
        options = {"root": tree, "gather_subset": ["flush_hooks"], "hook_directories": [FOLDER]}
        ours = payload(Ansible(folder), FACTS_MODULE, options)
        section = json.loads(quiet([NODE_PYTHON, ours]))["ansible_facts"]["node_flush_hooks"]
        if section["scanned"]["files"] < FILES[smoke] or "timeout" in section["collected"].values():
            raise CannotRun("not every file was read: %s" % section["scanned"])
        grep = ["grep", "-rlE", "|".join(words()), tree + FOLDER]
        found = len(quiet(grep).splitlines())
        seconds = take_turns({FACTS: lambda: quiet([NODE_PYTHON, ours]), GREP: lambda: quiet(grep)}, ROUNDS[smoke])
    what = "%d scripts of 2 KB, %d of them with a hook, against grep for the same words; warm cache" % (FILES[smoke],
                                                                                                        found)
    outcome = Outcome("hooks", what, FACTS, GREP, seconds, LIMIT, True, [])
    met = "met" if outcome.median(FACTS) <= SECONDS_LIMIT else "missed"
    outcome.notes.append("%d hooks reported; the whole call %.2f s (target at most %.1f: %s)" % (
        section["hook_count"], outcome.median(FACTS), SECONDS_LIMIT, met))
    return outcome
