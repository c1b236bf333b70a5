# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work in new namespaces, on a copy of this machine's files: no file, rule or process of the machine changes."""

import ctypes
import os
import signal
import subprocess

import node_processes

CLONE_NEWPID, PR_SET_PDEATHSIG = 0x20000000, 1
# Where the copy is mounted, in the mount namespace of the work only.
MOUNTS = """set -e
mount -t tmpfs tmpfs {0}
mkdir {0}/changed {0}/work {0}/root
mount -t overlay -o lowerdir=/,upperdir={0}/changed,workdir={0}/work overlay {0}/root
mount -t proc proc {0}/root/proc
mount -t sysfs sysfs {0}/root/sys
mount --rbind /dev {0}/root/dev
mount -t tmpfs tmpfs {0}/root/tmp
""".format("/mnt")


def run_apart(work, seconds):
    """The result of `work()` in new network, mount and process namespaces, whose processes all end with it. Raises
    AssertionError if it fails or takes longer."""
    return node_processes.in_child(lambda: _with_processes(work, seconds))


def _with_processes(work, seconds):
    _end_with_parent()
    node_processes.unshare(CLONE_NEWPID)
    return node_processes.in_child(lambda: _first_process(work, seconds))


def _first_process(work, seconds):
    _end_with_parent()
    node_processes.private_mounts()
    node_processes.own_network()
    subprocess.run(["bash", "-c", MOUNTS], stdin=subprocess.DEVNULL, check=True)
    node_processes.enter("/mnt/root")
    worker = os.fork()
    if worker:
        # Process 1 collects the children of processes that ended; the worker answers.
        while os.wait()[0] != worker:
            pass
        os._exit(0)
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(seconds)
    return work()


def _too_long(_signal, _frame):
    raise AssertionError("not done in time")


def _end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
