# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and bounds of the conntrack timeouts, as users write them. PRIVATE to the collection."""

import re

from .keys import TIMEOUTS

_PREFIX = "net.netfilter.nf_conntrack_"
NAMES = tuple(key[len(_PREFIX):] for key in TIMEOUTS)
# The kernel counts in jiffies, and an int holds at most this many seconds of them (kernel/sysctl.c
# proc_dointvec_jiffies(), HZ 1000).
SECONDS_MOST = ((1 << 31) - 1) // 1000


def timeout_name(text):
    """The name in NAMES that `text` means, with the prefix of the sysctl or without it; None where it is not one of
    them."""
    name = re.sub(r"^(net\.netfilter\.)?nf_conntrack_", "", text)
    return name if name in NAMES else None


def sysctl_of(name):
    """The sysctl of a name in NAMES."""
    return _PREFIX + name
