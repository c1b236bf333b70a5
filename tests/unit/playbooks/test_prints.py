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
    done = fleets.Fleet(tmp_path, "bad1", "good1").run("audit", node_report_details="all")
    name, gate = tasks(done)[-1]
    assert "wanted: no command that deletes rules of other programs" in done.stdout, "not only the cause is listed"
    assert "Gate" in name and "\nok: [good1]\n" in "\n" + gate, done.stdout
    line, = re.findall(r"^fatal: \[bad1\]: FAILED! => (.*)$", gate, re.M)
    result = json.loads(line)
    assert result["msg"].startswith("bad1 is not fit for traffic: ") and len(line) < 1000
    assert result["gate"] == {"blocked": True, "state": "blocked", "checks": ["HOOK001"],
                              "report": "%s/report/nodes/bad1.json" % tmp_path}
    assert "ERROR" not in gate + done.stderr and "Origin" not in gate + done.stderr, done.stdout + done.stderr
    assert re.search(r"^good1 +: ok=\d+ +changed=0 +unreachable=0 +failed=0 +skipped=0 ", done.stdout, re.M)


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


def test_a_gate_that_has_something_to_say_of_one_host_is_for_each(tmp_path):
    done = fleets.Fleet(tmp_path, "good1", "good2", "bad1").run("preflight", "--check", preflight_fix="none")
    gate = next(text for name, text in tasks(done) if name == "Gate")
    assert sorted(re.findall(r"^(?:ok|fatal): \[(\w+)\]", gate, re.M)) == ["bad1", "good1", "good2"], done.stdout
    assert done.returncode == 2 and re.search(r"^bad1 .* failed=1 ", done.stdout, re.M), done.stdout
    assert len(re.findall(r"^good\d .* failed=0", done.stdout, re.M)) == 2, done.stdout


@pytest.mark.parametrize("where", ["inventory", "play"])
def test_one_host_with_something_to_fix_is_fixed_wherever_the_class_is_set(tmp_path, where):
    fleet = fleets.Fleet(tmp_path, "good1", "good2", "bad1")
    if where == "inventory":
        fleet.give(bad1={"preflight_fix": "guarded"})
    play = "- ansible.builtin.import_playbook: kubenode.netfilter.preflight\n"
    done = fleet.run(play + "  vars: {preflight_fix: guarded}\n" * (where == "play"), preflight_serial=["100%"])
    fixed = re.findall(r"^\w+: \[(\w+)\]", dict(tasks(done))["Fix"], re.M)
    assert done.returncode == 0 and sorted(fixed) == ["bad1", "good1", "good2"], done.stdout
    assert re.search(r"^bad1 .* changed=1 ", done.stdout, re.M) and "fixed: HOOK001" in done.stdout, done.stdout


@pytest.mark.parametrize("columns", [40, 300])
def test_the_table_is_as_wide_as_the_terminal(tmp_path, columns):
    fleet = fleets.Fleet(tmp_path, "bad1")
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    shown = []

    def read_all():
        """What a terminal shows until its last user closes it."""
        with contextlib.suppress(OSError):
            while True:
                shown.append(os.read(leader, 65536))

    reader = threading.Thread(target=read_all, daemon=True)
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
