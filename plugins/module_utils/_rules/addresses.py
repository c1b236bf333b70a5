# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses and networks of rules as numbers, to compare many of them. PRIVATE to the collection."""

import functools
import ipaddress
import re

_LENGTH = re.compile(r"\d{1,3}\Z")


def number_of(address):
    """The address as a number; None for a text that is not an address."""
    try:
        return int(ipaddress.ip_address(address))
    except ValueError:
        return None


@functools.lru_cache(maxsize=1024)
def range_of(network):
    """(first, last) number of the value of `-s` or `-d`; None for an invalid address, and for a mask with holes."""
    address, slash, length = network.partition("/")
    number, bits = number_of(address), 128 if ":" in address else 32
    if number is None or (slash and (not _LENGTH.match(length) or int(length) > bits)):
        return None
    rest = bits - int(length or bits)
    first = number >> rest << rest
    return first, first + (1 << rest) - 1


def within(address, network):
    """True if an address is in a network, None if either is not known."""
    found, number = range_of(network), None if address is None else number_of(address)
    return None if found is None or number is None else found[0] <= number <= found[1]
