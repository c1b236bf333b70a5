# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of kernel modules and of the files of a support bundle: the one place that knows their spelling. PRIVATE to the
collection."""

import re

from ._errors import BadInput

# Status of evidence that a support bundle does not hold: nothing is known about it.
UNCOLLECTED = "uncollected"
# Stands for the release of the kernel of a bundle that does not contain it.
UNKNOWN_RELEASE = "unknown"
# Files that the layout of a bundle adds to the tree: outputs of commands, rules in any form, folders collected as a
# whole, and what was recognised.
BUNDLE_FOLDER = "/.kubenode-bundle"
BUNDLE_COMMANDS, BUNDLE_RULES = BUNDLE_FOLDER + "/commands", BUNDLE_FOLDER + "/rules"
# Addresses of the node, of which there may be more.
BUNDLE_SOME_ADDRESSES = BUNDLE_FOLDER + "/addresses"
# Networks of the pods of nodes (podCIDRs), which kubectl printed.
BUNDLE_POD_NETWORKS = BUNDLE_FOLDER + "/pod-networks"
# Names of interfaces that the node does not have.
BUNDLE_ABSENT_DEVICES = BUNDLE_FOLDER + "/absent-devices"
# Files as in /proc/net with routes of the node, of which there may be more.
BUNDLE_SOME_ROUTES = BUNDLE_FOLDER + "/routes"
# Bridges of pods and their networks, one a line.
BUNDLE_POD_BRIDGES = BUNDLE_FOLDER + "/pod-bridges"
# Marks that tunnels put on their encrypted packets, one a line: the mark, the name.
BUNDLE_TUNNEL_MARKS = BUNDLE_FOLDER + "/tunnel-marks"
# Endpoints of the API server: files with lines of a namespace, a name and ADDRESS:PORT,...
BUNDLE_API_ENDPOINTS = BUNDLE_FOLDER + "/api-endpoints"
# Services of the API server: files with lines of an address, a port, a protocol and ADDRESS:PORT,... of its endpoints.
BUNDLE_API_SERVICES = BUNDLE_FOLDER + "/api-services"
# UDP connections without a translation and an answer, one a line: client, address, port.
BUNDLE_CONNTRACK = BUNDLE_FOLDER + "/conntrack"
# The responses of kube-proxy at its HTTP paths.
BUNDLE_ANSWERS = BUNDLE_FOLDER + "/kube-proxy"
# Logs below their paths in the bundle, and a list of these.
BUNDLE_LOGS, BUNDLE_LOG_NAMES = BUNDLE_FOLDER + "/logs", BUNDLE_FOLDER + "/log-names"
# Target of the link that stands for a file which the bundle has and which was not read. No file system has such a name,
# so that reading it fails for root, too.
BUNDLE_UNREAD = "unread" + "-" * 250
# What variables of node_policy set: the mode and the version of kube-proxy.
BUNDLE_DECLARED = BUNDLE_FOLDER + "/declared.json"
BUNDLE_WHOLE, BUNDLE_RECORD = BUNDLE_FOLDER + "/whole", BUNDLE_FOLDER + "/record.json"

# depmod and kmod strip exactly these (kmod shared/util.c); kernels compress with one of the three.
COMPRESSIONS = ("", ".gz", ".xz", ".zst")

# At most so many modules of a node are looked at in one call: the evidence stays below 64 KB.
NAMES_LIMIT = 100

# Characters of names for modprobe, modules-load.d and request_module(), including aliases such as ip_set_hash:ip and
# net-pf-16-proto-16-family-IPVS. 64 bytes less the NUL: MODULE_NAME_LEN of include/linux/moduleparam.h is shorter,
# aliases may be longer than names.
_NAME = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.:+-]{0,63}\Z")


def is_name(text):
    """True for a valid module name or alias: no path, no blank, no option."""
    return bool(_NAME.match(text)) and ".." not in text


def normalise(name):
    """kmod's spelling: `-` and `_` mean the same (kmod shared/util.c underscores)."""
    return name.replace("-", "_")


def of_file(path):
    """Module name of a file of a modules tree (`kernel/net/ipv4/netfilter/ip-tables.ko.xz` is `ip_tables`), or None."""
    base = path.rsplit("/", 1)[-1]
    for compression in COMPRESSIONS:
        ending = ".ko" + compression
        if base.endswith(ending) and len(base) > len(ending):
            return normalise(base[:-len(ending)])
    return None


def checked(names):
    """The names in kmod's spelling, once each, in the order given. Raises BadInput at the first invalid one."""
    done = []
    for name in names:
        if not is_name(name):
            raise BadInput(
                "%r is not a kernel module name; give names such as nf_conntrack (letters, digits, '_', '-', ':', '.', "
                "no path)" % (name,))
        if normalise(name) not in done:
            done.append(normalise(name))
    return done
