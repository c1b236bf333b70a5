# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps that bring a node into a state, `{name of the step: value}`: those of real kube-proxies, and these."""

import importlib
import os
import subprocess

import damaged_nodes
import look
import looks
import node_processes
import node_tree
import pods
import steps
from live_node import ARGUMENTS, Node, NotDone

from ansible_collections.kubenode.netfilter.plugins.module_utils._names import BUNDLE_RULES

# Longer than a command of a fix takes, shorter than a person waits for one that hangs.
COMMAND_SECONDS = 60


class TriedNode(Node):
    """A node of tests/kube_proxy, whose rules may also be those of a capture without a kube-proxy."""

    def __init__(self, binary, place, row):
        super().__init__(binary, place, row.get("services", 12), row.get("arguments", []))
        self.place, self.version, self.variables = place, None, {}
        self.root, self.kind = "/", "live"
        self.prepare()

    def sections(self, names, window=None, **options):
        """The sections of a look at this node, in a process like a module of Ansible."""
        if self.root != "/":
            return node_processes.in_child(lambda: look.sections(names, self.root, self.kind, **options))
        found = damaged_nodes.look_at(self.version, self.place) if self.version else {}
        others = [name for name in names if "node_" + name not in found]
        if others:
            found.update(node_processes.in_child(lambda: look.sections(others, **options)))
        if window:
            found.update(node_processes.in_child(lambda: look.sections(["--window", str(window)])))
        return found


def rules(node, version):
    """Load the rules that a real kube-proxy of this version wrote. No kube-proxy runs, and looks see one."""
    node.version, node.variables = version, damaged_nodes.variables(version, node.place)
    damaged_nodes.load(version, node.place, _environment(node))


def damage(node, commands):
    """Run commands with the words of tests/fixtures/damaged_nodes.py."""
    done = _bash(damaged_nodes.SHELL + commands, env=_environment(node))
    if done.returncode:
        raise NotDone("%s gives %d: %s" % (commands, done.returncode, done.stdout[-300:]))


def tree(node, layers):
    """Look at an image in place of this node: {fixture: layers as in tests/looks, with the names of the fixture}."""
    node.root, node.kind = "/tree", "image"
    (fixture, parts), = layers.items()
    node_tree.unpack(node_tree.merged(*(_layer(importlib.import_module(fixture), part) for part in parts)), node.root)


def live_tree(node, layers):
    """As tree, of a node whose /proc is in the layers."""
    tree(node, layers)
    node.kind = "live"


def end(node, _what):
    """End kube-proxy."""
    node.stop_kube_proxy()


def arguments(node, more):
    """What kube-proxy gets at its next start, beside the usual arguments."""
    node.arguments = (*ARGUMENTS, *more)


def bundle(node, folder):
    """Look at the bundle whose dumps the next steps put into its folder of rules."""
    node.root, node.kind = folder, "bundle"
    os.makedirs(folder + BUNDLE_RULES)


def _layer(fixture, layer):
    name = layer if isinstance(layer, str) else next(iter(layer))
    made = getattr(fixture, name, None)
    if callable(made):
        return made(**layer[name]) if isinstance(layer[name], dict) else made(*layer[name])
    return looks.manifest(layer) if made is None else made


def paste(_node, command):
    """Run a command as a person does who pastes it: (exit code, the end of its output)."""
    done = _bash(command)
    return done.returncode, done.stdout[-300:].strip()


def _bash(command, **options):
    return subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, timeout=COMMAND_SECONDS, check=False,
                          **options)


def _environment(node):
    return dict(os.environ, LC_ALL="C", **node.variables)


STEPS = dict(steps.ACTIONS, **pods.STEPS)
STEPS.update({step.__name__: step for step in (arguments, bundle, damage, end, live_tree, paste, rules, tree)})
