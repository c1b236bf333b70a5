#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.check_cases."""

DOCUMENTATION = r"""
module: check_cases
short_description: Judge the cases of your own checks
version_added: 0.1.0
description:
  - Runs on the controller, without a connection, and contacts no host.
  - It loads and validates the checks in O(files), as M(kubenode.netfilter.assess) does, and judges the cases of each
    check. They are in C(tests/ID.yml) or C(tests/ID.yaml) beside the file of the check. A case lists what differs from
    a healthy node, and the expected result.
  - The task fails if a case does not come out as expected, if a check has no cases, and if its cases do not show a
    pass, a fail, an unknown and a look-alike for which the check stays silent.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.internal
  - kubenode.netfilter.common.controller
options:
  files:
    description:
      - Files with checks, or folders with such files. A path is relative to the inventory, or to the working folder if
        the inventory is not a file.
      - An element is a path, or a value of the variable C(node_policy_check_files) of the role node_policy.
    type: list
    elements: raw
    required: true
seealso:
  - module: kubenode.netfilter.assess
"""

EXAMPLES = r"""
- name: Judge the cases of our checks
  kubenode.netfilter.check_cases:
    files: [checks]
"""

RETURN = r"""
checks:
  description: One row for each check.
  returned: success
  type: list
  elements: dict
  contains:
    check: {description: Id of the check., type: str, returned: always, sample: SITE-MTU001}
    title: {description: The requirement., type: str, returned: always, sample: The uplink has the MTU of the site}
    severity: {description: 'One of info, low, medium, high.', type: str, returned: always, sample: medium}
    file: {description: The file of the check., type: str, returned: always, sample: checks/site.yml}
    cases: {description: Number of its cases., type: int, returned: always, sample: 4}
    problems: {description: The faults of its cases., type: list, elements: str, returned: always, sample: []}
problems:
  description: The faults of all cases, and files of cases without a check.
  returned: success
  type: list
  elements: str
  sample: []
text:
  description: The text for a terminal.
  returned: success
  type: str
  sample: |-
    SITE-MTU001  medium  checks/site.yml  The uplink has the MTU of the site
      pass     jumbo frames
      fail     the default MTU: The uplink eth0 has MTU 1500, the site uses 9000
    1 check, 2 cases: all as expected
"""
