# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the test nodes: real kernels in QEMU, each reachable over ssh on a loopback port.

    vm.py choose NODE           the nodes of a short run, see choose()
    vm.py start [NODE ...]      build missing images, boot nodes that are down, restore running nodes
    vm.py restore [NODE ...]    return running nodes to the state right after their boot
    vm.py reboot [NODE ...]     reboot running nodes from within; their disks keep all changes
    vm.py stop [NODE ...]       stop them; all their changes are lost
    vm.py status [NODE ...]     one line per node
    vm.py inventory             the running nodes as an Ansible inventory in YAML
    vm.py snapshot --into DIR   the output of snapshot.py on each running node, as DIR/NODE.json

A restore is QEMU's `loadvm` of a snapshot taken right after the boot: 0.2 s a node, where a reboot costs 35-60 s.
With `snapshot=on` both the changes of the disk and that snapshot are in a temporary file that QEMU has already
unlinked. So every start begins with the unchanged image, and a killed QEMU leaves no files.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import emulator
import images
import sources

RUN = images.RUN / "run"
# A boot takes 40-90 s on an idle machine. A busy machine may take ten times as long without a failure of the kernel.
BOOT_SECONDS = 900
PROBE_SECONDS = 20
MEMORY_MIB = "768"
SNAPSHOT = "pristine"
INSTEAD = "node612"
# The nodes of a command that names none: the choice of the run, or all.
CHOSEN = os.environ.get("TESTBED_NODES", "").split() or list(images.NODES)
SNAPSHOT_SCRIPT = pathlib.Path(__file__).resolve().with_name("snapshot.py")
# Without ServerAlive options, ssh would wait forever for a node that goes down at that moment.
SSH_OPTIONS = ("-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
               " -o ServerAliveInterval=20 -o ServerAliveCountMax=3")


