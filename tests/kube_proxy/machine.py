# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual machines for ipvs mode: their kernel has ip_vs and ip_set as modules; the kernel of a build machine often has
not.

They are nodes of the testbed, separate from the nodes of molecule: they have their own folders, memory and snapshots. A
second, read-only disk holds the kube-proxies and the programs of this folder.
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
    """One virtual machine of this run."""

    hardware = ("-smp", "1", "-m", "1024", "-drive", "file=%s,if=virtio,format=raw,readonly=on" % DISK)

    def __init__(self, number):
        super().__init__(NODE)
        self.dir = FOLDER / str(number)
        self.state_file, self.console = self.dir / "state.json", self.dir / "console.log"

    def boot_for(self, qemu, image, accel):
        self.stop()
        self.launch(qemu, image, accel)
        # kube-proxy of 1.22 and later exits if nf_conntrack is not loaded. Usually the container runtime loads it.
        status, output = self.ssh("modprobe nf_conntrack && mount -o ro /dev/vdb %s" % PAYLOAD, timeout=120)
        if status:
            raise images.ImageError("a virtual machine is not ready: " + output.decode())
        self.keep()

    @staticmethod
    def path_of(version):
        return "%s/%s" % (PAYLOAD, name_of(version))

    def command(self, namespaces):
        """The command that runs live.py on the machine, in the same namespaces as on this machine; ssh ends with it."""
        return self.ssh_command("exec %s python3 -B %s/tests/kube_proxy/live.py" % (" ".join(namespaces), PAYLOAD))

    def versions(self):
        """The versions of its kernel and programs, a line each."""
        done = subprocess.run(self.ssh_command(VERSIONS), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              universal_newlines=True, timeout=60, check=True)
        return done.stdout.splitlines()


def start(nodes, binaries):
    """Build the missing parts and boot all machines, with the kube-proxies `binaries` ({version: path})."""
    built, _left_out = images.build_all([NODE])
    qemu = emulator.command(emulator.build())
    pack(binaries)
    accel = vm.find_accel(qemu, built[NODE])
    vm.in_parallel(lambda node: node.boot_for(qemu, built[NODE], accel), nodes)


def pack(binaries):
    """Make the disk with the kube-proxies, the collectors and the programs of this folder."""
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
