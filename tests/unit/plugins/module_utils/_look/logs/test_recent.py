# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_logs: what was written in the last minutes, and what was not read."""

import os

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Completed, Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.logs import recent

NOW = 1764060000
FULL = "Nov 25 08:39:30 a kernel: nf_conntrack: table full, dropping packet"
POD = "/var/log/pods/kube-system_kube-proxy-x_1/kube-proxy/"


def write(tmp_path, path, text, age=0):
    place = tmp_path / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    os.utime(str(place), (NOW - age, NOW - age))


def look(host, place="live"):
    return recent.collect_node_logs(host, {"place": place}, NOW)


def test_the_last_minutes_of_agents_and_of_the_system_without_a_journal(tmp_path):
    write(tmp_path, POD + "0.log", "2026-11-22T06:37:30Z stderr F it failed\n", 10)
    write(tmp_path, POD + "0.log.20261122-063000", "older: it failed\n", 2000)
    write(tmp_path, "/var/log/kern.log", FULL + "\n", 20)
    write(tmp_path, "/var/log/messages", "it failed\n", 20 * 60)
    write(tmp_path, POD.replace("kube-system", "team") + "0.log", "2026-11-22T06:37:30Z stderr F it failed\n")
    section = look(Host(str(tmp_path)))
    assert [row["source"] for row in section["lines"]] == [POD + "0.log", "/var/log/kern.log"]
    assert section["collected"] == {"journal": "absent", "files": "ok"} and "/var/log/messages" in section["read"]
    assert section["now"] == "2025-11-25T08:40:00Z" and section["cut"] is False


class WithJournal(Host):
    """A tree with a journal that `answer` comes from."""

    def __init__(self, root, answer, status="ok"):
        super().__init__(root)
        self.answer, self.status, self.asked = answer, status, None

    def stream(self, argv, consume, timeout, limit, while_waiting=None):
        self.asked = argv
        consume(self.answer)
        return Completed(self.status, 0)


@pytest.mark.parametrize("status, root, seen", [("ok", True, "ok"), ("timeout", True, "timeout"),
                                                ("ok", False, "denied")])
def test_a_journal_is_read_in_place_of_files_of_the_system(status, root, seen, tmp_path, monkeypatch):
    write(tmp_path, "/var/log/journal/1/system.journal", "")
    write(tmp_path, "/var/log/kern.log", FULL + "\n", 20)
    host = WithJournal(str(tmp_path), (FULL + "\n").encode() if root else b"", status)
    monkeypatch.setattr(host, "is_root", lambda: root)
    section = look(host)
    assert "--since=-900s" in host.asked and section["collected"]["journal"] == seen
    assert [row["source"] for row in section["lines"]] == (["journal"] if seen == "ok" else ["/var/log/kern.log"])


def test_much_is_cut_and_said(tmp_path):
    for number in range(3):
        write(tmp_path, "%s%d.log" % (POD, number), "it failed password=geheim %s\n" % ("x" * 200) * 3000, number)
    section = look(Host(str(tmp_path)))
    assert section["cut"] is True and len(section["lines"]) <= recent.MOST_ROWS
    assert sum(len(row["text"]) for row in section["lines"]) <= recent.MOST_CHARACTERS
    assert "geheim" not in str(section)


def test_an_image_has_no_lines_of_now(tmp_path):
    write(tmp_path, "/var/log/kern.log", FULL + "\n")
    section = look(Host(str(tmp_path)), "image")
    assert section["lines"] == section["read"] == []


def test_files_of_kubelet_and_plugins_are_read_beside_the_journal(tmp_path):
    write(tmp_path, "/var/log/journal/1/system.journal", "")
    kubelet, plugin = "/var/lib/rancher/rke2/agent/logs/kubelet.log", "/var/log/calico/cni/cni.log"
    write(tmp_path, kubelet, 'E1125 08:39:30.000001 1 a.go:1] "Failed to create sandbox for pod" pod="a/b"\n', 10)
    write(tmp_path, plugin, "2025-11-25 08:39:30.001 [ERROR][7] it failed\n", 20)
    section = look(WithJournal(str(tmp_path), b"2025-11-25T08:39:30+0000 a kernel: x\n"))
    assert [row["source"] for row in section["lines"]] == [kubelet, plugin]
    assert section["read"] == ["/var/lib/rancher/rke2/agent/logs/kubelet.log", plugin, "journal"]


def test_the_units_of_all_known_writers_are_read(tmp_path):
    write(tmp_path, "/var/log/journal/1/system.journal", "")
    host = WithJournal(str(tmp_path), b"")
    look(host)
    assert "--lines=10000" in host.asked
    units = ("firewalld", "ufw", "cri-docker", "systemd-modules-load", "systemd-sysctl")
    assert {"_SYSTEMD_UNIT=%s.service" % unit for unit in units} <= set(host.asked)
