# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run prints, really run: the tables, the sentence of the gate, what a run in check mode would change."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import termios
import threading

import fleets
import pytest

PYTHON = "/usr/bin/python3"


def tasks(done):
    """[(name, what it printed)] of the tasks that printed anything, in the order of the run."""
    parts = re.split(r"^TASK \[(.*?)\] \**\n", done.stdout.partition("PLAY RECAP")[0], flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


@pytest.fixture
def users_folder(tmp_path_factory):
    """A folder that every user may read, unlike those of pytest."""
    folder = pathlib.Path("/tmp", "kubenode-" + tmp_path_factory.mktemp("x").parent.name + "-%d" % os.getpid())
    folder.mkdir()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(str(folder))


def test_the_gate_fails_with_its_own_sentence_and_passes_as_ok(tmp_path):
    done = fleets.Fleet(tmp_path, "bad1", "good1").run("audit")
    name, gate = tasks(done)[-1]
    assert "Gate" in name and "\nok: [good1]\n" in "\n" + gate, done.stdout
    line, = re.findall(r"^fatal: \[bad1\]: FAILED! => (.*)$", gate, re.M)
    result = json.loads(line)
    assert result["msg"].startswith("bad1 is not fit for traffic: ") and len(line) < 1000
    assert result["gate"] == {"blocked": True, "state": "blocked", "checks": ["HOOK001"],
                              "report": "%s/report/nodes/bad1.json" % tmp_path}
    assert "ERROR" not in gate + done.stderr and "Origin" not in gate + done.stderr, done.stdout + done.stderr
    assert re.search(r"^good1 +: ok=\d+ +changed=0 +unreachable=0 +failed=0 +skipped=0 ", done.stdout,
                     re.M), done.stdout


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv") or not os.path.exists(PYTHON),
                    reason="takes another user to be")
def test_what_another_user_may_not_see_is_one_line(users_folder):
    fleet = fleets.Fleet(users_folder, "good1", "bad1")
    python = users_folder / "python"
    python.write_text("#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s \"$@\"\n" % PYTHON)
    python.chmod(0o755)
    (users_folder / "bad1/etc/cron.d/firewall").chmod(0o600)
    done = fleet.run("audit", ansible_python_interpreter=str(python), ansible_pipelining=True)
    line = r"not run as root: \d+ checks unknown, use --become"
    report, gate = (text for _name, text in tasks(done)[-2:])
    assert len(re.findall(r"^  \?  .*$", report, re.M)) == 1, done.stdout
    assert re.search(r"^  \?      \w+ +%s$" % line, report, re.M) and "1 not known (bad1)" in report, done.stdout
    warned = re.findall(r"\[WARNING\]: (.*)", done.stderr + gate)
    assert [bool(re.match(r"bad1 is not known: \d+ checks could not look \(not root\)$", text))
            for text in warned] == [True], done.stdout + done.stderr


def test_the_header_says_the_place_and_whether_it_is_a_node(tmp_path):
    fleet = fleets.Fleet(tmp_path, "good1", "good2")
    (tmp_path / "good2/usr/bin").mkdir(parents=True, exist_ok=True)
    (tmp_path / "good2/usr/bin/kubelet").write_text("")
    (tmp_path / "good2/usr/bin/kubelet").chmod(0o755)
    done = fleet.run("audit", node_assess_sections=["KMOD", "HOOK"], node_gate_mode="never")
    shown = " ".join(done.stdout.split())
    assert re.search(r"good1 [^.]*image, no kubelet here: judged as a future node, ", shown), done.stdout
    assert re.search(r"good2 [^.]*image, kubelet is installed, ", shown), done.stdout


