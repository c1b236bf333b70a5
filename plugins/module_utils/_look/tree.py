# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening a tree, the first step of every look.

How modules end: a look with facts, a change with its result, and one place that reports errors.
"""

import re

from .. import _errors
from .._host.host import ABSENT, OK, Host, Text
from .._parse.assignments import parse_os_release
from .bounds import fitted
from .host.place import detect_place, system_tree_problem

# The options of every module that opens a tree.
TREE_OPTIONS = {
    "root": {"type": "path", "default": "/"},
    "place": {"type": "str", "choices": ["auto", "live", "image", "container", "bundle"], "default": "auto"}}
# Longer than any valid field of os-release.
FIELD_LIMIT = 200
_INITS = {"systemd": "systemd", "openrc-init": "openrc", "init": "sysvinit"}


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
    """(Host, the result of identify()) of a tree; commands only in a live place. Raises BadInput for wrong options."""
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
        from .._host.other_hosts import BundleHost
        host = BundleHost(root)
        node = identify(host, place)
    host.commands = host.commands and node["place"] == "live"
    return host, node


# The identity of a tree: its place, its system, its kernel. Every look begins with it; the rest of the section
# node_host is in host/host.py.
def identify(host, place=None):
    """The part of the section node_host that other sections need. `place` forces a kind of place; by default it is
    detected."""
    found, reason = (place, "given as an option") if place else detect_place(host)
    os_release = host.read_text("/etc/os-release")
    if not os_release.ok:
        os_release = host.read_text("/usr/lib/os-release")
    system = {key: value[:FIELD_LIMIT] for key, value in parse_os_release(os_release.text).items()}
    release = host.read_text("/proc/sys/kernel/osrelease") if found != "image" else Text(ABSENT)
    return {
        "schema": 1, "collected": {"os_release": os_release.status, "kernel_release": release.status, "place": OK},
        "place": found, "place_reason": reason, "root": host.root,
        "os": {"id": system.get("ID") or None, "id_like": sorted(system.get("ID_LIKE", "").split()),
               "version_id": system.get("VERSION_ID") or None,
               "name": system.get("PRETTY_NAME") or system.get("NAME") or None,
               "variant_id": system.get("VARIANT_ID") or None},
        "kernel_release": release.text.strip() if re.match(r"[!-~]{1,64}\Z", release.text.strip()) else None,
        "init": _init(host) if found == "live" else None}


def _init(host):
    # systemd's own test (man sd_booted) comes first: its process may be called init.
    if host.is_dir("/run/systemd/system"):
        return "systemd"
    if host.is_dir("/run/openrc"):
        return "openrc"
    return _INITS.get(host.read_text("/proc/1/comm").text.strip(), "other")


def facts_of(params, collect):
    """The facts that `collect(host, node_host)` returns for the tree that `params` name. Raises BadInput."""
    return fitted(collect(*open_to_look(params)))


def facts_within(params, collect, seconds):
    """The facts of facts_of() within `seconds`; 0 sets no time limit. Raises Overdue as well."""
    from .._host.run import within
    with within(seconds):
        return facts_of(params, collect)


def exit_with_facts(module, collect):
    try:
        facts = facts_of(module.params, collect)
    except _errors.BadInput as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, ansible_facts=facts)


def exit_with_result(module, run):
    """End the module with what `run(params, check_mode)` returns, or with the error that it raises."""
    try:
        module.exit_json(**run(module.params, module.check_mode))
    except (_errors.BadInput, _errors.ChangeFailed) as error:
        module.fail_json(**error.result())
