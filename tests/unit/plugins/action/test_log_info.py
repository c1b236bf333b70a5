# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action log_info, run as a user runs it for a file of a support bundle."""

import json
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[4]
LOCK_HELD = TOP / "tests" / "fixtures" / "logs" / "lock-held-1.36.txt"


def adhoc(folder, arguments):
    """(exit code, result) of `ansible localhost -m kubenode.netfilter.log_info`."""
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "adhoc", "localhost", "-m", "kubenode.netfilter.log_info", "-a",
         json.dumps(arguments), "-t", str(folder / "answers"), "-e",
         "ansible_python_interpreter=" + sys.executable],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
        check=False, cwd=str(folder), env=dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(TOP / ".build"),
                                               ANSIBLE_NOCOLOR="1"))
    answer = folder / "answers" / "localhost"
    assert answer.exists(), done.stdout
    return done.returncode, json.loads(answer.read_text(encoding="utf-8"))


def test_a_log_is_judged_on_the_controller(tmp_path):
    code, result = adhoc(tmp_path, {"src": [str(LOCK_HELD)]})
    assert code == 0 and result["changed"] is False
    assert {row["cause"] for row in result["findings"]} == {"xtables-lock-timeout", "kube-proxy-lock-waited"}
    assert result["findings"][0]["source"] == str(LOCK_HELD) and result["files"][0]["status"] == "ok"


def test_a_path_that_is_not_absolute_fails_in_one_sentence(tmp_path):
    code, result = adhoc(tmp_path, {"src": ["kube-proxy.log"]})
    assert code
    assert result["msg"] == "src has 'kube-proxy.log', which is not an absolute path; give the whole path of the log"