def test_more_than_five_hosts_are_folded_and_only_hosts_that_differ_have_a_table(tmp_path):
    names = ["bad%d" % number for number in range(1, 7)]
    fleet = fleets.Fleet(tmp_path, "good1", *names)
    (tmp_path / "bad3/etc/cron.d/other").write_text("0 4 * * * root iptables -t mangle -F\n")
    report = tasks(fleet.run("audit", node_gate_mode="never"))[1][1]
    assert re.search(r"^All nodes\n  FAIL   .*\n(?: +.*\n)*?    on bad1, bad2, bad4, bad5, bad6$", report, re.M), report
    assert re.search(r"^    fix: .* -l bad1,bad2,bad4,bad5,bad6( |$)", report, re.M), report
    assert re.findall(r"^(\w+\d) ", report, re.M) == ["bad3", "bad3"], report
    assert len(re.findall(r"^  FAIL  ", report, re.M)) == 2, report
    done = fleet.run("audit", node_gate_mode="never", node_report_details="all")
    assert len(set(re.findall(r"^(?:bad|good)\d ", tasks(done)[1][1], re.M))) == 7, done.stdout


def test_a_gate_that_has_something_to_say_of_one_host_is_for_each(tmp_path):
    done = fleets.Fleet(tmp_path, "good1", "good2", "bad1").run("preflight", "--check", preflight_fix="none")
    gate = tasks(done)[[name for name, _text in tasks(done)].index(
        "Gate")][1]
    assert sorted(re.findall(r"^(?:ok|fatal): \[(\w+)\]", gate, re.M)) == ["bad1", "good1", "good2"], done.stdout
    assert done.returncode == 2 and re.search(r"^bad1 .* failed=1 ", done.stdout, re.M), done.stdout
    assert len(re.findall(r"^good\d .* failed=0", done.stdout, re.M)) == 2, done.stdout


@pytest.mark.parametrize("where", ["inventory", "play"])
def test_one_host_with_something_to_fix_is_fixed_wherever_the_class_is_set(tmp_path, where):
    fleet = fleets.Fleet(tmp_path, "good1", "good2", "bad1")
    if where == "inventory":
        inventory = json.loads((tmp_path / "hosts.json").read_text())
        inventory["all"]["children"]["workers"]["hosts"]["bad1"]["preflight_fix"] = "guarded"
        (tmp_path / "hosts.json").write_text(json.dumps(inventory))
    play = "- ansible.builtin.import_playbook: kubenode.netfilter.preflight\n"
    done = fleet.run(play + "  vars: {preflight_fix: guarded}\n" * (where == "play"), preflight_serial=["100%"])
    fixed = re.findall(r"^\w+: \[(\w+)\]", dict(tasks(done))["Fix"], re.M)
    assert done.returncode == 0 and sorted(fixed) == ["bad1", "good1", "good2"], done.stdout
    assert re.search(r"^bad1 .* changed=1 ", done.stdout, re.M) and "fixed: HOOK001" in done.stdout, done.stdout


def test_a_wrong_value_of_details_is_refused_in_one_sentence(tmp_path):
    done = fleets.Fleet(tmp_path, "good1").run("audit", node_report_details="some")
    assert done.returncode != 0 and "ok: [good1]" not in done.stdout
    assert "node_report_details is 'some', but must be one of: auto, all, failing, none" in " ".join(
        (done.stdout + done.stderr).split()), done.stdout


@pytest.mark.parametrize("columns", [40, 300])
def test_the_table_is_as_wide_as_the_terminal(tmp_path, columns):
    fleet = fleets.Fleet(tmp_path, "bad1")
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    shown = []
    reader = threading.Thread(target=read_all, args=(leader, shown), daemon=True)
    reader.start()
    try:
        fleet.run("audit", environment={"COLUMNS": ""}, stdout=follower, node_gate_mode="never")
    finally:
        os.close(follower)
    reader.join()
    os.close(leader)
    text = b"".join(shown).decode().replace("\r\n", "\n")
    table = re.search(r"^bad1 .*?\d\s+skip$", text, re.M | re.S).group(0)
    widest = max(map(len, table.splitlines()))
    assert widest <= columns and (columns < 300 or widest > 120), table


def read_all(leader, shown):
    """What a terminal shows until its last user closes it."""
    with contextlib.suppress(OSError):
        while True:
            shown.append(os.read(leader, 65536))
