# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Address ranges: which of them overlap, and which addresses are in no range. PRIVATE to the collection.

A range is written as `10.244.0.0/16`; bits after the prefix length are ignored, as in Kubernetes. IPv4 and IPv6 ranges
never overlap.
"""

import functools
import itertools
import re
import sys

from ...module_utils._errors import BadInput
from .._options import checked

try:
    import netaddr
except ImportError:
    netaddr = None

# netaddr takes 10.1 and 0x0a as addresses, too.
_PART = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_RANGE = re.compile(r"(?:%s(?:\.%s){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)(/\d{1,3})?\Z" % (_PART, _PART))
_LIST = {"type": "list", "elements": "str"}


def ranges_in(name, texts, with_length=True):
    """[netaddr.IPNetwork] of a list of texts; `with_length`: each must have a prefix length. Raises BadInput that names
    `name`."""
    if netaddr is None:
        raise BadInput("The Python package netaddr is missing on the controller; install it for %s" % sys.executable)
    return [_range(name, text, with_length) for text in checked(name, texts, _LIST) or []]


def _range(name, text, with_length):
    found = range_of(text)
    if found is None or (with_length and "/" not in text):
        raise BadInput("%s: %r is not an address range; write it as 10.244.0.0/16 or fd00:10:244::/56"
                       % (name, text[:60]))
    return found


@functools.lru_cache(maxsize=1024)
def range_of(text):
    """The netaddr.IPNetwork of a range, or of one address; None if the text is neither of them, or null."""
    if text is None or not _RANGE.match(text):
        return None
    try:
        return netaddr.IPNetwork(text).cidr
    except (netaddr.AddrFormatError, ValueError):
        return None


def family_of(found) -> str:
    return "ipv%d" % found.version


def is_in(inner, outer):
    """True if every address of `inner` is in `outer`."""
    return inner.version == outer.version and inner in outer


def shared(one, another):
    """The common part of two ranges, which is the smaller of them; None if they do not overlap."""
    return one if is_in(one, another) else another if another.version == one.version and another in one else None


def overlapping(named):
    """[{"first", "first_range", "second", "second_range", "family", "range"}] of `{name: [range]}`, each pair of names
    once."""
    if not isinstance(named, dict):
        raise BadInput("needs a dictionary of lists of ranges, not %s" % type(named).__name__)
    parsed = [(name, ranges_in(name, texts)) for name, texts in named.items()]
    return [{"first": first, "first_range": str(one), "second": second, "second_range": str(other),
             "family": family_of(one), "range": str(shared(one, other))}
            for (first, ones), (second, others) in itertools.combinations(parsed, 2) for one in ones for other in others
            if shared(one, other)]


def outside(texts, ranges):
    """The addresses and ranges of a list that are not completely in one of `ranges`; unchanged and in their order."""
    if not isinstance(texts, (list, tuple)):
        raise BadInput("needs a list of addresses or ranges, not %s" % type(texts).__name__)
    around = ranges_in("ranges", ranges)
    parsed = ranges_in("input", texts, with_length=False)
    return [text for text, found in zip(texts, parsed) if not any(is_in(found, other) for other in around)]
