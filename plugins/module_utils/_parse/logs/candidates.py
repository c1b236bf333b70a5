# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small fixed prefilter for lines of a log that may match a cause. PRIVATE to the collection."""

# Each cause that is a fault has one of these words in its line, and so has a line that ends such a fault; tests check
# this. The words are few, because each costs a pass over all bytes, and no word is in a line that an agent writes at
# every sync.
WORDS = (
    "ailed", "rror", " not ", "n't", "issing", "anary deleted", "xtables lock", " is full", "table full",
    "iptables flush", "Inconsistent", "ChainExists", "ncompatible", "COMMIT expected", "legacy tables", "out-of-sync",
    "overflow", "Killed process", "no destination", "only usable", "o such file", "out waiting", "in use",
    "Invalid argument", "Too many links", "nable to", "o iptables ", "blacklisted", "module_request",
    "match by that name", "just became ready", "default CNI network",
)


def is_candidate(text):
    """Whether a text may match a cause."""
    return any(word in text for word in WORDS)
