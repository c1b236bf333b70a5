# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual machines for ipvs mode: a kernel with ip_vs and ip_set as modules, which the kernel of a build machine often
lacks.

They are nodes of the testbed, beside those of molecule: their folders, memory and snapshots are their own. A second
disk, which they only read, holds the kube-proxies and the programs of this folder.
"""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(TOP / "tests" / "testbed")]

import emulator
import images
import vm

NODE = "node612"
PAYLOAD, PAYLOAD_SIZE = "/mnt", "1G"
VERSIONS = "uname -r; iptables --version; ipset --version | head -n 1; ipvsadm --version"
FOLDER = TOP / ".cache" / "kube-proxy" / "machines"
DISK = FOLDER / "payload.img"


class Machine(vm.Node):
    """One of the machines of this run."""

    hardware = ("-smp", "1", "-m", "1024", "-drive", "file=%s,if=virtio,format=raw,readonly=on" % DISK)

    def __init__(self, number):
        super().__init__(NODE)
        self.dir = FOLDER / str(number)
        self.state_file, self.console = self.dir / "state.json", self.dir / "console.log"

    def boot_for(self, qemu, image, accel):
        self.stop()
        self.launch(qemu, image, accel)
        # kube-proxy of 1.22 and later ends where nf_conntrack is not loaded, which the container runtime does.
        status, output = self.ssh("modprobe nf_conntrack && mount -o ro /dev/vdb %s" % PAYLOAD, timeout=120)
        if status:
            raise images.ImageError("a virtual machine is not ready: " + output.decode())
        self.keep()

    @staticmethod
    def path_of(version):
        return "%s/%s" % (PAYLOAD, name_of(version))

    def command(self, namespaces):
        """What runs live.py there, in namespaces as on this machine: ssh, which ends with it."""
        return self.ssh_command("exec %s python3 -B %s/tests/kube_proxy/live.py" % (" ".join(namespaces), PAYLOAD))

    def versions(self):
        """Its kernel and its programs, a line each."""
        done = subprocess.run(self.ssh_command(VERSIONS), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              universal_newlines=True, timeout=60, check=True)
        return done.stdout.splitlines()


def start(nodes, binaries):
    """Builds what is missing and boots them all, with the kube-proxies `binaries`: {version: path}."""
    built, _left_out = images.build_all([NODE])
    qemu = emulator.command(emulator.build())
    pack(binaries)
    accel = vm.find_accel(qemu, built[NODE])
    vm.in_parallel(lambda node: node.boot_for(qemu, built[NODE], accel), nodes)


def pack(binaries):
    """The disk with the kube-proxies, the collectors and the programs of this folder."""
    tree = FOLDER / "payload"
    shutil.rmtree(str(tree), ignore_errors=True)
    tree.mkdir(parents=True)
    for version, binary in binaries.items():
        shutil.copy(binary, str(tree / name_of(version)))
    inside = pathlib.Path("ansible_collections", "kubenode", "netfilter", "plugins", "module_utils")
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(str(TOP / "plugins" / "module_utils"), str(tree / ".build" / inside), ignore=without)
    shutil.copytree(str(HERE), str(tree / "tests" / "kube_proxy"), ignore=without)
    images.run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", str(tree), str(DISK), PAYLOAD_SIZE])
    shutil.rmtree(str(tree))


def name_of(version):
    return "kube-proxy-%d.%d.%d" % version
