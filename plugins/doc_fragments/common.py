# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of module documentation that several modules share."""


class ModuleDocFragment:

    # Modules that people may rely on.
    PUBLIC = r"""
attributes:
  action_group:
    support: full
    description: C(module_defaults) of the group sets options once for all its modules that a play uses.
    membership: [kubenode.netfilter.all]
"""

    # Modules that only the collection itself calls.
    INTERNAL = r"""
notes:
  - Internal to the collection. It may change or go in any release, so do not call it in a play of your own.
attributes:
  action_group:
    support: full
    description: C(module_defaults) of the group sets options once for all its modules that a play uses.
    membership: [kubenode.netfilter.internal]
"""

    # Modules that only look.
    LOOKS = r"""
attributes:
  check_mode:
    support: full
    description: It never changes anything, so check mode makes no difference.
  diff_mode:
    support: N/A
    description: Nothing is changed, so there is no diff.
  facts:
    support: full
    description: The evidence is returned below C(ansible_facts) and becomes a fact of the host.
  platform:
    support: full
    platforms: linux
    description: Only the Python standard library is needed on the node, from Python 3.6 on.
"""

    # Modules that change the node.
    CHANGES = r"""
attributes:
  check_mode:
    support: full
    description: Check mode announces exactly the changes that a run makes.
  diff_mode:
    support: full
    description:
      - The diff shows the changed lines of every file, and every module to be loaded. Secrets are masked, such as
        values behind a name like token, password or key, and credentials of a URL. Rules, sysctls and the record of the
        changes are shown as they are.
      - Other lines never leave the node. Of one file at most 200 lines are shown; further lines are counted.
  idempotent:
    support: full
    description: A second run with the same options changes nothing.
  platform:
    support: full
    platforms: linux
    description: Only the Python standard library is needed on the node, from Python 3.6 on.
"""

    # Actions that work on the controller alone.
    CONTROLLER = r"""
attributes:
  action:
    support: full
    description: Runs on the controller.
  async:
    support: none
    description: Supports being used with the C(async) keyword.
  check_mode:
    support: full
    description: Can run in check mode and return the same as without it; files on the controller are written then as
      well.
  diff_mode:
    support: none
    description: Returns details on what has changed in diff mode.
    details: No host is ever changed.
  idempotent:
    support: full
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no
      change.
"""

    # Which tree is looked at, and as what.
    TREE = r"""
options:
  root:
    description:
      - Directory on the node that is taken as V(/). Any directory other than V(/) is an image tree (or a support
        bundle), judged by the kernels that B(it) holds.
      - Links are followed inside the tree, so nothing outside of it is read.
    type: path
    default: /
  place:
    description:
      - Kind of place that the tree is. V(auto) detects it; over a chroot connection an image looks like V(/).
      - A tree without programs is a part of a node's files. To a module that only looks it is a V(bundle), to one that
        changes it a V(image).
      - Only in a V(live) place the running kernel is read, modules are loaded and commands are started.
      - V(bundle) is the tree of a support bundle as M(kubenode.netfilter.assess) lays it out. A missing file was not
        collected, and is V(uncollected) in C(collected) instead of V(absent).
    type: str
    choices: [auto, live, image, container, bundle]
    default: auto
"""
