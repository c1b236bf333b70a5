# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole test run: every part, whatever became of the ones before it, then what ran and what was left out."""

import json
import os
import re
import signal
import subprocess
import sys
import time

from results import BUILD, TOP, clean_env

# Cheap parts first; the benchmark last and alone, because it compares times. Minutes after which a part is ended: about
# twice what it needs on two cores with nothing cached.
PARTS = (("lint", 6), ("unit", 25), ("docs", 4), ("build", 4), ("sanity", 12), ("molecule", 40), ("bench", 8))
SETTINGS = {"bench": ["SMOKE=1"], "docs": ["CHECK=1"]}
PYTEST_LINE = re.compile(r"^=+ .*\b(?:passed|failed|errors?)\b.* in [0-9.]+s.*=+$")
PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|error|skipped)")
# What the parts that run others' tools say for the summary: what they left out, which nodes took part, how fast it was.
LEFT_OUT = re.compile(r"^(?:molecule: \W*)?(?P<what>.*?) *\bleft out: *(?P<why>.+)", re.IGNORECASE)
NOTE = re.compile(r"^ *(molecule: nodes that took part.*|ratio [0-9.]+, target.*)")


def end(process):
    """End a part and whatever it started, politely at first: it may have virtual machines to shut down."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sent)
            process.wait(timeout=60)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def run_part(part, minutes):
    """Run one part, showing its output as it comes; return its exit status."""
    command = ["make", "--no-print-directory", part] + SETTINGS.get(part, [])
    log = BUILD / "logs" / (part + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + minutes * 60
    with open(str(log), "wb") as output, open(str(log), "rb") as shown:
        process = subprocess.Popen(command, cwd=str(TOP), env=clean_env(), stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.5)
                show(shown.read())
            if process.returncode is None:
                output.write(b"ended: not done after %d minutes\n" % minutes)
        finally:
            end(process)
        show(shown.read())
    return process.returncode


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
    # Told to stop, it stops the part that runs, too.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    outcomes = []
    for part, minutes in PARTS:
        print("== %s" % part, flush=True)
        (BUILD / "results" / (part + ".json")).unlink(missing_ok=True)
        start = time.monotonic()
        status = run_part(part, minutes)
        outcomes.append((part, time.monotonic() - start, rows_of(part, status)))
    return 0 if summary(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
