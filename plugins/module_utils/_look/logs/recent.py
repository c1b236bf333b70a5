# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log lines that the agents and the kernel of a running node wrote in the last minutes. PRIVATE to the collection."""

import time

from ..._host.host import ABSENT, DENIED, OK
from ..._parse.kube.pod_log_names import SYSTEM_NAMESPACES
from . import lines as log_lines

# The log checks judge only lines that are at most this old.
RECENT_SECONDS = 15 * 60
MOST_ROWS = 40
MOST_CHARACTERS = 8 * 1024
_ROWS_OF_SOURCE = 20
# systemd-journald.service(8); without one journalctl prints nothing and succeeds.
_JOURNALS = ("/run/log/journal", "/var/log/journal")
# Bytes that are read from each log, more than kube-proxy writes in 15 minutes in which each sync fails, and from all.
_END_BYTES, _MOST_BYTES = 256 * 1024, 2 * 1024 * 1024
# Lines of the journal, some 2 MB.
_JOURNAL_LINES = 10000


def collect_node_logs(host, node, now=None):
    """The section `node_logs`. Only the logs of a running node have current lines; for a bundle, `ends` has the last
    time of each log."""
    now = time.time() if now is None else now
    section = {"schema": 1, "collected": {"journal": ABSENT, "files": ABSENT}, "lines": [], "read": [], "cut": False,
               "ends": None, "kube_proxy_ports": None,
               "now": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
               "utc_offset_seconds": time.localtime(now).tm_gmtoff}
    if node["place"] == "bundle":
        from .of_bundle import add_logs_of_bundle
        section["ends"] = []
        add_logs_of_bundle(host, section)
    if node["place"] != "live":
        return section
    found = []
    since = "--since=-%ds" % RECENT_SECONDS
    status = OK if any(host.is_dir(folder) for folder in _JOURNALS) else ABSENT
    if status == OK:
        status, texts, size, cut = log_lines.journal(host, since, most=_JOURNAL_LINES)
        # To a user who may not read the journal, journalctl shows only that user's own lines.
        status = DENIED if status == OK and not size and not host.is_root() else status
    section["collected"]["journal"] = status
    if status == OK:
        section.update(read=[log_lines.JOURNAL], cut=cut)
        found += [(log_lines.JOURNAL, text) for text in texts]
        agents = log_lines.agent_journals(host, SYSTEM_NAMESPACES, since, most=_JOURNAL_LINES)
        for source, (seen, texts, _size, cut) in agents:
            if seen != OK:
                section["collected"]["journal"] = seen
            section["read"].append(source)
            section["cut"] = section["cut"] or cut
            found += [(source, text) for text in texts[:_ROWS_OF_SOURCE]]
    with host.noting() as notes:
        paths = log_lines.agent_logs(host, SYSTEM_NAMESPACES) + log_lines.own_logs(host)
        paths += [] if status == OK else log_lines.system_logs(host)
        paths = [path for path in paths if not path.endswith(".gz")]
        section["read"] += paths
        left = _MOST_BYTES
        for path in log_lines.newest_first(host, paths, now - RECENT_SECONDS):
            _status, texts, size, cut = log_lines.of_file(host, path, min(_END_BYTES, left), _ROWS_OF_SOURCE)
            left -= size
            section["cut"] = section["cut"] or cut
            found += [(path, text) for text in texts]
    section["collected"]["files"] = DENIED if DENIED in notes.values() else OK if paths else ABSENT
    section["lines"] = log_lines.bounded(found, MOST_ROWS, MOST_CHARACTERS)
    section["cut"] = section["cut"] or len(section["lines"]) < len(found)
    section["read"] = sorted(section["read"])[:MOST_ROWS]
    section["kube_proxy_ports"] = log_lines.kube_proxy_ports(host, found)
    return section
