# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Agents whose lines Docker's log driver writes into the journal."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Completed, Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.logs import lines as log_lines
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.logs import recent

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


class WithDocker(Host):
    """A node with dockerd and a journal of `{value of CONTAINER_NAME: lines}`; asks for names end with `status`."""

    def __init__(self, root, logs, status="ok"):
        super().__init__(str(root))
        self.logs, self.status, self.asked, self.commands = logs, status, [], True
        for path in ("usr/bin/dockerd", "var/log/journal/1/system.journal"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("", encoding="ascii")
            (root / path).chmod(0o755)

    def stream(self, argv, consume, timeout, limit, while_waiting=None):
        self.asked.append(argv)
        if "--field=CONTAINER_NAME" in argv:
            consume("".join(name + "\n" for name in self.logs).encode("utf-8"))
            return Completed(self.status, 0)
        names = [term[len("CONTAINER_NAME="):] for term in argv if term.startswith("CONTAINER_NAME=")]
        consume("".join(self.logs[name] for name in names).encode("utf-8") or b"2026-11-22T06:38:01+0000 a kernel: x\n")
        return Completed("ok", 0)


def journal(root, status="ok"):
    logs = dict.fromkeys(OTHERS, LINE % (9, 9, "it failed"))
    logs.update({PROXY + "1": RESTORE, PROXY + "0": LINE % (0, 0, "first failed"), USER: LINE % (2, 2, "it failed"),
                 CALICO: FELIX})
    return WithDocker(root, logs, status)


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


def look(host):
    return recent.collect_node_logs(host, {"place": "live"}, 1795329600)


def test_checks_judge_agents_of_system_namespaces_alone(tmp_path):
    host = journal(tmp_path)
    section = look(host)
    assert section["read"] == ["journal", "journal:calico-node", "journal:kube-proxy"]
    assert {row["source"] for row in section["lines"]} == {"journal:calico-node", "journal:kube-proxy"}
    assert not any("team-1" in term for argv in host.asked for term in argv)
    assert all("--since=-900s" in argv for argv in host.asked if "--field=CONTAINER_NAME" not in argv)


@pytest.mark.parametrize("status", ["timeout", "unparsed"])
def test_names_that_could_not_be_listed_are_told(status, tmp_path):
    assert look(journal(tmp_path, status))["collected"]["journal"] == status
    files = log_lines.collect_lines(journal(tmp_path, status))["files"]
    assert [(row["path"], row["status"]) for row in files] == [("journal", "ok"), ("journal:docker", status)]


def test_a_node_without_docker_is_asked_once(tmp_path):
    host = journal(tmp_path)
    (tmp_path / "usr/bin/dockerd").unlink()
    assert look(host)["read"] == ["journal"] and len(host.asked) == 1


def test_many_agents_and_restarts_are_bounded(tmp_path):
    names = {"k8s_%s_a_kube-system_%s_%d" % (agent, UID, number): "" for number in range(100)
             for agent in log_lines.AGENTS}
    host = WithDocker(tmp_path, names)
    assert len(log_lines.agent_journals(host)) == 8 and max(map(len, host.asked)) < 60
