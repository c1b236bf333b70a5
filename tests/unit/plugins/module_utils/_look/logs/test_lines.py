# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidate lines of the logs of a tree: which files are read, which end of each, and which files are not touched; and
the section node_logs, with what was written in the last minutes."""

import gzip
import json
import os

import pytest
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Completed, Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.logs import lines as log_lines, recent

NOW = 1764060000
FULL = "Nov 25 08:39:30 a kernel: nf_conntrack: table full, dropping packet"
POD = "/var/log/pods/kube-system_kube-proxy-x_1/kube-proxy/"


def write(tmp_path, path, content, age=0):
    place = tmp_path / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    os.utime(str(place), (NOW - age, NOW - age))
    return place


def look(tmp_path, *sources):
    found = log_lines.collect_lines(Host(str(tmp_path)), list(sources) or None)
    return [(row["source"], row["text"]) for row in found["lines"]], {
        row["path"]: row["status"] for row in found["files"]}


def test_agents_and_system_with_rotated_files_the_newest_first(tmp_path):
    write(tmp_path, POD + "1.log", "2026-11-22T06:37:30Z stderr F it failed\n", 10)
    write(tmp_path, POD + "1.log.20261122-063000.gz", gzip.compress(b"2026-11-22T06:30:00Z stderr F it failed\n"), 500)
    write(tmp_path, "/var/log/kern.log", FULL + "\n", 20)
    write(tmp_path, "/var/log/messages-20261101", "older: failed\n", 900)
    write(tmp_path, "/var/log/dpkg.log", "failed\n")
    write(tmp_path, "/var/log/pods/team_web_1/web/0.log", "2026-11-22T06:37:30Z stderr F it failed\n")
    lines, files = look(tmp_path)
    assert [source for source, _text in lines] == list(files) == [
        POD + "1.log", "/var/log/kern.log", POD + "1.log.20261122-063000.gz", "/var/log/messages-20261101"]


@cases
def test_what_is_no_log_is_refused(path, message, tmp_path):
    write(tmp_path, "/srv/a.log", FULL + "\n")
    with pytest.raises(BadInput, match=message):
        look(tmp_path, "/srv/a.log", path)


@pytest.mark.parametrize("log, docker", [("/var/log", "/var/lib/docker"), ("/data/log", "/data/docker")])
def test_links_out_of_the_pods_are_not_followed_and_those_of_docker_are(log, docker, tmp_path):
    """The folders themselves may lie behind links of the node."""
    for folder, target in (("var/log", log), ("var/lib/docker", docker)):
        (tmp_path / folder).parent.mkdir(parents=True, exist_ok=True)
        if target != "/" + folder:
            os.symlink(target, str(tmp_path / folder))
    pod = POD.replace("/var/log", log)
    write(tmp_path, pod + "0.log", "it failed\n", 1)
    write(tmp_path, docker + "/containers/1/1-json.log",
          json.dumps({"log": "it failed\n", "stream": "stderr", "time": "x"}) + "\n", 2)
    write(tmp_path, "/data/secret", "it failed\n", 3)
    os.symlink("/var/lib/docker/containers/1/1-json.log", str(tmp_path / (pod + "1.log").lstrip("/")))
    os.symlink("/data/secret", str(tmp_path / (pod + "2.log").lstrip("/")))
    lines, files = look(tmp_path)
    assert [source for source, _text in lines] == [POD + "0.log", POD + "1.log"]
    assert files == {POD + "0.log": "ok", POD + "1.log": "ok", POD + "2.log": "unparsed"}


def test_fifos_devices_and_garbage_end(tmp_path):
    (tmp_path / "srv").mkdir()
    os.mkfifo(str(tmp_path / "srv/fifo"))
    write(tmp_path, "/srv/garbage", bytes(range(256)) * 4000)
    write(tmp_path, "/srv/cut.gz", gzip.compress((FULL + "\n").encode() * 9)[:-9])
    lines, files = look(tmp_path, "/srv/fifo", "/srv/garbage", "/srv/cut.gz")
    assert ("/srv/cut.gz", FULL) in lines
    assert files == {"/srv/fifo": "unparsed", "/srv/garbage": "ok", "/srv/cut.gz": "unparsed"}


@pytest.mark.parametrize("ending", ["xz", "zst", "bz2", "lz4"])
def test_what_is_packed_in_another_way_is_not_searched(ending, tmp_path):
    path = "/var/log/messages-20261101." + ending
    write(tmp_path, path, b"\xfd7zXZ\0 not \x00\n")
    assert look(tmp_path) == look(tmp_path, path) == ([], {path: "unparsed"})


def test_more_files_than_are_searched_are_refused_where_the_user_names_them(tmp_path):
    paths = ["/srv/%03d.log" % number for number in range(log_lines.MOST_FILES + 1)]
    for path in paths:
        write(tmp_path, path, FULL + "\n")
    with pytest.raises(BadInput, match="src has 61 files, and one call searches at most 60; use several calls"):
        look(tmp_path, *paths)
    assert len(look(tmp_path, *paths[1:])[1]) == 60


@pytest.mark.parametrize("path, packed", [("/srv/a.log", bytes), ("/srv/a.gz", gzip.compress)])
def test_of_a_large_file_the_end_is_read(path, packed, tmp_path, monkeypatch):
    monkeypatch.setattr(log_lines, "MOST_BYTES", 1000)
    write(tmp_path, path, packed(b"failed first\n" + b"fine\n" * 1000 + b"failed last\n"))
    write(tmp_path, "/srv/b.log", "failed\n")
    found = log_lines.collect_lines(Host(str(tmp_path)), [path, "/srv/b.log"])
    assert [row["text"] for row in found["lines"]] == ["failed last"]
    assert [(row["read_bytes"], row["cut"]) for row in found["files"]] == [(1000, True), (0, True)]
    assert found["files"][0]["status"] == "ok"


def test_one_line_of_a_gigabyte(tmp_path):
    place = write(tmp_path, "/srv/a.log", "")
    os.truncate(str(place), 1 << 30)
    with place.open("ab") as stream:
        stream.write(b"\nfailed\n")
    assert look(tmp_path, "/srv/a.log")[0] == [("/srv/a.log", "failed")]


def test_a_file_that_is_rotated_while_it_is_read(tmp_path, monkeypatch):
    place = write(tmp_path, "/srv/a.log", "failed\n" * 3)
    feed = log_lines.FromEnd.feed

    def rotated(self, chunk, is_first):
        if place.exists():
            os.rename(str(place), str(place) + ".1")
        return feed(self, chunk, is_first)

    monkeypatch.setattr(log_lines.FromEnd, "feed", rotated)
    assert len(look(tmp_path, "/srv/a.log")[0]) == 3


def test_older_files_than_those_with_enough_lines_are_not_read(tmp_path):
    write(tmp_path, "/var/log/kern.log", "%s\n" % FULL * 300)
    write(tmp_path, "/var/log/kern.log.1", FULL + "\n", 900)
    for number in range(log_lines.MOST_FILES):
        write(tmp_path, "/var/log/messages-%d" % number, FULL + "\n", 9000)
    found = log_lines.collect_lines(Host(str(tmp_path)))
    assert found["files_left_out"] == 2 and found["files"][0]["cut"] is False
    assert {row["source"] for row in found["lines"]} >= {"/var/log/kern.log", "/var/log/kern.log.1"}


def test_the_answer_is_bounded_and_masked(tmp_path):
    for name in "abcdefgh":
        write(tmp_path, "/srv/%s.log" % name, ("failed password=geheim %s\n" % ("x" * 400)) * 500)
    lines, files = look(tmp_path, *["/srv/%s.log" % name for name in "abcdefgh"])
    assert len(lines) <= log_lines.MOST_ROWS and sum(len(text) for _source, text in lines) <= log_lines.MOST_CHARACTERS
    assert len(files) == 8 and "geheim" not in str(lines) and "password=***" in lines[0][1]
    write(tmp_path, "/srv/short.log", "failed\n" * 5000)
    assert len(look(tmp_path, "/srv/short.log")[0]) == log_lines.MOST_ROWS


def test_a_writer_that_repeats_long_errors_leaves_room_for_the_others():
    kubelet, kernel = ("2026-11-22T10:00:00+0100 a %s: it failed %s" % part for part in (("kubelet[9]", "x" * 1500),
                                                                                         ("kernel", "")))
    lines = [("journal", kubelet)] * 30 + [("journal", kernel), (POD + "0.log", "it failed")]
    rows = log_lines.bounded(lines, 40, 8192)
    assert [row["text"] for row in rows] == [kubelet] * 5 + [kernel, "it failed"]


# Agents whose lines Docker's log driver writes into the journal.

UID = "0d5c2b8e-5a0b-4c39-9c4e-2f6a41d0a7f1"
PROXY = "k8s_kube-proxy_kube-proxy-abcde_kube-system_%s_" % UID
CALICO = "k8s_calico-node_calico-node-x_calico-system_%s_0" % UID
USER = "k8s_kube-proxy_web-0_team-1_%s_0" % UID
OTHERS = ["k8s_POD_kube-proxy-abcde_kube-system_%s_0" % UID, "k8s_web_web-0_kube-system_%s_0" % UID, "registry",
          "k8s_kube-proxy_a_kube-system_%s_0 --merge" % UID, "--output=export", ""]
LINE = "2026-11-22T06:38:0%d+0000 node-1 3f2a9c1b7d5e[812]: E1122 06:38:0%d.720735       1 proxier.go:1406] %s\n"
MESSAGE = '"Failed to execute iptables-restore" err=<'
VALUE = "2026-11-22T06:38:01+0000 node-1 3f2a9c1b7d5e[812]: %s\n"
# journalctl prints eight spaces for a TAB.
RESTORE = (LINE % (1, 1, MESSAGE) + VALUE % "        Another app is currently holding the xtables lock."
           + VALUE % ' > ipFamily="IPv4"')
FELIX = "2026-11-22T06:38:03+0000 node-1 a51b0c4e77d2[812]: felix failed\n"


class WithJournal(Host):
    """A node with a journal of `lines`, and with dockerd if there are `logs`: {value of CONTAINER_NAME: lines}; listing
    these names ends with `names`, other reading with `status`."""

    def __init__(self, root, lines="2026-11-22T06:38:01+0000 a kernel: x\n", status="ok", logs=None, names="ok"):
        super().__init__(str(root))
        self.lines, self.status, self.logs, self.names = lines, status, logs or {}, names
        self.asked, self.commands = [], True
        write(root, "/var/log/journal/1/system.journal", "")
        if logs:
            write(root, "/usr/bin/dockerd", "").chmod(0o755)

    def stream(self, argv, consume, timeout, limit, while_waiting=None):
        self.asked.append(argv)
        if "--field=CONTAINER_NAME" in argv:
            consume("".join(name + "\n" for name in self.logs).encode("utf-8"))
            return Completed(self.names, 0)
        names = [term[len("CONTAINER_NAME="):] for term in argv if term.startswith("CONTAINER_NAME=")]
        consume(("".join(self.logs[name] for name in names) or self.lines).encode("utf-8"))
        return Completed(self.status, 0)


def journal(root, names="ok"):
    logs = dict.fromkeys(OTHERS, LINE % (9, 9, "it failed"))
    logs.update({PROXY + "1": RESTORE, PROXY + "0": LINE % (0, 0, "first failed"), USER: LINE % (2, 2, "it failed"),
                 CALICO: FELIX})
    return WithJournal(root, logs=logs, names=names)


def test_lines_of_agents_are_found_with_the_name_of_their_container(tmp_path):
    host = journal(tmp_path)
    found = log_lines.collect_lines(host)
    # A user may name a container like an agent, which log_info reads below /var/log/pods as well.
    assert [(row["source"], row["text"] + "\n") for row in found["lines"]] == [
        ("journal:calico-node", FELIX), ("journal:kube-proxy", LINE % (2, 2, "it failed")),
        ("journal:kube-proxy", RESTORE), ("journal:kube-proxy", LINE % (0, 0, "first failed"))]
    assert [(row["path"], row["status"]) for row in found["files"]] == [
        (source, "ok") for source in ("journal", "journal:calico-node", "journal:kube-proxy")]
    terms = [argv for argv in host.asked if "CONTAINER_NAME=" + PROXY + "0" in argv]
    assert len(terms) == 1 and "_SYSTEMD_UNIT=docker.service" in terms[0] and "+" not in terms[0]
    assert not any(other in " ".join(argv) for argv in host.asked for other in OTHERS if other)


def test_the_unit_of_dockerd_brings_no_lines_of_containers(tmp_path):
    host = journal(tmp_path)
    log_lines.journal(host)
    place = host.asked[0].index("_SYSTEMD_UNIT=docker.service")
    assert host.asked[0][place - 1:] == ["+", "_SYSTEMD_UNIT=docker.service", "_TRANSPORT=stdout"]


def section_of(host, place="live", now=1795329600):
    return recent.collect_node_logs(host, {"place": place}, now)


def test_checks_judge_agents_of_system_namespaces_alone(tmp_path):
    host = journal(tmp_path)
    section = section_of(host)
    assert section["read"] == ["journal", "journal:calico-node", "journal:kube-proxy"]
    assert {row["source"] for row in section["lines"]} == {"journal:calico-node", "journal:kube-proxy"}
    assert not any("team-1" in term for argv in host.asked for term in argv)
    assert all("--since=-900s" in argv for argv in host.asked if "--field=CONTAINER_NAME" not in argv)


@pytest.mark.parametrize("status", ["timeout", "unparsed"])
def test_names_that_could_not_be_listed_are_told(status, tmp_path):
    assert section_of(journal(tmp_path, status))["collected"]["journal"] == status
    files = log_lines.collect_lines(journal(tmp_path, status))["files"]
    assert [(row["path"], row["status"]) for row in files] == [("journal", "ok"), ("journal:docker", status)]


def test_many_agents_and_restarts_are_bounded(tmp_path):
    names = {"k8s_%s_a_kube-system_%s_%d" % (agent, UID, number): "" for number in range(100)
             for agent in log_lines.AGENTS}
    host = WithJournal(tmp_path, logs=names)
    assert len(log_lines.agent_journals(host)) == 8 and max(map(len, host.asked)) < 60


# The section node_logs.

def test_the_last_minutes_of_agents_and_of_the_system_without_a_journal(tmp_path):
    write(tmp_path, POD + "0.log", "2026-11-22T06:37:30Z stderr F it failed\n", 10)
    write(tmp_path, POD + "0.log.20261122-063000", "older: it failed\n", 2000)
    write(tmp_path, "/var/log/kern.log", FULL + "\n", 20)
    write(tmp_path, "/var/log/messages", "it failed\n", 20 * 60)
    write(tmp_path, POD.replace("kube-system", "team") + "0.log", "2026-11-22T06:37:30Z stderr F it failed\n")
    section = section_of(Host(str(tmp_path)), now=NOW)
    assert [row["source"] for row in section["lines"]] == [POD + "0.log", "/var/log/kern.log"]
    assert section["collected"] == {"journal": "absent", "files": "ok"} and "/var/log/messages" in section["read"]
    assert section["now"] == "2025-11-25T08:40:00Z" and section["cut"] is False


def test_much_is_cut_and_said(tmp_path):
    for number in range(3):
        write(tmp_path, "%s%d.log" % (POD, number), "it failed password=geheim %s\n" % ("x" * 200) * 3000, number)
    section = section_of(Host(str(tmp_path)), now=NOW)
    assert section["cut"] is True and len(section["lines"]) <= recent.MOST_ROWS
    assert sum(len(row["text"]) for row in section["lines"]) <= recent.MOST_CHARACTERS
    assert "geheim" not in str(section)


def test_an_image_has_no_lines_of_now(tmp_path):
    write(tmp_path, "/var/log/kern.log", FULL + "\n")
    section = section_of(Host(str(tmp_path)), "image", NOW)
    assert section["lines"] == section["read"] == []


def test_files_of_kubelet_and_plugins_are_read_beside_the_journal(tmp_path):
    kubelet, plugin = "/var/lib/rancher/rke2/agent/logs/kubelet.log", "/var/log/calico/cni/cni.log"
    write(tmp_path, kubelet, 'E1125 08:39:30.000001 1 a.go:1] "Failed to create sandbox for pod" pod="a/b"\n', 10)
    write(tmp_path, plugin, "2025-11-25 08:39:30.001 [ERROR][7] it failed\n", 20)
    section = section_of(WithJournal(tmp_path, "2025-11-25T08:39:30+0000 a kernel: x\n"), now=NOW)
    assert [row["source"] for row in section["lines"]] == [kubelet, plugin]
    assert section["read"] == [kubelet, plugin, "journal"]


@pytest.mark.parametrize("status, root, seen", [
    ("ok", True, "ok"), ("timeout", True, "timeout"), ("ok", False, "denied")])
def test_a_journal_is_read_in_place_of_files_of_the_system(status, root, seen, tmp_path, monkeypatch):
    write(tmp_path, "/var/log/kern.log", FULL + "\n", 20)
    host = WithJournal(tmp_path, FULL + "\n" if root else "", status)
    monkeypatch.setattr(host, "is_root", lambda: root)
    section = section_of(host, now=NOW)
    assert section["collected"]["journal"] == seen
    assert [row["source"] for row in section["lines"]] == (["journal"] if seen == "ok" else ["/var/log/kern.log"])
    units = ("firewalld", "ufw", "cri-docker", "systemd-modules-load", "systemd-sysctl")
    assert {"--since=-900s", "--lines=10000", *("_SYSTEMD_UNIT=%s.service" % unit for unit in units)} <= set(
        host.asked[0])
