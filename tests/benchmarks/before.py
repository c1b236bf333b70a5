# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much longer a look at a healthy node takes than with another commit: KUBENODE_BEFORE=main run.py before.

The node is a network namespace with the rules of 1000 Services in both families and a process that gives the answers of
a real kube-proxy with these rules and keeps a connection. Each look is a process of its own that reads all sections, as
the module of `assess` does.
"""

import contextlib
import os
import subprocess
import sys

import rules
from measure import NODE_PYTHON, TOP, CannotRun, Outcome, quiet, take_turns, workplace

SERVICES = {False: 1000, True: 50}
ROUNDS = {False: 15, True: 2}
MOST_SECONDS = 0.2
SECTIONS = ("host", "kernel_modules", "iptables_backend", "iptables_chains", "xtables_lock", "flush_hooks", "conntrack",
            "ipvs", "kubelet", "kube_proxy", "cni")
# Started in the namespace, so that kube-proxy belongs to the node that is looked at.
SERVE = """\
import subprocess, sys
sys.path[:0] = sys.argv[1:]
import broken_node, real_node
saved = [subprocess.check_output([name + "-nft-save"]).decode() for name in ("iptables", "ip6tables")]
kept = broken_node.serve(real_node.answered(saved))
broken_node.signal.pause()
"""


@contextlib.contextmanager
def checked_out(commit, folder):
    """The path of a work tree of a commit."""
    place = folder / "before"
    git = ["git", "-c", "safe.directory=*", "-C", TOP, "worktree"]
    quiet([*git, "add", "--detach", place, commit])
    try:
        quiet([place / "tests" / "tools" / "link_collection.sh"])
        yield place
    finally:
        quiet([*git, "remove", "--force", place])


@contextlib.contextmanager
def kube_proxy(node):
    """A kube-proxy that answers for the rules of the node."""
    paths = [str(TOP / name) for name in (".build", "tests/fixtures", "tests/unit")]
    server = subprocess.Popen([*node.enter, sys.executable, "-c", SERVE, *paths], stdout=subprocess.PIPE)
    try:
        if server.stdout.readline() != b"ready\n":
            raise CannotRun("no kube-proxy could be started")
        yield
    finally:
        server.kill()
        server.wait()


def measure(smoke):
    commit = os.environ.get("KUBENODE_BEFORE")
    if not commit:
        raise CannotRun("KUBENODE_BEFORE names the commit to compare with")
    with workplace() as folder, checked_out(commit, folder) as place, rules.namespace() as (node, _folder):
        number = node.restore("nft", SERVICES[smoke])
        node.run("ip", "link", "set", "lo", "up")
        with kube_proxy(node):
            looks = {name: [NODE_PYTHON, str(top / "tests" / "kube_proxy" / "look.py"), *SECTIONS]
                     for name, top in (("this tree", TOP), (commit, place))}
            seconds = take_turns({name: lambda command=command: node.run(*command) for name, command in looks.items()},
                                 ROUNDS[smoke])
    outcome = Outcome("before", "a look at a healthy node with %d rules of %d Services" % (number, SERVICES[smoke]),
                      "this tree", commit, seconds, 1.1, True, [])
    more = outcome.median("this tree") - outcome.median(commit)
    met = "met" if more <= MOST_SECONDS else "missed"
    outcome.notes.append("%+.3f s, target at most %+.1f s: %s" % (more, MOST_SECONDS, met))
    return outcome
