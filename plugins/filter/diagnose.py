# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.diagnose."""

DOCUMENTATION = r"""
name: diagnose
short_description: Causes of the errors in logs of kube-proxy, kubelet, network plugins, runtimes and the kernel
version_added: 0.1.0
description:
  - Reads each message from the inside; the innermost error that is known is the cause, and the messages of the agents
    around it have the effect. C(roles/node_policy/files/log_agents) and C(log_errors) have both. Returns one row for
    each cause; repeated messages are counted.
  - Known forms are those of klog, logrus, zap and Felix, files of the container runtime (CRI), json-file of Docker,
    the journal, syslog, dmesg, C(kubectl logs --prefix), and JSON of log services with one entry a line. Messages of
    several lines are read as one.
  - Lines that healthy nodes write too are no cause, such as what kube-proxy writes before its first sync.
  - The causes are tied to the pods that did not start, where the messages of kubelet and the runtime allow it.
  - A line only shows that something happened. Whether it is over is for the checks of M(kubenode.netfilter.assess).
options:
  _input:
    description:
      - A text, a list of lines with the oldest first, or RV(kubenode.netfilter.log_info#module:lines).
    type: raw
    required: true
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Name the causes in a log on the controller
  ansible.builtin.debug:
    msg: "{{ lookup('ansible.builtin.file', 'kube-proxy.log') | kubenode.netfilter.diagnose }}"
"""

RETURN = r"""
_value:
  description: One row for each cause, the gravest first.
  type: list
  elements: dict
  contains:
    cause: {description: Name of the cause., type: str, sample: xtables-lock-timeout}
    meaning: {description: 'What users feel, and what happened.', type: str,
              sample: 'Changes of Services do not reach this node. Another process holds the xtables lock.'}
    severity:
      description: V(high), V(medium) or V(low). That of the effect, whether the error is known or not; an error without
        the message of an agent has a severity of its own.
      type: str
      sample: high
    confidence:
      description: V(high) where the error is known, V(middle) where only the text of its errno is, V(low) where it is
        not known.
      type: str
      sample: high
    check: {description: 'The check that looks for the cause on the node, or null.', type: str, sample: XLOCK003}
    role: {description: 'The role that fixes it, or null.', type: str, sample: harden_kernel_modules}
    fix: {description: What to do by hand., type: str,
          sample: 'Find the holder with lslocks | grep xtables.lock, and end it if it hangs'}
    evidence: {description: The first line that shows it; secrets are masked., type: str,
               sample: Another app is currently holding the xtables lock. Stopped waiting after 5s.}
    source: {description: 'The source that it was first seen in, or null.', type: str,
             sample: /var/log/pods/kube-system_kube-proxy-hx7cw_a5c1/kube-proxy/0.log}
    count: {description: How often it was written., type: int, sample: 12}
    first: {description: 'Time of the first one, as exact as the line has it, or null.', type: str,
            sample: '2026-11-22T10:00:00.123456789Z'}
    last: {description: Time of the last one or null., type: str, sample: '2026-11-22T10:05:00.123456789Z'}
    pods:
      description: At most five pods whose sandbox was not created because of it.
      type: list
      elements: dict
      contains:
        pod: {description: 'Namespace and name, or null.', type: str, sample: default/web-0}
        sandbox: {description: 'ID of its first sandbox, or null.', type: str,
                  sample: 49233c7821409ba966ed4360a02c89e5a1f913d3b2dc43b5d530a6f776a76395}
        time: {description: When its first sandbox failed or null., type: str, sample: '2026-11-22T10:03:00Z'}
        tied_by:
          description: V(message) where the message about the sandbox has the cause. V(time) where that message is a
            timeout, and the cause was written in the four minutes before it.
          type: str
          sample: message
        evidence: {description: The line about the sandbox; secrets are masked., type: str,
                   sample: '"Failed to create sandbox for pod" err="context deadline exceeded" pod="default/web-0"'}
    pod_count: {description: How many pods there are., type: int, sample: 1}
"""

from ..plugin_utils._logs import diagnosis
from ..plugin_utils._plain import plain
from ..plugin_utils._play.play import telling


@telling
def diagnose(logs):
    """Type check and call."""
    return diagnosis.diagnose(plain(logs))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"diagnose": diagnose}
