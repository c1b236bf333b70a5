# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that end their chain: no rule behind them is reached. PRIVATE to the collection."""

from .others.owners import CNI, KUBERNETES, owner_of
from .targets import REFUSALS, TERMINAL

# Deeper than the jumps that a kernel follows in nft tables (NFT_JUMP_STACK_SIZE, 16); only an edited dump is deeper.
_DEPTH_LIMIT = 30


def ends_chain(rule):
    """True for a rule that takes every packet out of its chain."""
    return not rule.has_match and (rule.goto or rule.target in TERMINAL)


def takes_all(table, rule):
    """True for a rule of a built-in chain that no packet gets past: it ends the chain, or jumps without a match to
    another program's chain from which no packet returns. Refusals in such a chain are reported on their own."""
    return ends_chain(rule) or (_is_plain_jump(table, rule) and _keeps_all(table, rule.target, {}, 0))


def _is_plain_jump(table, rule):
    """True for a rule that sends all packets to another program's chain."""
    return (not rule.has_match and rule.target in table.chains
            and owner_of(rule.target, table.name) not in KUBERNETES + CNI)


def _keeps_all(table, name, known, depth):
    """`known`: {chain: answer}. Each chain is asked once: chains may jump to each other many times, or back."""
    if name not in known:
        known[name] = False
        known[name] = depth < _DEPTH_LIMIT and _keeps(table, name, known, depth)
    return known[name]


def _keeps(table, name, known, depth):
    for rule in table.chains[name].rules:
        if rule.target == "RETURN" or (rule.goto and rule.has_match):
            return False  # After a goto the packet returns to the caller of this chain.
        if not rule.has_match and rule.target in TERMINAL:
            return rule.target not in REFUSALS
        if _is_plain_jump(table, rule) and _keeps_all(table, rule.target, known, depth + 1):
            return True
        if rule.goto:
            return False
    return False
