# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel's build configuration. PRIVATE to the collection.

Sample:
    # Linux/x86 6.1.176 Kernel Configuration
    CONFIG_NF_CONNTRACK=m
    # CONFIG_IP_VS is not set
Grammar: kernel scripts/kconfig/confdata.c.
"""

import re

_SYMBOL = re.compile(r"^(?:CONFIG_([A-Za-z0-9_]+)=(.*)|# CONFIG_([A-Za-z0-9_]+) is not set)$", re.M)
# Written by kconfig at the top of a whole configuration. A fragment (what distributions merge) has no such line.
_WHOLE = re.compile(r"^# Linux/\S+ \S+ Kernel Configuration$", re.M)


def parse_kernel_config(text):
    """(`{symbol: y | m | n | value}`, whether this is a whole configuration).

    Symbols carry no `CONFIG_`. A symbol that a fragment does not name is unknown.
    """
    symbols = {}
    for name, value, unset in _SYMBOL.findall(text):
        symbols[name or unset] = value.strip() if name else "n"
    return symbols, is_whole(text)


def is_whole(text):
    """Whether this is a whole configuration, not a fragment."""
    return bool(_WHOLE.search(text[:4096]))
