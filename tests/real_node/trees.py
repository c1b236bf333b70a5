# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The root file systems of the node and of its container images: Debian 12, made once."""

import inspect
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "testbed"), str(TOP / "tests" / "tools")]

import cache
import images

SUITE = "bookworm"
# The node and the control plane share a tree: etcd runs from it, in a second network namespace.
NODE = ("systemd systemd-sysv dbus python3 iptables nftables ipset conntrack iproute2 procps kmod mount util-linux "
        "cron containerd runc containernetworking-plugins etcd-server ca-certificates netbase jq").split()
# Of kube-proxy, and of the pods that answer requests.
IMAGE = "iptables nftables conntrack kmod netbase python3".split()


def folder():
    """The folder with `node`, a tree, and `image.tar`, the first layer of all images."""
    steps = [inspect.getsource(step) for step in (fill, download)]
    with cache.locked("real-node"):
        return cache.made(cache.entry("real-node/trees", SUITE, NODE, IMAGE, steps), fill)


def fill(work):
    images.ensure_tools()
    download(NODE, work / "node.tar")
    download(IMAGE, work / "image.tar")
    tree = work / "node"
    tree.mkdir()
    images.run(["tar", "--numeric-owner", "--xattrs", "-xf", str(work / "node.tar"), "-C", str(tree)])
    (work / "node.tar").unlink()
    # Left out with its content, but the node mounts its devices there.
    (tree / "dev").mkdir(exist_ok=True)


def download(packages, target):
    images.run(["mmdebstrap", "--variant=minbase", "--skip=output/dev", "--include=" + ",".join(packages),
                "--keyring=" + images.KEYRING, SUITE, str(target), images.mirror()])
