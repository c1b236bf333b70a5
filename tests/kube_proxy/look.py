# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the collectors of the collection on the node of this process and prints the sections as one line of JSON.

    look.py SECTION...             these sections, in one look
    look.py --window SECONDS       the sections that need two readings

Each look is a separate process, like a module of Ansible, so a look cannot use cached data of an earlier one. It needs
only the standard library, because a node has no other packages.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / ".build")]

from ansible_collections.kubenode.netfilter.plugins.module_utils._look import node as look_at_node
from ansible_collections.kubenode.netfilter.plugins.module_utils._look import tree
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.xtables_lock import collect_xtables_lock


def sections(arguments, root="/", place="live", **options):
    host, node = tree.open_tree(root, place)
    if arguments[0] == "--window":
        seconds = int(arguments[1])
        return dict(look_at_node.collect_from(host, node, ["kube_proxy"], window_seconds=seconds),
                    node_xtables_lock=collect_xtables_lock(host, node, window_seconds=seconds))
    return look_at_node.collect_from(host, node, arguments, **options)


def main():
    print(json.dumps(sections(sys.argv[1:])))


if __name__ == "__main__":
    main()
