# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run prints, really run: the tables, the sentence of the gate, what a run in check mode would change."""

import os
import pathlib
import re
import shutil

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
    sentence = "Not fit for traffic: 1 finding blocks (HOOK001). Report: %s/report/nodes/bad1.json" % tmp_path
    assert '"msg": "%s"' % sentence in gate and gate.count('"HOOK001 (') == 1
    assert re.search(r"^good1 +: ok=\d+ +changed=0 +unreachable=0 +failed=0 +skipped=0 ", done.stdout, re.M), done.stdout


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv") or not os.path.exists(PYTHON), reason="takes another user to be")
def test_what_another_user_may_not_see_is_one_line(users_folder):
    fleet = fleets.Fleet(users_folder, "good1", "bad1")
    python = users_folder / "python"
    python.write_text("#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s \"$@\"\n" % PYTHON)
    python.chmod(0o755)
    (users_folder / "bad1/etc/cron.d/firewall").chmod(0o600)
    done = fleet.run("audit", ansible_python_interpreter=str(python), ansible_pipelining=True)
    line = r"not run as root: \d+ checks unknown, use --become"
    report, gate = (text for _name, text in tasks(done)[-2:])
    assert len(re.findall(r"^  \?  .*$", report, re.M)) == 1 and re.search(r"^  \?      \w+ +%s$" % line, report, re.M), done.stdout
    assert re.search(line + ": on bad1$", report, re.M), done.stdout
    assert re.search(r"bad1: " + line, " ".join((gate + done.stderr).split())), done.stdout + done.stderr


def test_the_header_says_the_place_and_whether_it_is_a_node(tmp_path):
    fleet = fleets.Fleet(tmp_path, "good1", "good2")
    (tmp_path / "good2/usr/bin").mkdir(parents=True, exist_ok=True)
    (tmp_path / "good2/usr/bin/kubelet").write_text("")
    (tmp_path / "good2/usr/bin/kubelet").chmod(0o755)
    done = fleet.run("audit", node_assess_sections=["KMOD", "HOOK"], node_gate_mode="never")
    shown = " ".join(done.stdout.split())
    assert re.search(r"good1 [^.]*image, no kubelet here: judged as a future node, ", shown), done.stdout
    assert re.search(r"good2 [^.]*image, kubelet is installed, ", shown), done.stdout
