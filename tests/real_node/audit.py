# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection reports about the node: its own playbooks, run as a user runs them."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from node import NotDone

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
LONGEST_SECONDS = 600


def judge(node, folder, playbook="audit", options=None):
    """{findings, seconds, status}: the report of a playbook on the node; `status` is that of ansible-playbook."""
    shutil.rmtree(str(folder), ignore_errors=True)
    folder.mkdir(parents=True)
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"node": {
        "ansible_connection": "inside_namespaces", "real_node_pid": node.pid, "ansible_become": False,
        "ansible_python_interpreter": "/usr/bin/python3", "ansible_remote_tmp": "/root/.ansible/tmp"}}}}))
    variables = dict(options or {}, node_report_folder=str(folder / "report"))
    command = [str(pathlib.Path(sys.executable).with_name("ansible-playbook")),
               str(TOP / "playbooks" / (playbook + ".yml")), "--inventory", str(inventory),
               "--extra-vars", json.dumps(variables)]
    began = time.monotonic()
    with open(str(folder / "output"), "wb") as output:
        status = subprocess.run(command, cwd=str(TOP), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                env=dict(os.environ, ANSIBLE_CONNECTION_PLUGINS=str(HERE)),
                                timeout=LONGEST_SECONDS, check=False).returncode
    seconds = time.monotonic() - began
    report = folder / "report" / "nodes" / "node.json"
    if not report.exists():
        raise NotDone("%s wrote no report, its status is %d: %s" % (
            playbook, status, (folder / "output").read_text(errors="replace")[-400:]))
    found = json.loads(report.read_text())
    return {"findings": found["findings"], "summary": found["summary"], "seconds": seconds, "status": status}


def failing(report, severity=None):
    """The findings that fail, the most severe first."""
    return [row for row in report["findings"]
            if row["status"] == "fail" and (severity is None or row["severity"] == severity)]


def text_of(row):
    return " ".join(filter(None, (row["problem"], row["reason"], row["remediation"])))
