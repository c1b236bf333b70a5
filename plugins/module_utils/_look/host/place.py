# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kind of place a tree is: live, image or container.

Only a live place has a running kernel that is its own; over a chroot connection an image looks like `/`, so the place
is detected and not taken from options. In doubt it is an image, where nothing is loaded and nothing is started."""

from ..._names import BUNDLE_FOLDER
from ..processes import find_processes, name_of

LIVE, IMAGE, CONTAINER, BUNDLE = "live", "image", "container", "bundle"
# Places whose running kernel is known: it runs here, or it ran when the bundle was made.
WITH_KERNEL = (LIVE, BUNDLE)

# A tree without any of these contains nothing about a node.
SYSTEM_FOLDERS = ("/etc", "/proc", "/boot", "/lib/modules", "/usr/lib/modules")

# PROC_PID_INIT_INO of the kernel (include/linux/proc_ns.h). A process that may see no other part of /proc can still see
# the namespace that it is in.
FIRST_PID_NAMESPACE = "pid:[4026531836]"
_MARKS = ("/run/.containerenv", "/.dockerenv", "/run/systemd/container")
# A container whose process 1 is one of these and that runs a kubelet is a node: systemd in kind, sysbox and
# systemd-nspawn, k3s itself or the init of Docker in k3d.
_INITS = ("systemd", "docker-init", "tini", "k3s", "k3s-server", "k3s-agent")
_KUBELETS = ("kubelet", "k3s", "k3s-server", "k3s-agent")
# The root of a container is put together by a union file system; no installed node boots from one of these.
_CONTAINER_ROOTS = ("overlay", "aufs", "fuse", "fuse.fuse-overlayfs", "tmpfs", "ramfs")


def detect_place(host):
    """(place, why): a sentence that names the evidence."""
    if host.root != "/" and host.is_dir(BUNDLE_FOLDER):
        return BUNDLE, "the tree was laid out from a support bundle"
    if host.root != "/":
        return IMAGE, "the option root is not /"
    if not host.read_text("/proc/self/stat").ok:
        return IMAGE, "/proc is not mounted, as in a bare chroot"
    stray = _ancestor_with_other_root(host)
    if stray:
        return IMAGE, "process %s, which started this one, has another root directory: this is a chroot" % stray
    hidden = not host.exists("/proc/1")
    if hidden and host.read_link("/proc/self/ns/pid") is None:
        return (IMAGE, "processes of other users are hidden (hidepid), and the pid namespace could not be read: in "
                       "doubt it is judged as an image")
    # Process 2 of the initial pid namespace is kthreadd (kernel init/main.c rest_init); in no other is it visible.
    first = (host.read_link("/proc/self/ns/pid") == FIRST_PID_NAMESPACE
             if hidden else host.read_text("/proc/2/comm").text.strip() == "kthreadd")
    if not first and not hidden and name_of(host, 1) in _INITS and _runs_a_kubelet(host):
        return LIVE, "a pid namespace in which process 1 is %s and a kubelet runs: a node in a container" % (
            name_of(host, 1))
    if not first:
        mark = next((path for path in _MARKS if host.exists(path)), None)
        return CONTAINER, "a pid namespace %s" % ("of its own" if hidden else "without kernel threads") + (
            ", and %s exists" % mark if mark else "")
    same = _same_root(host, "1")
    if same:
        return LIVE, "kernel threads are visible and process 1 has the same root directory"
    if same is False:
        mark = next((path for path in _MARKS if host.exists(path)), None)
        if mark:
            return CONTAINER, "process 1 has another root directory and %s exists" % mark
        return IMAGE, "process 1 has another root directory: this is a chroot"
    kind = _root_filesystem(host)
    if kind and kind not in _CONTAINER_ROOTS:
        return LIVE, "%s and / is a separate %s file system (the root of process 1 could not be read)" % (
            "this is the first pid namespace, processes of other users are hidden (hidepid),"
            if hidden else "kernel threads are visible", kind)
    return (IMAGE,
            "the root of process 1 could not be read and / is %s: in doubt it is judged as an image"
            % (kind or "not a mount"))


def _runs_a_kubelet(host):
    """Whether a kubelet of this pid namespace has the root directory of process 1 and of this process."""
    return _same_root(host, "1") is True and any(
        process.contained is False for process in find_processes(host, _KUBELETS)[1])


def _same_root(host, pid):
    """True or False where /proc/PID/root can be compared with /, otherwise None."""
    ours, theirs = host.stat("/"), host.stat("/proc/%s/root/." % pid)
    if ours is None or theirs is None:
        return None
    return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)


def _ancestor_with_other_root(host):
    """pid of the nearest process above this one that may be looked at and has another root directory, or None."""
    pid = "self"
    for _step in range(64):
        # Fields behind the last parenthesis: state, ppid (man 5 proc; the command may hold blanks and parentheses).
        fields = host.read_text("/proc/%s/stat" % pid).text.rpartition(")")[2].split()
        pid = fields[1] if len(fields) > 1 else "0"
        if pid == "0":
            return None
        if _same_root(host, pid) is False:
            return pid
    return None


def _root_filesystem(host):
    """Type of the file system mounted at /, or None: in a chroot into a plain directory no mount is at /."""
    kind = None
    for line in host.read_text("/proc/self/mountinfo").text.splitlines():
        left, dash, right = line.partition(" - ")
        if dash and left.split()[4] == "/":
            kind = right.split()[0]  # The last mount there is the visible one.
    return kind


def system_tree_problem(host):
    """Why `root` cannot be a system to look at (one sentence for the user), or None."""
    if not host.is_dir("/"):
        return ("root %s is not a directory on this node; give the directory that holds the image's /etc and /usr"
                % host.root)
    if any(host.is_dir(path) for path in SYSTEM_FOLDERS):
        return None
    return ("root %s holds neither /etc nor /proc, and no kernels below /boot or /lib/modules, so it is not a system "
            "tree; %s" % (host.root, "give the directory that holds its /etc"))
