# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log lines that the agents and the kernel of a running node wrote in the last minutes."""

import re
import time

from ..._host.host import ABSENT, DENIED, OK
from ..._host.walk import stream_back
from ..._names import BUNDLE_LOGS, BUNDLE_LOG_NAMES, UNCOLLECTED
from ..._parse.kube.kubelet_logs import SYSTEM_NAMESPACES
from ..._parse.logs.line import parse_line
from . import lines as log_lines

# The log checks judge only lines that are at most this old.
RECENT_SECONDS = 15 * 60
MOST_ROWS, MOST_CHARACTERS, _ROWS_OF_SOURCE = 40, 8 * 1024, 20
# systemd-journald.service(8); without one journalctl prints nothing and succeeds.
_JOURNALS = ("/run/log/journal", "/var/log/journal")
# Bytes that are read from each log, more than kube-proxy writes in 15 minutes in which each sync fails, and from all.
_END_BYTES, _MOST_BYTES = 256 * 1024, 2 * 1024 * 1024
# Lines of the journal, some 2 MB.
_JOURNAL_LINES = 10000
_LOGS, _NAMES_LIMIT = 40, 256 * 1024
# The end of a log in which its last time is searched, and how many lines before that may have a time of another form.
_LAST_BYTES, _END_LINES = 64 * 1024, 200
_ZONE = re.compile(r"(?:Z|[+-]\d\d:?\d\d)\Z")


def collect_node_logs(host, node, now=None):
    """The section `node_logs`. Only the logs of a running node have current lines; for a bundle, `ends` has the last
    time of each log."""
    now = time.time() if now is None else now
    section = {"schema": 1, "collected": {"journal": ABSENT, "files": ABSENT}, "lines": [], "read": [], "cut": False,
               "ends": None, "kube_proxy_ports": None, "now": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
               "utc_offset_seconds": time.localtime(now).tm_gmtoff}
    if node["place"] == "bundle":
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


# The logs that a support bundle holds.
# The logs do not contain the time of their collection, so a line is recent relative to the last line of its log.
def add_logs_of_bundle(host, section):
    """Fills a section `node_logs` that has no line yet."""
    names = host.read_text(BUNDLE_LOG_NAMES, _NAMES_LIMIT).text.splitlines()
    if not names:
        section["collected"] = dict.fromkeys(section["collected"], UNCOLLECTED)
        return
    section["collected"]["files"] = OK
    left, found = log_lines.MOST_BYTES, []
    for name in names[:_LOGS]:
        path = BUNDLE_LOGS + name
        status, texts, size, cut = log_lines.of_file(host, path, left, log_lines.MOST_ROWS_OF_FILE)
        if status != OK:
            section["collected"]["files"] = status
        left -= size
        section["cut"] = section["cut"] or cut
        ends = _last_times(host, path) if texts else []
        section["read"].append(name)
        section["ends"] += [{"source": name, "time": end} for end in ends]
        found += [(name, text) for text in texts]
    section["lines"] = log_lines.bounded(found)
    section["cut"] = section["cut"] or len(names) > _LOGS or len(section["lines"]) < len(found)


def _last_times(host, path):
    """The last time of each form in the last lines of a log: with and without a year, with and without a zone."""
    blocks, found, left = [], {}, _END_LINES
    stream_back(host, host.tree_path(path) or path, lambda block, _is_first: blocks.insert(0, block), _LAST_BYTES)
    for row in reversed(b"".join(blocks).decode("utf-8", "replace").split("\n")):
        time = parse_line(row).time if row else None
        if time:
            found.setdefault((time[4:5] == "-", bool(_ZONE.search(time))), time)
        left -= bool(found)
        if not left:
            break
    return list(found.values())
