# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often kubelet has restarted a container, and since when. PRIVATE to the collection."""

import re

from .._parse.kube.container_state import seconds_of
from .containers import POD_LOGS

_LOG = re.compile(r"([0-9]{1,6})\.log\Z")


def restarts_of(host, container, now=None):
    """(restarts of a container, seconds since the container before it wrote its first log line), each None where it is
    not known. The number of its newest log file is the number of restarts (pkg/kubelet/kuberuntime/helpers.go)."""
    if not container or not container["pod"] or not container["name"]:
        return None, None
    folder = "%s/%s_%s_%s/%s" % (POD_LOGS, container["namespace"], container["pod"], container["pod_uid"],
                                 container["name"])
    names = host.list_dir(folder)[1]
    numbers = [int(match.group(1)) for match in map(_LOG.match, names) if match]
    if not numbers:
        return None, None
    before = "%d.log" % (max(numbers) - 1)
    # After a rotation the first line of a log is not the first line after the start.
    if before not in names or now is None or any(name.startswith(before + ".") for name in names):
        return max(numbers), None
    started = _first_time(host, folder + "/" + before)
    return max(numbers), None if started is None or started > now else round(now - started, 1)


def _first_time(host, path):
    chunks = []
    host.stream_file(path, chunks.append, 64, packed=False)
    # The first word of each line of a CRI log (kubernetes pkg/kubelet/kuberuntime/logs): 2026-11-23T08:40:02.123+01:00.
    time, blank, _rest = b"".join(chunks).decode("ascii", "replace").partition(" ")
    return seconds_of(time) if blank else None
