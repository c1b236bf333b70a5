# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening a tree, the first step of every look. PRIVATE to the collection."""

from .. import _errors
from .._host.host import Host
from .host.identity import identify
from .host.place import system_tree_problem

# The options of every module that opens a tree.
TREE_OPTIONS = {
    "root": {"type": "path", "default": "/"},
    "place": {"type": "str", "choices": ["auto", "live", "image", "container", "bundle"], "default": "auto"},
}


def open_asked(params):
    """The result of open_tree() for the options of a module."""
    return open_tree(params["root"], None if params["place"] == "auto" else params["place"])


def open_to_look(params):
    """As open_asked(), but a tree that holds only a part of a node's files is a bundle: a missing file was not
    collected, so its absence proves nothing about the node. Modules that change a tree use open_asked(): for them the
    tree is the image that it becomes."""
    host, node = open_asked(params)
    if params["place"] == "auto" and host.root != "/" and node["place"] == "image":
        from .._parse.bundle_parts import is_part_of_a_node
        if is_part_of_a_node(host.exists):
            host, node = open_tree(params["root"], "bundle")
            node["place_reason"] = "the tree contains no programs, so it is only a part of a node's files"
    return host, node


def open_tree(root="/", place=None):
    """(Host, the result of identity.identify()) of a tree; commands are allowed in a live place only. Raises BadInput
    for wrong options."""
    if not root.startswith("/"):
        raise _errors.BadInput("root %r is not an absolute path; give the whole path of the tree on the node" % root)
    host = Host(root)
    problem = system_tree_problem(host) if place != "bundle" else None
    if problem:
        raise _errors.BadInput(problem)
    node = identify(host, place)
    if node["place"] == "bundle":
        if host.root == "/":
            raise _errors.BadInput("place is bundle, and root is /; give the folder of the bundle as root")
        from .._host.bundle import BundleHost
        host = BundleHost(root)
        node = identify(host, place)
    host.commands = host.commands and node["place"] == "live"
    return host, node
