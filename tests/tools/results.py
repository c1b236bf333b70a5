# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a part of the test run: runs commands, reads the counts of the test runners, saves them for the
summary."""

import json
import os
import pathlib
import subprocess
import threading
import time
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / ".build"
VENV = TOP / ".venv"
TAIL_LINES = 60
MAX_NAMES = 8


def clean_env(**extra):
    """Return the environment without settings of the developer that could change the result of a test."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("ANSIBLE_", "PYTEST_", "MOLECULE_")) and key not in ("PYTHONPATH", "PYTHONHOME")}
    env.update({"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "ANSIBLE_NOCOLOR": "1"})
    env.update(extra)
    return env


def make_venv(name, python, *pip_arguments):
    """Return the folder of the virtual environment of that name, one for all checkouts, or None if it cannot be
    created."""
    done = subprocess.run([str(TOP / "tests/tools/venv.sh"), "--shared", name, str(python), *pip_arguments],
                          cwd=str(TOP), stdout=subprocess.PIPE, universal_newlines=True, check=False)
    return pathlib.Path(done.stdout.strip()) if done.returncode == 0 else None


def copy_collection(part):
    """Return (collection path, collection) of a new real copy, one for each part: parts may run in parallel."""
    path = BUILD / "copy" / part
    done = subprocess.run([str(TOP / "tests/tools/copy_collection.sh"), str(path)], check=True, stdout=subprocess.PIPE)
    return path, pathlib.Path(done.stdout.decode().strip())


class Results:
    """The record of one part: one row per command that ran, one per omission."""

    def __init__(self, part):
        self.part = part
        self.rows = []
        self.lock = threading.Lock()
        self.path = BUILD / "results" / (part + ".json")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self.logs = BUILD / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)

    def _keep(self, row, line):
        with self.lock:
            self.rows.append(row)
            self.path.write_text(json.dumps(self.rows, indent=1), encoding="utf-8")
            print("  " + line, flush=True)

    def add(self, what, passed, failed, skipped=0, seconds=0.0):
        counts = "%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else "")
        self._keep({"what": what, "passed": passed, "failed": failed, "skipped": skipped, "seconds": round(seconds)},
                   "%-52s %s (%d s)" % (what, counts, round(seconds)))

    def left_out(self, what, why):
        self._keep({"left_out": what, "why": why}, "%-52s left out: %s" % (what, why))

    def run(self, what, command, cwd=TOP, env=None, junit=None):
        """Run a command as one row. The row has the counts of `junit` (a file or a folder), otherwise it counts as one.

        The output goes to a log. If the command fails, the end of the log is printed.
        """
        log = self.logs / ("%s-%s.log" % (self.part, "".join(char if char.isalnum() else "-" for char in what.lower())))
        start = time.monotonic()
        with open(str(log), "wb") as output:
            status = subprocess.run([str(part) for part in command], cwd=str(cwd), env=env or clean_env(),
                                    stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                    check=False).returncode
        seconds = time.monotonic() - start
        passed, failed, reasons = count_junit(junit) if junit else (0, 0, {})
        if status and not failed:
            failed += 1
        elif not status and not junit:
            passed = 1
        elif not status and not passed and not failed:
            failed = 1  # A runner that ran no test proves nothing.
        self.add(what, passed, failed, sum(len(names) for names in reasons.values()), seconds)
        for reason, names in reasons.items():
            few = ", ".join(names) if len(names) <= MAX_NAMES else "%d tests" % len(names)
            self.left_out("%s: %s" % (what, few), reason)
        if failed:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            lines = lines[-TAIL_LINES:] + ["(all of it: %s)" % log.relative_to(TOP)]
            with self.lock:
                print("\n".join("    " + line for line in lines), flush=True)
        return not failed

    def exit_code(self):
        return 1 if any(row.get("failed") for row in self.rows) else 0


def count_junit(place):
    """Return (passed, failed, {reason: names of skipped tests}) of a JUnit file, or of all JUnit files in a folder."""
    place = pathlib.Path(place)
    files = sorted(place.glob("*.xml")) if place.is_dir() else [place] if place.exists() else []
    passed = failed = 0
    reasons = {}
    for file in files:
        for case in xml.etree.ElementTree.parse(str(file)).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
            elif case.find("skipped") is not None:
                skipped = case.find("skipped")
                reason = skipped.get("message") or (skipped.text or "").strip()
                reasons.setdefault(reason, []).append(case.get("name"))
            else:
                passed += 1
    return passed, failed, reasons
