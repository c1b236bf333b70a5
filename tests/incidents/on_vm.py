# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings a virtual machine into the incidents of this folder that have a key `vm`, one after the other, judges each
with the playbook `audit`, does what the screen prints as the fix, and judges again. Writes docs/tried-incidents.md.

    on_vm.py [--only WORD] [--keep]

WORD: a regular expression that the name of an incident contains; --keep leaves the machine running

The machine has stand-ins for kubelet, kube-proxy and containerd (install.sh), and is prepared with `preflight`. Each
incident starts from a snapshot of that state. The page keeps the last result of each incident.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(TOP / "tests" / "testbed"), str(TOP / "molecule" / "hooks" / "files")]

import images
import vm
import write_script
import yaml

NODE = "node612"
FOLDER = TOP / ".cache" / "incidents"
ROWS, INVENTORY, REPORT = FOLDER / "rows.json", FOLDER / "hosts.json", FOLDER / "report"
PAGE, HEAD = TOP / "docs" / "tried-incidents.md", HERE / "head.md"
COLUMNS = "incident", "first line", "printed fix", "mended", "green after"
# No API server can tell that the node is cordoned.
VARIABLES = {"node_policy_kubernetes_version": "1.34.0", "node_policy_proxy_mode": "iptables",
             "node_policy_cni": "flannel", "node_report_folder": str(REPORT), "repair_cordoned": True}
LONGEST_SECONDS = 900


class Wrong(Exception):
    """What the report or the fix of an incident lacks."""


def incidents():
    rows = [row for path in sorted(HERE.glob("*.yml")) for row in yaml.safe_load(path.read_text(encoding="utf-8"))]
    return [row for row in rows if "vm" in row]


def expected(row):
    """(first cause, part of the verdict or of its sentence) on the machine."""
    return row["first"], row["vm"].get("verdict", row["verdict"])


def fix_of(screen):
    """The first fix of a screen in one line."""
    lines = [line.strip() for line in screen.splitlines()]
    begin = next((number for number, line in enumerate(lines) if line.startswith("fix: ")), None)
    if begin is None:
        raise Wrong("no fix is printed")
    end = next(number for number, line in enumerate(lines) if number > begin and line.startswith("then: "))
    return " ".join(line[:-2] if line.endswith(" \\") else line for line in lines[begin:end])[len("fix: "):]


def steps_of(fix, host):
    """[(whether it runs on the node, command)] of a printed fix; the rest of a sentence is no command."""
    steps = []
    for part in re.split(r" && (?=ansible-playbook |then on )", fix):
        on_node = re.match(r"(?:then )?on %s: (.*)\Z" % re.escape(host), part)
        if not on_node and not part.startswith("ansible-playbook "):
            return None
        steps.append((bool(on_node), on_node.group(1) if on_node else part))
    return steps


def playbook(command):
    """(exit status, screen) of an ansible-playbook command as a user pastes it."""
    env = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(TOP / ".build"), ANSIBLE_INVENTORY=str(INVENTORY),
               PATH="%s:%s" % (pathlib.Path(sys.executable).parent, os.environ["PATH"]), COLUMNS="100")
    done = subprocess.run(command, shell=True, cwd=str(FOLDER), env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          timeout=LONGEST_SECONDS, check=False)
    return done.returncode, done.stdout


class Machine:
    """The virtual machine, its prepared state and its report there."""

    def __init__(self):
        self.node = vm.Node(NODE)

    def start(self):
        FOLDER.mkdir(parents=True, exist_ok=True)
        vm.start([self.node])
        self.write_inventory()
        # A machine that was left running is prepared.
        if self.node.ssh("test -e /root/prepared", LONGEST_SECONDS)[0]:
            self.run(write_script.script([HERE / "install.sh"]))
            status, screen = playbook("ansible-playbook kubenode.netfilter.preflight -b -l %s -e preflight_fix=guarded"
                                      % NODE)
            if status:
                raise Wrong("the machine cannot be prepared: " + screen[-2000:])
            self.run("touch /root/prepared")
            self.node.keep()
        self.healthy = self.audit()
        if self.healthy["causes"]:
            raise Wrong("the prepared machine is not healthy: %s" % self.healthy["causes"])

    def restore(self):
        self.node.restore()
        self.write_inventory()

    def write_inventory(self):
        INVENTORY.write_text(json.dumps({"all": {"hosts": {NODE: self.node.inventory_vars()}, "vars": VARIABLES}}))

    def run(self, script):
        status, output = self.node.ssh("bash -s", LONGEST_SECONDS, script.encode())
        if status:
            raise Wrong("a command on the node ended with %d: %s" % (status, output.decode()[-400:]))

    def audit(self):
        """The report of the node with its `screen`, the first line of which is the verdict."""
        _status, output = playbook("ansible-playbook kubenode.netfilter.audit -b -l " + NODE)
        path = REPORT / "nodes" / (NODE + ".json")
        began = re.search(r"^TASK \[Report\].*\n", output, re.MULTILINE)
        if not began or not path.exists():
            raise Wrong("no report: " + output[-1000:])
        report = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        return dict(report, screen=output[began.end():])


