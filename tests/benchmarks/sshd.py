# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private ssh server on a loopback port: any number of inventory names for this machine."""

import contextlib
import os
import pathlib
import socket
import subprocess
import time

from measure import NODE_PYTHON, SSH_OPTIONS, CannotRun, need_packages, quiet

SERVER = "/usr/sbin/sshd"
PRIVILEGE_SEPARATION = pathlib.Path("/run/sshd")
START_SECONDS = 10
LISTENS = "Server listening on"
FORWARDING = """\
ip link set lo up && echo 1 > /proc/sys/net/ipv4/ip_forward && mount -t tmpfs none /etc/sysctl.d &&
echo net.ipv4.ip_forward = 1 > /etc/sysctl.d/99-kubernetes.conf && echo ready && exec sleep infinity
"""
# MaxStartups: all hosts of a fleet connect at once. HOME: a separate home, so the user's .bashrc does not add time to
# every command; that time would favour the contender that sends fewer commands.
CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM yes
UseDNS no
MaxStartups 200
SetEnv HOME={folder}/login
Subsystem sftp internal-sftp
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def forwarding():
    """The words before a command that run it in separate namespaces, in which this machine forwards packets as a node
    does, now and after a boot. The namespaces end with the block. No words if this process is not root."""
    if os.geteuid() != 0:
        yield ()
        return
    need_packages("iproute2", "util-linux")
    holder = subprocess.Popen(["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", FORWARDING],
                              stdout=subprocess.PIPE)
    try:
        if holder.stdout.readline() != b"ready\n":
            raise CannotRun("no namespaces that forward packets can be had here")
        yield ("nsenter", "--target", str(holder.pid), "--net", "--mount")
    finally:
        holder.kill()
        holder.wait()


@contextlib.contextmanager
def serving(folder, prefix=()):
    """Run a server during the block, with the words of `prefix` before its command; a context manager that gives the
    variables by which Ansible reaches the server from there."""
    need_packages("openssh-server", "openssh-client")
    (folder / "login").mkdir(exist_ok=True)
    for key in ("host_key", "user_key"):
        quiet(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key])
    port = free_port()
    config = folder / "sshd_config"
    config.write_text(CONFIG.format(port=port, folder=folder), encoding="utf-8")
    made = os.geteuid() == 0 and not PRIVILEGE_SEPARATION.exists()
    if made:
        PRIVILEGE_SEPARATION.mkdir(mode=0o755)
    log = folder / "sshd.log"
    with open(str(log), "wb") as output:
        server = subprocess.Popen([*prefix, SERVER, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL,
                                  stdout=output, stderr=output)
    try:
        wait_for(server, log)
        yield {"ansible_host": "127.0.0.1", "ansible_port": port, "ansible_private_key_file": str(folder / "user_key"),
               "ansible_ssh_common_args": SSH_OPTIONS, "ansible_python_interpreter": NODE_PYTHON}
    finally:
        server.terminate()
        server.wait()
        if made:
            PRIVILEGE_SEPARATION.rmdir()


def wait_for(server, log):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        if LISTENS in log.read_text(encoding="utf-8", errors="replace"):
            return
        time.sleep(0.05)
    raise CannotRun("sshd does not answer:\n" + log.read_text(encoding="utf-8", errors="replace"))
