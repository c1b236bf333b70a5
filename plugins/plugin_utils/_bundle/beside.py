# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a text shows beside the kind that it has. PRIVATE to the collection."""

import re
import zlib

from ...module_utils import _names
from .api_endpoints import listed_endpoints
from .conntrack_entries import untranslated
from .tunnel_marks import marked_tunnels

_POD_BRIDGE = re.compile(r"(?:cbr|cni)\d+\Z|kube-bridge\Z|weave\Z")
FILES = {
    "api_services": lambda text: {"%s/%08x" % (_names.BUNDLE_API_SERVICES, zlib.crc32(text.encode())): text},
    "conntrack_entries": lambda text: {_names.BUNDLE_CONNTRACK: text},
    "tunnel_marks": lambda text: {_names.BUNDLE_TUNNEL_MARKS: text},
    "api_endpoints": lambda text: {"%s/%08x" % (_names.BUNDLE_API_ENDPOINTS, zlib.crc32(text.encode())): text},
}


def found_beside(item, log):
    """[(item, kind, None)] as of file_kinds.taken(); `log`: the item where it is a log."""
    return listed_endpoints(item) + untranslated(item) + (marked_tunnels(item) if log is None else [])


def pod_bridges(devices):
    """{path: content} of the bridges of pods among {name: [(kind, address, length)]}."""
    lines = "".join("%s %s/%s\n" % ((name,) + row[1:]) for name, held in devices.items() for row in held
                    if _POD_BRIDGE.match(name))
    return {_names.BUNDLE_POD_BRIDGES: lines} if lines else {}