class Node:
    """One test node: a QEMU process known by its control socket, and a state file."""

    hardware = ("-smp", "1", "-m", MEMORY_MIB)

    def __init__(self, name):
        self.name = name
        self.dir = RUN / name
        self.state_file = self.dir / "state.json"
        self.console = self.dir / "console.log"

    @property
    def state(self):
        return json.loads(self.state_file.read_text())

    def save_state(self, **changes):
        state = dict(self.state if self.state_file.exists() else {}, **changes)
        self.state_file.write_text(json.dumps(state))

    @contextlib.contextmanager
    def monitor(self):
        """A function that runs one QEMU monitor command."""
        with contextlib.ExitStack() as stack:
            # A socket address has at most 108 bytes, and the path may be longer; the path of a descriptor is short.
            folder = os.open(str(self.dir), os.O_PATH)
            stack.callback(os.close, folder)
            link = stack.enter_context(socket.socket(socket.AF_UNIX))
            link.settimeout(120)
            link.connect("/proc/self/fd/{0}/qmp.sock".format(folder))
            stream = stack.enter_context(link.makefile("rw"))

            def execute(name, **arguments):
                stream.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
                stream.flush()
                for line in stream:
                    answer = json.loads(line)
                    if "return" in answer or "error" in answer:
                        return answer
                return {"return": ""}

            def human(command):
                answer = execute("human-monitor-command", **{"command-line": command})
                if answer.get("return") != "":
                    raise images.ImageError("{0}: {1}: {2}".format(self.name, command, answer))

            stream.readline()
            execute("qmp_capabilities")
            yield human

    def running(self):
        try:
            with self.monitor():
                return True
        except OSError:
            return False

    def ssh_command(self, command):
        return ["ssh", "-p", str(self.state["port"]), "-i", str(images.ssh_key()), "-o", "ConnectTimeout=15",
                "-o", "BatchMode=yes"] + SSH_OPTIONS.split() + ["root@127.0.0.1", command]

    def ssh(self, command, timeout, script=b""):
        """(exit status, output) of a command in the guest; 255 means not reachable, also after a timeout."""
        try:
            done = subprocess.run(self.ssh_command(command), input=script, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return 255, b""
        return done.returncode, done.stdout if done.returncode == 0 else done.stderr

    def boot(self, qemu, image, accel, archive):
        self.launch(qemu, image, accel)
        status, output = self.ssh(sources.UNPACK_AND_COMPILE, timeout=BOOT_SECONDS, script=archive)
        if status != 0:
            raise images.ImageError("{0}: compiling what Ansible sends ended with {1}: {2}".format(self.name, status,
                                                                                                   output.decode()))
        self.keep()

    def launch(self, qemu, image, accel):
        self.dir.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            (self.dir / "qmp.sock").unlink()
        port = free_port()
        self.save_state(port=port, accel=accel, generation=int(time.time()), image=str(image))
        images.run(
            qemu + accelerated(accel)
            + kernel_of(image, "root=/dev/vda rw console=ttyS0 mitigations=off")
            + ["-drive", "file={0},if=virtio,format=raw,snapshot=on".format(image / "disk.img")]
            + ["-netdev", "user,id=n0,hostfwd=tcp:127.0.0.1:{0}-:22".format(port)]
            + ["-device", "virtio-net-pci,netdev=n0", "-display", "none", "-serial", "file:" + str(self.console)]
            + ["-qmp", "unix:qmp.sock,server=on,wait=off", "-daemonize"] + list(self.hardware),
            cwd=str(self.dir), env=dict(os.environ, TMPDIR=str(self.dir)))
        self.wait()

    def keep(self):
        """Save the current state, to which restore() returns."""
        with self.monitor() as human:
            human("savevm " + SNAPSHOT)

    def wait(self):
        """Wait until the guest answers and systemd has finished the boot; before that its state still changes."""
        deadline = time.monotonic() + BOOT_SECONDS
        while self.ssh("systemctl is-system-running --wait", timeout=300)[0] == 255:
            if time.monotonic() > deadline:
                raise images.ImageError("{0} did not answer within {1} s; see {2}".format(
                    self.name, BOOT_SECONDS, self.console))
            time.sleep(1)

    def restore(self):
        with self.monitor() as human:
            human("loadvm " + SNAPSHOT)
        # The guest has lost all open connections. With a new control path ssh does not reuse a dead master.
        self.save_state(generation=self.state["generation"] + 1)

    def boot_id(self):
        return self.ssh("cat /proc/sys/kernel/random/boot_id", timeout=60)[1]

    def reboot(self):
        before = self.boot_id()
        self.ssh("systemctl reboot", timeout=60)
        deadline = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < deadline:
            status, boot_id = self.ssh("cat /proc/sys/kernel/random/boot_id", timeout=60)
            if status == 0 and boot_id != before:
                return self.wait()
            time.sleep(1)
        raise images.ImageError("{0} did not come back within {1} s".format(self.name, BOOT_SECONDS))

    def stop(self):
        try:
            with self.monitor() as human:
                human("quit")
        except OSError:
            return

    def snapshot(self, folder):
        status, output = self.ssh("python3 -", timeout=300, script=SNAPSHOT_SCRIPT.read_bytes())
        if status != 0:
            raise images.ImageError("{0}: snapshot.py ended with {1}: {2}".format(self.name, status, output.decode()))
        (folder / (self.name + ".json")).write_bytes(output)

    def inventory_vars(self):
        return {
            "ansible_host": "127.0.0.1",
            "ansible_port": self.state["port"],
            "ansible_user": "root",
            "ansible_private_key_file": str(images.ssh_key()),
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_ssh_common_args": SSH_OPTIONS,
            "ansible_timeout": 60,
            "ansible_control_path": "%(directory)s/testbed-{port}-{generation}".format(**self.state),
            "testbed_kernel": images.NODES[self.name]["kernel"],
        }


def accelerated(accel):
    # Without -cx16, kernel 6.12 panicked under an emulated cmpxchg16b. With the default cache of translated code, one
    # gigabyte, a reboot takes 50 % more CPU time than the boot before it, and each node takes 1.5 GiB of memory.
    return {"kvm": ["-accel", "kvm", "-cpu", "host"],
            "tcg": ["-accel", "tcg,thread=multi,tb-size=128", "-cpu", "max,-cx16"]}[accel]


def kernel_of(image, cmdline):
    return ["-kernel", str(image / "vmlinuz"), "-initrd", str(image / "initrd.img"), "-append", cmdline]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_accel(qemu, image):
    """`kvm` if KVM runs a stock kernel in a probe, otherwise `tcg`. The result is kept until this machine reboots."""
    boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    known = RUN / "accel-{0}".format(boot_id)
    if not known.exists():
        RUN.mkdir(parents=True, exist_ok=True)
        known.write_text("kvm" if os.access("/dev/kvm", os.R_OK | os.W_OK) and probe_kvm(qemu, image) else "tcg")
    return known.read_text()


def probe_kvm(qemu, image):
    """Whether a stock kernel under KVM reaches its first process."""
    log = RUN / "probe.log"
    log.write_text("")
    probe = subprocess.Popen(
        qemu + accelerated("kvm") + ["-m", "512", "-no-reboot", "-display", "none"]
        + kernel_of(image, "console=ttyS0") + ["-serial", "file:" + str(log)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PROBE_SECONDS
        while time.monotonic() < deadline and probe.poll() is None:
            if "Run /init" in log.read_text(errors="replace"):
                return True
            time.sleep(0.2)
        return False
    finally:
        probe.kill()
        probe.wait()


def in_parallel(action, nodes):
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(nodes) or 1) as pool:
        list(pool.map(action, nodes))


def start(nodes):
    built, _left_out = images.build_all([node.name for node in nodes])
    if not built:
        raise images.ImageError("no node is left to start")
    qemu = emulator.command(emulator.build())
    accel = find_accel(qemu, next(iter(built.values())))
    up = {node.name for node in nodes if node.running()}
    archive = sources.archive()

    def bring_up(node):
        if node.name in up:
            node.restore()
        else:
            node.boot(qemu, built[node.name], accel, archive)

    in_parallel(bring_up, [node for node in nodes if node.name in built])


def choose(nodes):
    """Print the nodes of a short run: all where KVM runs a stock kernel, otherwise the given ones, or one whose suite
    does not float where theirs cannot be installed today."""
    built, _left_out = images.build_all([node.name for node in nodes])
    if not built:
        built, _left_out = images.build_all([INSTEAD])
    accel = find_accel(emulator.command(emulator.build()), next(iter(built.values())))
    print(" ".join(images.NODES if accel == "kvm" else built))


def restore(nodes):
    in_parallel(Node.restore, [node for node in nodes if node.running()])


def reboot(nodes):
    in_parallel(Node.reboot, [node for node in nodes if node.running()])


def stop(nodes):
    in_parallel(Node.stop, nodes)


def status(nodes):
    for node in nodes:
        where = "127.0.0.1:{port} {accel}".format(**node.state) if node.running() else "down"
        print("{0:8} {1:9} kernel {2:5} {3}".format(
            node.name, images.NODES[node.name]["suite"], images.NODES[node.name]["kernel"], where))


def inventory(nodes):
    print("---\nnodes:\n  hosts:")
    for node in nodes:
        if node.running():
            print("    {0}:".format(node.name))
            for key, value in node.inventory_vars().items():
                print("      {0}: {1}".format(key, json.dumps(value)))


def snapshot(nodes, folder):
    folder.mkdir(parents=True, exist_ok=True)
    in_parallel(lambda node: node.snapshot(folder), [node for node in nodes if node.running()])


def main():
    commands = {"choose": choose, "start": start, "restore": restore, "reboot": reboot, "stop": stop, "status": status,
                "inventory": inventory, "snapshot": snapshot}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=list(commands))
    parser.add_argument("node", nargs="*", help="default: all of " + " ".join(CHOSEN))
    parser.add_argument("--into", type=pathlib.Path, metavar="DIR", help="where snapshots go")
    arguments = parser.parse_args()
    unknown = {*arguments.node, *CHOSEN} - set(images.NODES)
    if unknown:
        parser.error("no such node: " + " ".join(sorted(unknown)))
    if (arguments.command == "snapshot") != bool(arguments.into):
        parser.error("--into belongs to snapshot, and snapshot needs it")
    options = {"folder": arguments.into} if arguments.into else {}
    try:
        commands[arguments.command]([Node(name) for name in arguments.node or CHOSEN], **options)
    except images.ImageError as error:
        sys.exit("testbed: " + str(error))


if __name__ == "__main__":
    main()
