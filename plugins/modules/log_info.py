#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.log_info."""

DOCUMENTATION = r"""
module: log_info
short_description: Find the causes of errors in the logs of a Kubernetes node or of a support bundle
version_added: 0.1.0
description:
  - Searches the journal, the logs of kube-proxy and network plugins below C(/var/log/pods), and
    C(/var/log/messages), C(syslog) and C(kern.log) with their rotated and compressed files, the files of kubelet and
    containerd of RKE2 and K3s and of the plugins of Calico and AWS, or the files that you name.
  - The node returns only lines that may have a cause, at most 200 lines and 32 KB, the newest of each program. Secrets
    are masked. The controller compares them with the causes, see P(kubenode.netfilter.diagnose#filter).
  - At most 100 MB of the 60 newest files are read, the newest first and each from its end, until 200 lines are found.
    RV(files) lists them and whether older lines were left out. Of a C(.gz) at most 1 GB is unpacked; files that are
    compressed with another program are V(unparsed).
  - Links below C(/var/log/pods) that lead out of it are not followed, other than to the logs of Docker. Of all pods
    only containers are read that have the name of such an agent, C(kube-proxy) or C(calico-node) for example. A user
    who may create pods can give that name to a container as well.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.tree
attributes:
  check_mode:
    support: full
    description: It never changes anything, so check mode makes no difference.
  diff_mode:
    support: N/A
    description: Nothing is changed, so there is no diff.
  platform:
    support: full
    platforms: linux
    description: Only the Python standard library is needed on the node, from Python 3.6 on.
options:
  src:
    description:
      - Files to search in place of the logs of the node, at most 60, as absolute paths.
      - To judge a file on the controller, run the module on V(localhost).
    type: list
    elements: str
seealso:
  - plugin: kubenode.netfilter.diagnose
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Find causes in the logs of a node
  kubenode.netfilter.log_info:
  become: true
  register: logs

- name: Print them
  ansible.builtin.debug:
    msg: "{{ item.meaning }} ({{ item.count }} times, last {{ item.last }}) Fix: {{ item.fix }}"
  loop: "{{ logs.findings }}"

- name: Find causes in a log of a support bundle
  kubenode.netfilter.log_info:
    src: [/srv/bundle/kube-proxy.log]
  delegate_to: localhost
"""

RETURN = r"""
lines:
  description: The lines that may have a cause, those of the newest file first, and of a file the newest first.
  returned: always
  type: list
  elements: dict
  contains:
    source: {description: 'File, V(journal), or V(journal:kube-proxy) for an agent whose lines Docker writes there.',
             type: str, returned: always, sample: /var/log/kern.log}
    text: {description: The line as it is in the file; a message of several lines is one text. Secrets are masked.,
           type: str, returned: always,
           sample: 'Nov 22 06:37:30 worker-a kernel: nf_conntrack: table full, dropping packet'}
files:
  description: What was searched.
  returned: always
  type: list
  elements: dict
  contains:
    path: {description: 'File, V(journal), V(journal:kube-proxy) for an agent whose lines Docker writes there, or
      V(journal:docker) where such agents could not be listed.', type: str, returned: always,
           sample: /var/log/kern.log}
    status: {description: 'V(ok), V(absent), V(denied), V(unparsed) (no regular file, or damaged), V(timeout) or
      V(uncollected).', type: str, returned: always, sample: ok}
    read_bytes: {description: How much was searched., type: int, returned: always, sample: 4711}
    cut: {description: Whether older lines were left out., type: bool, returned: always, sample: false}
files_left_out:
  description: How many older files were not searched, because there are more than 60.
  returned: always
  type: int
  sample: 0
kube_proxy_ports:
  description: Ports that a line of the node's logs calls in use, and on which kube-proxy itself listens, as in dual
    stack; null where unknown.
  returned: always
  type: list
  elements: int
  sample: []
findings:
  description: One row for each cause, the gravest first, as P(kubenode.netfilter.diagnose#filter) returns them.
  returned: success
  type: list
  elements: dict
  contains:
    cause: {description: Name of the cause., type: str, returned: always, sample: kernel-conntrack-full}
    meaning: {description: 'What users feel, and what happened.', type: str, returned: always,
              sample: 'The conntrack table was full, so new connections were dropped.'}
    severity: {description: 'V(high), V(medium) or V(low).', type: str, returned: always, sample: high}
    confidence: {description: 'V(high), V(middle) or V(low).', type: str, returned: always, sample: high}
    check: {description: The check that looks for the cause on the node or null., type: str, returned: always,
            sample: CTRACK003}
    role: {description: The role that fixes it or null., type: str, returned: always, sample: harden_conntrack}
    fix: {description: What to do by hand., type: str, returned: always,
          sample: Raise the limit with sysctl -w net.netfilter.nf_conntrack_max=NUMBER}
    evidence: {description: The first line that shows it., type: str, returned: always,
               sample: 'nf_conntrack: table full, dropping packet'}
    source: {description: The source that it was first seen in or null., type: str, returned: always,
             sample: /var/log/kern.log}
    count: {description: How often it is in the lines., type: int, returned: always, sample: 12}
    first: {description: 'Time of the first one, as exact as the line has it, or null.', type: str, returned: always,
            sample: '11-22T06:37:30'}
    last: {description: Time of the last one or null., type: str, returned: always, sample: '11-22T06:41:02'}
    pods:
      description: At most five pods whose sandbox was not created because of it.
      returned: always
      type: list
      elements: dict
      contains:
        pod: {description: 'Namespace and name, or null.', type: str, returned: always, sample: default/web-0}
        sandbox: {description: 'ID of its first sandbox, or null.', type: str, returned: always,
                  sample: 49233c7821409ba966ed4360a02c89e5a1f913d3b2dc43b5d530a6f776a76395}
        time: {description: When its first sandbox failed or null., type: str, returned: always,
               sample: '2026-11-22T10:03:00Z'}
        tied_by: {description: 'V(message) or V(time), see P(kubenode.netfilter.diagnose#filter).', type: str,
                  returned: always, sample: message}
        evidence: {description: The line about the sandbox., type: str, returned: always,
                   sample: '"Failed to create sandbox for pod" err="context deadline exceeded" pod="default/web-0"'}
    pod_count: {description: How many pods there are., type: int, returned: always, sample: 1}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import _errors
from ..module_utils._look import tree
from ..module_utils._look.logs.lines import collect_lines


def main():
    options = dict(tree.TREE_OPTIONS, src={"type": "list", "elements": "str"})
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    try:
        host, _node = tree.open_to_look(module.params)
        found = collect_lines(host, module.params["src"])
    except _errors.BadInput as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
