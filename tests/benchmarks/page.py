# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/benchmarks.md: the results, the machine and the date."""

import datetime
import os
import pathlib
import platform
import re

from measure import NODE_PYTHON, VENV, quiet

PAGE = """\
# Benchmarks

How long the collection takes, each time against something well known in the same run on the same machine. The contenders take
turns, so that other work of the machine affects both. The numbers are medians of whole runs in wall-clock time, in brackets
the shortest and the longest.

| benchmark | measured | against | ratio | target | |
| --- | --- | --- | --- | --- | --- |
{rows}

{details}

## What speed tricks earn

CPU time of all processes of `preflight.yml --check`, controller and nodes together, over live ssh hosts with an sshd, a
network, a /proc and the rules of a small cluster of their own, on 2026-11-26 and 27. The machine (below) was never
quiet: its load was 13 to 24, so the wall-clock time of the same play varied from 18 to 48 s and is not given. The plays
took turns; medians of 2 or 3 rounds, with 100 hosts 1 round. A trick stays if it saves 15 %.

| 20 hosts, 3 rounds | CPU time | against all tricks |
| --- | --- | --- |
| one ping | 7.1 s | 0.58 |
| all tricks | 12.4 s | 1.00 |
| without bytecode | 16.4 s | 1.32 |
| without bytecode and without a finder that compiles each file once | 18.9 s | 1.52 |
| without imports in functions | 13.0 s | 1.05 |
| without gc.freeze | 13.4 s | 1.08 |
| without packing facts into a text | 13.4 s | 1.08 |
| without sharing ten checks of the user (computed from 4.6 ms a load) | 12.7 s | 1.02 |

| without gc.freeze and the text, and against compile time | 20 hosts, 2 to 3 rounds | | 100 hosts, 1 round | |
| --- | --- | --- | --- | --- |
| one ping | 7.5 s | 0.60 | 44.9 s | 0.69 |
| all tricks | 12.5 s | 1.00 | 65.3 s | 1.00 |
| bytecode alone | 16.5 s | 1.32 | 78.0 s | 1.19 |
| the finder alone | 22.3 s | 1.78 | | |
| imports in functions alone | 23.9 s | 1.91 | | |
| nothing | 27.1 s | 2.17 | 115.6 s | 1.77 |

The `gc.freeze`, the text and the shared checks are gone. Bytecode stays. The finder and the imports in functions stay,
too, because fewer than ten hosts, and nodes with another Python than the controller, are sent sources: one look at a
node without rules takes 0.36 s of CPU time more than a ping with them, and 0.73 s without (medians of 5 in turns, load
5).

## The machine

{machine}

## How to repeat

`make bench` measures and prints, `make bench SMOKE=1` only sees that one benchmark of each kind still runs, and
`.venv/bin/python tests/benchmarks/run.py --write` measures and writes this page. A name behind it (`fleet`, `resolve`,
`load_persist`, `rules_nft`, ...) runs one alone. It needs what the tests need, and root to install missing packages: an
ssh server of its own on a loopback port, the kernel package of the distribution, a virtual machine, and
community.general out of the PyPI package `ansible` to compare with. The first run fetches the last three into
`.cache/`. The rules are put into network namespaces of their own. The hosts of `fleet` are this machine, in namespaces
in which it forwards packets as a node does; those of `fleet_findings` and `fleet_guarded` are image trees, so that
fixes change only the tree. These hosts are names of one address, so they share a connection, of which sshd serves ten
sessions; further commands connect anew, and a ping without pipelining sends several. The three are therefore measured
once more where each host has a connection of its own, as the nodes of a fleet have, and beside a process that keeps one
core busy.

`KUBENODE_BEFORE=main .venv/bin/python tests/benchmarks/run.py before` takes turns with looks of that commit: all
sections of a healthy node with the rules of 1000 Services. It prints the ratio and the difference, which must be at
most 0.2 s. Between the commit before checks CNI020 to KPROXY024 and the one after them it was 0.005 s: 0.779 s and
0.774 s, ratio 1.01, medians of 15 looks at 11,045 rules.

A missed target is printed and fails nothing, because a busy machine misses it, too: measure on a quiet one.
"""


def times(outcome, contender):
    seconds = outcome.seconds[contender]
    return "%s %.2f s (%.2f to %.2f)" % (contender, outcome.median(contender), min(seconds), max(seconds))


def row(outcome):
    return "| %s | %s | %s | %.2f | %s | %s |" % (
        outcome.name, times(outcome, outcome.ours), times(outcome, outcome.other), outcome.ratio, outcome.target,
        outcome.verdict)


def details(outcome):
    rounds = len(outcome.seconds[outcome.ours])
    return "- **%s**: %s; %d rounds.%s" % (outcome.name, outcome.what, rounds,
                                           "".join(" %s%s." % (note[:1].upper(), note[1:]) for note in outcome.notes))


def machine():
    """(name, value) of the properties of the machine on which the numbers depend."""
    memory = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(encoding="ascii")).group(1))
    core = quiet([VENV / "bin" / "ansible", "--version"])
    return [
        ("date", datetime.date.today().isoformat()),
        ("cores", os.cpu_count()),
        ("memory", "%.0f GiB" % (memory / 1024 / 1024)),
        ("kernel", "%s, %s" % (platform.release(), platform.machine())),
        ("load when done", "%.1f, %.1f and %.1f over 1, 5 and 15 minutes" % os.getloadavg()),
        ("ansible-core", re.search(r"core ([^\]\s]+)", core).group(1)),
        ("Python of the controller", platform.python_version()),
        ("Python of the nodes", quiet([NODE_PYTHON, "--version"]).split()[1]),
    ]


def render(outcomes):
    return PAGE.format(rows="\n".join(row(outcome) for outcome in outcomes),
                       details="\n".join(details(outcome) for outcome in outcomes),
                       machine="\n".join("- %s: %s" % pair for pair in machine()))
