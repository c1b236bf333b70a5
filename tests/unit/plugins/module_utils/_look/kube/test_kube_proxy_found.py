# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ports on which a process named kube-proxy listens, on this machine."""

import os
import socket
import subprocess
import sys

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_found import own_ports
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.logs.lines import kube_proxy_ports

LISTEN = ("import socket, sys; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(1); "
          "print(s.getsockname()[1], flush=True); sys.stdin.read()")


@pytest.fixture
def port_of_kube_proxy(tmp_path):
    program = tmp_path / "kube-proxy"
    program.symlink_to(os.path.realpath(sys.executable))
    with subprocess.Popen([str(program), "-c", LISTEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield int(process.stdout.readline())
        process.stdin.close()
        process.wait(30)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees the sockets of all processes")
def test_a_port_is_of_kube_proxy_or_of_another_program(port_of_kube_proxy):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        foreign = other.getsockname()[1]
        assert own_ports(Host("/"), [port_of_kube_proxy, foreign, 1]) == [port_of_kube_proxy]
        lines = [("/x", "err=\"listen tcp :%d: bind: address already in use\"" % port)
                 for port in (foreign, port_of_kube_proxy, 99999)]
        assert kube_proxy_ports(Host("/"), lines) == [port_of_kube_proxy]
    assert kube_proxy_ports(Host("/"), [("/x", "bind: address already in use")]) == []


def test_without_root_nothing_is_claimed(monkeypatch):
    host = Host("/")
    monkeypatch.setattr(host, "is_root", lambda: False)
    assert own_ports(host, [1]) is None
