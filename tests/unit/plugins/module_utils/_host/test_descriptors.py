# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What processes have open."""

import fcntl
import os

from node_processes import Sleeper, as_nobody
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import descriptors as host_descriptors
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import DENIED, OK, TIMEOUT, Host


def open_file(path):
    stream = open(str(path), "w")
    fcntl.flock(stream, fcntl.LOCK_EX)
    return stream


def test_descriptors_by_the_name_of_their_file(tmp_path):
    with Sleeper(lambda: (open_file(tmp_path / "x.lock"), open_file(tmp_path / "y.lock"))) as process:
        descriptors = host_descriptors.Descriptors(Host("/"))
        found = list(descriptors.of(process.pid, "x.lock"))
        assert len(found) == 1 and "lock:" in found[0] and descriptors.status == OK
        everything = list(descriptors.of(process.pid))
        assert found[0] in everything and len(everything) >= 5


def test_a_process_that_vanished():
    with Sleeper(lambda: None) as process:
        pid = process.pid
    descriptors = host_descriptors.Descriptors(Host("/"))
    assert list(descriptors.of(pid)) == [] and descriptors.status == OK


def test_processes_of_others_are_denied():
    def look():
        descriptors = host_descriptors.Descriptors(Host("/"))
        return list(descriptors.of(1)), descriptors.status
    assert as_nobody(look) == [[], DENIED]


def test_more_than_the_limit(monkeypatch):
    monkeypatch.setattr(host_descriptors, "LIMIT", 2)
    descriptors = host_descriptors.Descriptors(Host("/"))
    assert len(list(descriptors.of(os.getpid()))) == 2 and descriptors.status == TIMEOUT
    assert list(descriptors.of(os.getpid())) == []


def test_time_is_up(monkeypatch):
    monkeypatch.setattr(host_descriptors, "SECONDS", -1)
    descriptors = host_descriptors.Descriptors(Host("/"))
    assert list(descriptors.of(os.getpid())) == [] and descriptors.status == TIMEOUT
