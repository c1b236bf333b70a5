# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection of Ansible into the namespaces of a process: as ssh to a node, with no network that a state may cut."""

import pathlib
import subprocess

from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
    name: inside_namespaces
    short_description: Run tasks in the namespaces of a process of this machine
    description: Runs commands with C(nsenter) in all namespaces of a process, with its root directory.
    author: kubenode.netfilter contributors
    options:
      pid:
        description: The process.
        type: int
        required: true
        vars:
          - name: real_node_pid
"""

NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd")


def command(pid, *words):
    """The command that runs `words` in the namespaces of process `pid`."""
    return ["nsenter", "--target", str(pid), *NAMESPACES, "--", "env", "-i",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", *words]


class Connection(ConnectionBase):
    """One node."""

    transport = "inside_namespaces"
    has_pipelining = True

    def _connect(self):
        self._connected = True
        return self

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        done = subprocess.run(command(self.get_option("pid"), "/bin/sh", "-c", cmd), input=in_data or b"",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path, out_path):
        super().put_file(in_path, out_path)
        subprocess.run(command(self.get_option("pid"), "dd", "status=none", "of=" + out_path),
                       input=pathlib.Path(in_path).read_bytes(), check=True)

    def fetch_file(self, in_path, out_path):
        super().fetch_file(in_path, out_path)
        pathlib.Path(out_path).write_bytes(subprocess.run(
            command(self.get_option("pid"), "cat", in_path), stdout=subprocess.PIPE, check=True).stdout)

    def close(self):
        self._connected = False
