# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks that running pods were attached to, with the settings of that time.

libcni keeps a file for each attachment until the network was removed again (containernetworking/cni libcni/api.go:
results below /var/lib/cni; Mirantis/cri-dockerd --cni-cache-dir: below /var/lib/cni/cache). The file of a pod that
ended in a crash or a reboot stays, so it counts only for a sandbox that runs."""

import collections
import posixpath
import re

from ..._host.host import ABSENT, OK
from ..unread import status_of_notes
from .host_local import DATA_DIRECTORY, ipam_of
from .runtime import runtime_of
from .sandboxes import running_ids

FOLDERS = ("/var/lib/cni/results", "/var/lib/cni/cache/results")
# flannel-io/cni-plugin keeps the configuration of the plugin that it runs for a pod here (saveScratchNetConf).
_OF_FLANNEL = "/var/lib/cni/flannel"
READ_LIMIT, SIZE_LIMIT = 1024, 256 * 1024
_NAME = re.compile(r".+-([0-9a-f]{64})-[^-]+\Z")

# `path` of the file, `result` a CniResult, `entries` the settings of the plugins that ran.
Attached = collections.namedtuple("Attached", "path result entries")


def attached_pods(host, node, before):
    """([Attached] of the running sandboxes whose file is older than `before`, whether it is known which sandboxes
    run, status of reading the files)."""
    with host.noting() as notes:
        listed = [(folder, name) for folder in FOLDERS for name in host.list_dir(folder)[1]]
    found = [(folder + "/" + name, _NAME.match(name)) for folder, name in listed]
    found = [(path, match.group(1)) for path, match in found if match]
    if not found:
        return [], True, status_of_notes(notes)
    status, running = running_ids(host, runtime_of(host, node))
    paths = [path for path, sandbox in found if running is None or sandbox in running][:READ_LIMIT]
    with host.noting() as of_files:
        pods = list(filter(None, (_read(host, path, before) for path in paths)))
    return pods, status == OK, status_of_notes(dict(notes, **of_files))


def _read(host, path, before):
    seen, text = host.stat(path), host.read_text(path, SIZE_LIMIT)
    if seen is None or seen.st_mtime > before or not text.ok:
        return None
    from ..._parse.kube.cni_result import parse_cni_result
    result = parse_cni_result(text.text)
    if result is None or "-%s-" % result.sandbox not in path:
        return None
    return Attached(path, result, [_delegate(host, entry, result) or entry for entry in result.entries])


def _delegate(host, entry, result):
    """The settings of the plugin that flannel ran, or None."""
    if entry["type"] != "flannel":
        return None
    from ..._parse.kube.cni_config import parse_cni_config
    given = entry.get("dataDir")
    folder = posixpath.join("/", given) if isinstance(given, str) and given else _OF_FLANNEL
    text = host.read_text("%s/%s" % (folder, result.sandbox), SIZE_LIMIT)
    entries = parse_cni_config(text.text, False).entries if text.ok else []
    return entries[0] if entries else None


def is_still_attached(host, attached, family):
    """Whether the network of the pod is not being removed now, None where that is not known: the plugins remove the
    lease before their rules, and libcni removes its file after both."""
    if host.presence(attached.path) != OK:
        return False
    for ipam in filter(None, map(ipam_of, attached.entries)):
        folder = ipam.get("dataDir")
        folder = posixpath.join("/", folder) if isinstance(folder, str) and folder else DATA_DIRECTORY
        leases = [host.read_text("%s/%s/%s" % (folder, attached.result.network, address))
                  for address in attached.result.addresses if "ipv%d" % address.version == family]
        if any(lease.text.split("\n")[0].strip() == attached.result.sandbox for lease in leases):
            return True
        return False if all(lease.status in (OK, ABSENT) for lease in leases) else None
    return True
