# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Agents whose containers write into the journal, through Docker's log driver journald. PRIVATE to the collection.

Such a container has no file below /var/log/pods. dockerd sends its lines with CONTAINER_NAME, and with a tag as
SYSLOG_IDENTIFIER, by default the first 12 digits of the container's ID
(docs.docker.com/engine/logging/drivers/journald, moby daemon/logger/journald/journald.go).
"""

from ..._host.host import ABSENT, OK, UNPARSED
from ..._parse.kube.pod_log_names import AGENTS, parse_docker_name

# Other programs may send a CONTAINER_NAME as well, but not with the unit of dockerd (systemd.journal-fields(7)).
_OF_DOCKER = "_SYSTEMD_UNIT=docker.service"
_NAMES_LIMIT, _SECONDS = 256 * 1024, 2.0
_MOST_AGENTS, _MOST_NAMES = 8, 40


def agent_terms(host, namespaces=("",)):
    """(status, `{container: terms of journalctl}`) of agents in pods whose namespace begins with one of
    `namespaces`."""
    if host.find_binary("dockerd") is None:
        return ABSENT, {}
    chunks, found = [], {}
    done = host.stream(["journalctl", "--no-pager", "--quiet", "--field=CONTAINER_NAME"], chunks.append, _SECONDS,
                       _NAMES_LIMIT)
    if done.status != OK or done.rc:
        return UNPARSED if done.status == OK else done.status, {}
    for name in sorted(b"".join(chunks).decode("utf-8", "replace").splitlines()):
        container, _pod, namespace = parse_docker_name(name) or (None, None, "")
        # The names of pod folders also begin with the namespace and an underscore.
        if container in AGENTS and (namespace + "_").startswith(namespaces):
            found.setdefault(container, []).append("CONTAINER_NAME=" + name)
    return OK, {container: found[container][-_MOST_NAMES:] + [_OF_DOCKER] for container in sorted(found)[:_MOST_AGENTS]}
