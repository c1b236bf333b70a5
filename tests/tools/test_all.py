# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole test run: every part, whatever became of the others, then what ran and what was left out."""

import json
import os
import re
import signal
import subprocess
import sys
import time

from results import BUILD, TOP, clean_env

# Cheap parts first. Minutes after which a part is ended: about twice what it needs on two cores with nothing cached.
# Benchmarks only show here that they run (SMOKE): times are compared where nothing else runs.
PARTS = (("lint", 8), ("unit", 35), ("docs", 6), ("build", 4), ("bench", 8), ("sanity", 20))
# Waits for virtual machines more often than it works: beside all others, which give way to it, for a kernel that boots slowly misses deadlines.
BESIDE = ("molecule", 58)
GIVE_WAY = ["nice", "-n", "5"]
SETTINGS = {"bench": ["SMOKE=1"], "docs": ["CHECK=1"]}
PYTEST_LINE = re.compile(r"^=+ .*\b(?:passed|failed|errors?)\b.* in [0-9.]+s.*=+$")
PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|error|skipped)")
# What the parts that run others' tools say for the summary: what they left out, which nodes took part, how fast it was.
LEFT_OUT = re.compile(r"^(?:molecule: \W*)?(?P<what>.*?) *\bleft out: *(?P<why>.+)", re.IGNORECASE)
NOTE = re.compile(r"^ *(molecule: nodes that took part.*|ratio [0-9.]+, target.*)")


def end(process):
    """End a part and whatever it started, politely at first: make ends at once, what it ran may have virtual machines to shut down."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + 60
        try:
            os.killpg(process.pid, sent)
            while time.monotonic() < deadline:
                process.poll()  # The leader counts as one of the group until it is waited for.
                os.killpg(process.pid, 0)
                time.sleep(0.2)
        except ProcessLookupError:
            return


class Running:
    """A part that was started: its process, its log, and when it is ended."""

    def __init__(self, part, minutes, prefix=()):
        self.part = part
        self.log = BUILD / "logs" / (part + ".log")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        (BUILD / "results" / (part + ".json")).unlink(missing_ok=True)
        self.minutes, self.deadline, self.began = minutes, time.monotonic() + minutes * 60, time.time()
        with open(str(self.log), "wb") as output:
            self.process = subprocess.Popen([*prefix, "make", "--no-print-directory", part] + SETTINGS.get(part, []), cwd=str(TOP), env=clean_env(),
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    def follow(self):
        """Show its output until it ends; return (part, seconds, rows)."""
        print("== %s" % self.part, flush=True)
        with open(str(self.log), "rb") as shown:
            while self.process.poll() is None and time.monotonic() < self.deadline:
                time.sleep(0.5)
                show(shown.read())
            if self.process.returncode is None:
                with open(str(self.log), "ab") as output:
                    output.write(b"ended: not done after %d minutes\n" % self.minutes)
            end(self.process)
            show(shown.read())
        # It may have ended while another was followed: its last word tells when.
        return self.part, self.log.stat().st_mtime - self.began, rows_of(self.part, self.process.returncode)


def show(output):
    sys.stdout.buffer.write(output)
    sys.stdout.flush()


def rows_of(part, status):
    """Return the rows a part kept, or, where it keeps none, what the pytest runs in its log counted."""
    kept = BUILD / "results" / (part + ".json")
    if kept.exists():
        rows = json.loads(kept.read_text(encoding="utf-8"))
    else:
        rows = rows_from_log((BUILD / "logs" / (part + ".log")).read_text(encoding="utf-8", errors="replace"))
        if not any("what" in row for row in rows) and not status:
            rows.append({"what": part, "passed": 1, "failed": 0, "skipped": 0})
    if status and not any(row.get("failed") for row in rows):
        rows.append({"what": "%s ended with status %d" % (part, status), "passed": 0, "failed": 1, "skipped": 0})
    return rows


def rows_from_log(text):
    rows = []
    for line in text.splitlines():
        left_out, note = LEFT_OUT.match(line), NOTE.match(line)
        if left_out and not line.startswith("testbed:"):  # which says it first, and molecule once more at its end
            rows.append({"left_out": left_out.group("what") or left_out.group("why"), "why": left_out["what"] and left_out["why"]})
        elif note:
            rows.append({"note": note.group(1)})
        elif PYTEST_LINE.match(line.strip()):
            counts = {word: int(number) for number, word in PYTEST_COUNT.findall(line)}
            rows.append({"what": "pytest", "passed": counts.get("passed", 0), "skipped": counts.get("skipped", 0),
                         "failed": counts.get("failed", 0) + counts.get("error", 0)})
    return rows


def summary(outcomes):
    """Print what ran and what did not; return whether all of it passed. The last line counts what the runners counted."""
    print("\n== Summary")
    for part, seconds, rows in outcomes:
        failed = sum(row.get("failed", 0) for row in rows)
        print("%-9s %s in %d s" % (part, "FAILED" if failed else "passed", seconds))
        for row in rows:
            if "what" in row:
                print("    %-60s %d passed, %d failed, %d skipped" % (row["what"], row["passed"], row["failed"], row["skipped"]))
            elif "note" in row:
                print("    " + row["note"])
    left_out = [row for _part, _seconds, rows in outcomes for row in rows if "left_out" in row]
    print("Left out:%s" % ("" if left_out else " nothing"))
    for row in left_out:
        print("    %s%s" % (row["left_out"], ": " + row["why"] if row["why"] else ""))
    ran = [row for _part, _seconds, rows in outcomes for row in rows if "what" in row]
    passed, failed = sum(row["passed"] for row in ran), sum(row["failed"] for row in ran)
    print("\n%d passed, %d failed" % (passed, failed), flush=True)
    return not failed


def main():
    # Told to stop, it stops the parts that run, too.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    beside = Running(*BESIDE)
    running = [beside]
    try:
        outcomes = []
        for part, minutes in PARTS:
            running.append(Running(part, minutes, GIVE_WAY))
            outcomes.append(running[-1].follow())
        outcomes.append(beside.follow())
    finally:
        for each in running:
            if each.process.poll() is None:
                end(each.process)
    return 0 if summary(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
