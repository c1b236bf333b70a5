# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node: Debian with systemd as process 1 of new namespaces, containerd and kubelet."""

import pathlib
import shlex
import shutil
import subprocess
import time

import cgroups
import inside_namespaces
import network
import node_files

NAMESPACES = ("unshare", "--pid", "--mount", "--net", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child",
              "--propagation", "private")
# kubelet wants these values and may not change the machine's, so it finds files with them in their place.
SYSCTLS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
           "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}
# kmsg is a second /dev/null: the node must not take messages about other nodes of this kernel for its own.
DEVICES = {"null": "1 3", "zero": "1 5", "full": "1 7", "random": "1 8", "urandom": "1 9", "tty": "5 0", "kmsg": "1 3"}
ON_MEMORY = ("run", "tmp", "var/lib/containerd", "var/lib/kubelet", "var/log/pods")
BOOT_SECONDS = 120


class NotDone(Exception):
    """A step did not reach its state, so later looks would judge another state."""


class Node:
    """`run` is a folder on a memory file system; `binaries` has kubelet and kube-proxy; `tree` is the root file
    system, `made` are cgroups.make()."""

    def __init__(self, run, tree, binaries, made):
        self.run, self.tree, self.cgroups = pathlib.Path(run), tree, made
        self.binaries = pathlib.Path(binaries)
        self.root = self.run / "root"
        self.process = self.pid = None

    def start(self, files):
        """Boot; `files` ({path: text}) lie in its file system."""
        for name in ("upper/usr/bin", "work", "root", "sysctl"):
            (self.run / name).mkdir(parents=True)
        for path, text in files.items():
            file = self.run / "upper" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        units = self.run / "upper/etc/systemd/system"
        units.mkdir(parents=True, exist_ok=True)
        for unit in node_files.MASKED:
            (units / unit).symlink_to("/dev/null")
        shutil.copy(str(self.binaries / "kubelet"), str(self.run / "upper/usr/bin/kubelet"))
        for name, value in SYSCTLS.items():
            (self.run / "sysctl" / name.replace("/", "-")).write_text("%d\n" % value)
        with open(str(self.run / "console"), "wb") as console:
            self.process = subprocess.Popen(
                ["sh", "-euc", self._join() + "exec " + " ".join(NAMESPACES) + " sh -euc " + shlex.quote(self._boot())],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        self.wait_until(self._find_pid, "process 1", BOOT_SECONDS)
        shell(network.connect(self.pid))
        self.wait_until(lambda: self.sh("systemctl is-system-running").strip() in ("running", "degraded"), "the boot",
                        BOOT_SECONDS)

    def _join(self):
        """Move the shell into the cgroups of the run, which its cgroup namespace then has as roots."""
        return "".join("echo 0 > %s/cgroup.procs; " % folder for folder in self.cgroups.values())

    def _boot(self):
        sysctls = "".join("mount --bind %s/sysctl/%s proc/sys/%s; " % (self.run, name.replace("/", "-"), name)
                          for name in SYSCTLS)
        hierarchies = "".join(map(cgroups.mount, self.cgroups))
        devices = "".join("mknod -m 666 dev/%s c %s; " % device for device in DEVICES.items())
        memory = "".join("mkdir -p {0}; mount -t tmpfs -o mode=755 tmpfs {0}; ".format(name) for name in ON_MEMORY)
        return (
            "mount -t overlay overlay -o lowerdir={tree},upperdir={run}/upper,workdir={run}/work {run}/root; "
            "cd {run}/root; "
            "mount -t proc proc proc; mount --bind proc/sys proc/sys; mount --bind proc/sys/net proc/sys/net; {sysctls}"
            "mount -o remount,bind,ro proc/sys; mount -t sysfs sysfs sys; mount -o remount,bind,ro sys; "
            "mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup; {hierarchies}"
            "mount -t tmpfs -o mode=755 tmpfs dev; {devices}mkdir dev/pts dev/shm; ln -s /proc/self/fd dev/fd; "
            "mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts; ln -s pts/ptmx dev/ptmx; "
            "mount -t tmpfs tmpfs dev/shm; {memory}chmod 1777 tmp; hostname {name}; "
            "pivot_root . .; umount -l .; mount --make-rshared /; "
            "exec env -i container=namespaces PATH=/usr/sbin:/usr/bin:/sbin:/bin /sbin/init --log-target=journal"
        ).format(
            tree=self.tree, run=self.run, sysctls=sysctls, hierarchies=hierarchies, devices=devices, memory=memory,
            name=network.HOSTNAME)

    def _find_pid(self):
        if self.process.poll() is not None:
            raise NotDone("the node did not boot: " + (self.run / "console").read_text(errors="replace")[-500:])
        children = pathlib.Path("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)).read_text().split()
        if children and pathlib.Path("/proc", children[0], "comm").read_text().strip() == "systemd":
            self.pid = int(children[0])
        return self.pid

    def sh(self, command, timeout=120):
        """What a shell command prints on the node, whatever its status."""
        done = subprocess.run(inside_namespaces.command(self.pid, "bash", "-c", command), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False)
        return done.stdout.decode(errors="replace")

    def must(self, command, timeout=120):
        """Run a shell command on the node; NotDone if it fails."""
        done = subprocess.run(inside_namespaces.command(self.pid, "bash", "-euo", "pipefail", "-c", command),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout, check=False)
        if done.returncode:
            raise NotDone("%s gives %d: %s" % (command, done.returncode, done.stdout.decode(errors="replace")[-300:]))

    def inside(self, path):
        """Where a file of the node is for this process."""
        return pathlib.Path("/proc/%d/root" % self.pid, path.lstrip("/"))

    @staticmethod
    def processes(word):
        """The processes, as this process sees them, with that word as an argument."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if word.encode() in words:
                found.append(int(folder.name))
        return sorted(found)

    def wait_until(self, holds, what, seconds):
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                raise NotDone("not within %d s: %s" % (seconds, what))
            time.sleep(0.5)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()  # The kernel ends all processes of the PID namespace with its first one.
            self.process.wait()


def shell(command):
    """Run a shell command outside of the node; NotDone if it fails."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, timeout=120, check=False)
    if done.returncode:
        raise NotDone("%s gives %d: %s" % (command, done.returncode, done.stdout.strip()[-300:]))