def causes(report):
    return [cause["cause"] or cause["explains"][0]["check"] for cause in report["causes"]]


def unknown(report):
    return {row["check"] for row in report["findings"] if row["status"] == "unknown"}


def one_line(screen):
    """The verdict, which may need two lines, in one."""
    return " ".join(re.split(r"\n  \S", screen)[0].split())


def tried(machine, row):
    """The row of the page: {"first", "fix", "mended", "green", "problem"}."""
    machine.restore()
    on_vm = row["vm"]
    machine.run("set -e\n" + on_vm.get("does", row.get("does", "")))
    report = machine.audit()
    cause, text = expected(row)
    result = {"line": one_line(report["screen"]), "causes": causes(report), "screen": report["screen"]}
    if result["causes"][:1] != [cause] or text not in result["line"] + report["causes"][0]["sentence"]:
        return dict(result, problem="expected %s: %s" % (cause, text))
    if result["causes"][1:] != on_vm.get("also", []):
        return dict(result, problem="the other causes are %s" % result["causes"][1:])
    result["fix"] = fix_of(report["screen"])
    steps = [(True, on_vm["mends"])] if "mends" in on_vm else steps_of(result["fix"], NODE)
    if not steps:
        return dict(result, problem="the fix is no command")
    for on_node, command in steps:
        if on_node:
            machine.run(command)
            continue
        status, output = playbook(command)
        result["output"] = output
        if status:
            return dict(result, problem="the fix ended with %d: %s" % (status, output[-1500:]))
    if "undo" in on_vm:
        machine.run(on_vm["undo"])
    after = machine.audit()
    left = causes(after) + sorted(unknown(after) - unknown(machine.healthy))
    return dict(result, problem="after the fix: %s" % ", ".join(left)) if left else result


def kept():
    """{incident: row} of the last run of each incident."""
    return json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.exists() else {}


def cells(row, result):
    if result is None:
        return ["not run", "", "", ""]
    if "problem" in result:
        return [result.get("line", ""), code(result.get("fix", "")), "**no**: " + result["problem"][:200], ""]
    return [result["line"], code(result["fix"]), "yes" + words(": ", row["vm"].get("mends")),
            "yes" + words(", with ", row["vm"].get("undo"))]


def words(before, command):
    return before + code(command) if command else ""


def code(text):
    return "`%s`" % text if text else ""


def page(rows, results):
    lines = ["| %s |" % " | ".join(COLUMNS), "|%s" % (" --- |" * len(COLUMNS))]
    for row in rows:
        texts = [row["incident"], *cells(row, results.get(row["incident"]))]
        lines.append("| %s |" % " | ".join(text.strip().replace("|", "\\|").replace("\n", " ") for text in texts))
    dates = sorted({results[row["incident"]]["date"] for row in rows if row["incident"] in results})
    machine = "- QEMU on %s, Debian trixie, kernel 6.12, iptables of the nft backend\n- dates of the runs: %s\n" % (
        platform.machine(), ", ".join(dates))
    return "\n".join([HEAD.read_text(encoding="utf-8"), "## The machine\n", machine, "## The incidents\n",
                      "\n".join(lines) + "\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    rows = incidents()
    wanted = [row for row in rows if re.search(asked.only, row["incident"])]
    if not wanted:
        sys.exit("incidents: no incident with a key `vm` has %r in its name" % asked.only)
    machine, wrong = Machine(), []
    try:
        machine.start()
        for row in wanted:
            began = time.monotonic()
            try:
                result = tried(machine, row)
            except (Wrong, subprocess.TimeoutExpired) as error:
                result = {"problem": str(error)}
            ROWS.write_text(json.dumps(dict(kept(), **{row["incident"]: dict(
                result, date=datetime.date.today().isoformat())}), indent=1), encoding="utf-8")
            wrong += [row["incident"]] * ("problem" in result)
            print("%s: %s (%d s)" % (row["incident"], result.get("problem") or "mended: " + result["fix"],
                                     time.monotonic() - began), flush=True)
    except (Wrong, images.ImageError) as error:
        sys.exit("incidents: %s" % error)
    finally:
        if not asked.keep:
            machine.node.stop()
    PAGE.write_text(page(rows, kept()), encoding="utf-8")
    print("incidents: %d of %d are mended as printed; %s" % (len(wanted) - len(wrong), len(wanted), PAGE))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
