# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the logs of pods and containers, and messages of kubelet in its own log. PRIVATE to the collection.

The state of a container as its runtime keeps it on disk.

Samples: containerd, internal/cri/store/container/status.go: `{"Version": "v1", "Pid": 0, "StartedAt":
1764110000000000000, "FinishedAt": 1764110001000000000, "ExitCode": 1, "Reason": "Error", "Message": ""}`; CRI-O,
internal/oci/container.go: `{"started": "2026-11-25T22:33:20Z", "finished": "2026-11-25T22:33:21Z", "exitCode": 137,
"oomKilled": true}`; Docker, daemon/container/state.go, below "State": `{"Running": false, "ExitCode": 1, "OOMKilled":
false, "Error": "", "StartedAt": "...", "FinishedAt": "..."}`.
"""

import calendar
import collections
import json
import re
import time

# Names of pods and containers, as kubelet writes them into names of log files.
# No name of a pod, a namespace or a container contains an underscore, so underscores separate the names (kubernetes
# pkg/kubelet/kuberuntime/legacy.go and helpers.go, and of containers of Docker pkg/kubelet/dockershim/naming.go).
_POD_FOLDER = re.compile(r"([a-z0-9.-]+)_([a-z0-9.-]+)_([0-9a-f-]{32,36})\Z")
_CONTAINER_LINK = re.compile(r"([a-z0-9.-]+)_([a-z0-9.-]+)_([a-z0-9.-]+)-([0-9a-f]{64})\.log\Z")
# A container of Docker: container, pod, namespace, UID, attempt, and a random part after a conflict of names.
_DOCKER_NAME = re.compile(r"k8s_([a-z0-9.-]+)_([a-z0-9.-]+)_([a-z0-9.-]+)_[0-9a-f-]{32,36}_\d{1,10}(?:_[0-9a-f]{8})?\Z")
# Containers of agents that change rules or network of a node; the text of other pods is not read.
AGENTS = ("kube-proxy", "kube-flannel", "calico-node", "cilium-agent", "kube-router", "aws-node", "aws-eks-nodeagent",
          "weave", "weave-npc", "kube-ovn-cni", "antrea-agent", "kindnet-cni", "install-cni", "install-cni-plugin",
          "aws-vpc-cni-init", "azure-npm", "ip-masq-agent", "kube-multus", "node-cache", "ovn-controller",
          "ovnkube-controller", "ovnkube-node")
# Beginnings of entries of /var/log/pods in whose namespaces only administrators create pods: a finding can stop a
# rollout, and any user who may create a pod may give its container the name of an agent.
SYSTEM_NAMESPACES = ("kube-", "openshift-", "calico-system_", "cilium_", "istio-system_", "ovn-kubernetes_",
                     "tigera-operator_")


def parse_pod_folder(name):
    """(uid, namespace, pod) of an entry of /var/log/pods, `namespace_pod_uid`, or None."""
    match = _POD_FOLDER.match(name)
    return (match.group(3), match.group(1), match.group(2)) if match else None


def parse_container_link(name):
    """(id, namespace, pod, container) of an entry of /var/log/containers, `pod_namespace_container-id.log`, or None."""
    match = _CONTAINER_LINK.match(name)
    return (match.group(4), match.group(2), match.group(1), match.group(3)) if match else None


def parse_docker_name(name):
    """(container, pod, namespace) of a container that dockershim or cri-dockerd started, or None."""
    match = _DOCKER_NAME.match(name)
    return match.groups() if match else None


# The messages that kubelet logs when it creates its chains, which it does once.
# Samples, from kubernetes pkg/kubelet/kubelet_network_linux.go; 1.20, the releases before 1.24, and 1.24 on:
#     W1121 10:00:00.000000     812 kubelet_network_linux.go:75] Failed to initialize IPv4 iptables rules; some
#         functionality may be missing.
#     I1121 ... kubelet_network_linux.go:80] "Failed to initialize protocol iptables rules; some functionality may be
#         missing." protocol=IPv4
#     I1121 ... kubelet_network_linux.go:58] "Failed to initialize iptables rules; some functionality may be missing."
#         protocol="IPv4"
# and `Initialized ... iptables rules.` in the same three forms. k0s wraps the line and escapes its quotes.

# Pattern for the journal, all in lower case: journalctl then ignores case.
PATTERN = "(failed to initialize|initialized) .*iptables rules"

_LINE = re.compile(
    r"(Failed to initialize|Initialized) (?:(IPv[46]) |protocol )?iptables rules(?:; some functionality may be "
    r"missing)?\.(?:[^\n]{0,40}?protocol\\*\"?[=:]\s?\\*\"?(IPv[46]))?")
_FAMILIES = {"IPv4": "ipv4", "IPv6": "ipv6"}


def parse_kubelet_log(text):
    """`{family: (failed, line)}`: the last logged result of each family, and the matching part of its line."""
    found = {}
    for match in _LINE.finditer(text):
        family = _FAMILIES.get(match.group(2) or match.group(3))
        if family:
            found[family] = match.group(1) != "Initialized", re.sub(r"[\\\"]", "", match.group(0))
    return found


# Times in seconds since 1970, None for none; `reason` as kubelet shows it (OOMKilled, Error, Completed, StartError).
State = collections.namedtuple("State", "started finished exit_code reason message")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|([+-])(\d\d):(\d\d))\Z")
_REASON = re.compile(r"[A-Za-z]{1,40}\Z")


def seconds_of(text):
    """Seconds since 1970 of a time of RFC 3339, or None; also None for the zero time of Go."""
    found = _TIME.match(text) if isinstance(text, str) else None
    if not found:
        return None
    moment, sign, hours, minutes = found.groups()
    try:
        seconds = calendar.timegm(time.strptime(moment, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None
    offset = int(hours) * 3600 + int(minutes) * 60 if sign else 0
    seconds = seconds + offset if sign == "-" else seconds - offset
    return seconds if seconds > 0 else None


def parse_container_state(text):
    """The `State` of a file of containerd, CRI-O or Docker, or None where it has another form."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(held, dict):
        return None
    if held.get("Version") == "v1":
        started, finished = (_of_nanoseconds(held.get(key)) for key in ("StartedAt", "FinishedAt"))
        return _state(started, finished, held.get("ExitCode"), held.get("Reason"), held.get("Message"))
    # Keys of Docker begin with a capital letter, those of CRI-O do not.
    docker = held.get("State")
    values = {key.lower(): value for key, value in (docker if isinstance(docker, dict) else held).items()}
    started, finished = (seconds_of(values.get(name, values.get(name + "at"))) for name in ("started", "finished"))
    if started is None and finished is None:
        return None
    if values.get("running") is True:
        finished = None  # Docker keeps the time of the run before.
    return _state(started, finished, values.get("exitcode"), "OOMKilled" if values.get("oomkilled") is True else None,
                  values.get("error"))


def _of_nanoseconds(value):
    # int64 of Go. JSON has no limit, and a float cannot hold numbers of some hundred digits.
    return value // 10 ** 9 if isinstance(value, int) and 0 < value < 2 ** 63 else None


def _state(started, finished, code, reason, message):
    code = code if isinstance(code, int) and not isinstance(code, bool) and finished is not None else None
    if not (isinstance(reason, str) and _REASON.match(reason)):
        reason = None
    if finished is None:
        reason = None
    elif reason is None and code is not None:
        reason = "Error" if code else "Completed"
    return State(started, finished, code, reason, message if isinstance(message, str) else "")
