# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test`, or with --all `make test-all`: runs every part, even after failures of others, then prints results and
omissions."""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

import choice
import mark
import progress
from results import BUILD, TOP, clean_env

# (part, minutes on two cores, settings of make), cheap parts first: they use one core beside the virtual machines, but
# the unit tests use all. The minutes are for the estimate of a first run; they are no timeout. Benchmarks only prove
# that they run (SMOKE), because times are comparable only on an idle machine.
SHORT = (("lint", 1, ()), ("docs", 1, ("CHECK=1",)), ("build", 1, ()), ("bench", 2, ("SMOKE=1",)),
         ("unit", 12, ("SHORT=1",)), ("sanity", 4, ("SHORT=1",)))
ALL = (("lint", 1, ()), ("docs", 2, ("CHECK=1", "SITE=1")), ("build", 1, ()), ("bench", 2, ("SMOKE=all",)),
       ("sanity", 8, ()), ("unit", 47, ()))
# molecule mostly waits for virtual machines, so the other parts run beside it. They have a lower priority, because a
# kernel that boots slowly misses deadlines.
MOLECULE = "molecule"
# With autogroups the kernel divides CPU time among sessions, and a nice value only counts within a session (sched(7)).
NICE = 5
GIVE_WAY = ["sh", "-c", 'echo "$0" 2>/dev/null >/proc/self/autogroup; exec nice -n "$0" "$@"', str(NICE)]
# A CI machine with its own timeout sets this variable, so that it gets the summary. For people there is no limit.
LIMIT = "KUBENODE_LIMIT_MINUTES"
SHOW_SECONDS = 0.5
# A name, the parts as above in the order in which they start, the parts that run alone, and words for the first and the
# last lines.
Lane = collections.namedtuple("Lane", "name parts alone words")
PYTEST_LINE = re.compile(r"^=+ .*\b(?:passed|failed|errors?)\b.* in [0-9.]+s.*=+$")
PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|error|skipped)")
# Lines of parts without rows that belong to the summary: omissions, the nodes that took part, and times.
LEFT_OUT = re.compile(r"^(?:molecule: \W*)?(?P<what>.*?) *\bleft out: *(?P<why>.+)", re.IGNORECASE)
NOTE = re.compile(r"^ *(molecule: (?:nodes that took part|\w+ (?:passed in|FAILED after) \d+ s).*|ratio [0-9.]+, "
                  r"target.*)")
STEP = re.compile(r"^molecule: (scenario \w+, \d+ of \d+)$", re.MULTILINE)


def alive(process):
    process.poll()  # Without a wait, the group leader is a zombie that still counts as a member of the group.
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def end(processes):
    """End parts and all processes they started: SIGTERM first, then SIGKILL. make ends at once, but its commands may
    have to shut down virtual machines."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        processes = [process for process in processes if alive(process)]
        for process in processes:
            try:
                os.killpg(process.pid, sent)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + 60
        while any(map(alive, processes)) and time.monotonic() < deadline:
            time.sleep(0.2)


class Running:
    """A started part: its process, its logs, its start time."""

    def __init__(self, part, settings=(), give_way=()):
        self.part = part
        self.log = BUILD / "logs" / (part + ".log")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        (BUILD / "results" / (part + ".json")).unlink(missing_ok=True)
        self.began = time.time()
        self.ended = False  # by this program, not by itself
        with open(str(self.log), "wb") as output:
            self.process = subprocess.Popen(
                [*give_way, "make", "--no-print-directory", part, *settings], cwd=str(TOP), env=clean_env(),
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    def runs(self):
        return self.process.poll() is None

    def seconds(self):
        """The run time. A part may end while another one is shown; the time of its last output is its end."""
        return (time.time() if self.runs() else self.log.stat().st_mtime) - self.began

    def quiet_seconds(self):
        logs = [self.log, *self.log.parent.glob(self.part + "-*.log")]
        return time.time() - max(self.began, *(log.stat().st_mtime for log in logs))

    def step(self):
        found = STEP.findall(self.log.read_text(encoding="utf-8", errors="replace"))
        return found[-1] if found else None

    def outcome(self, limit):
        """Return (part, seconds, rows)."""
        why = "%s was not done after %g minutes" % (self.part, limit) if self.ended else None
        return self.part, self.seconds(), rows_of(self.part, self.process.returncode, why)


class Run:
    """All parts in their order, two at a time or one alone, until all are done or the limit is over."""

    def __init__(self, lane, limit=None, clock=time.monotonic):
        self.limit, self.clock, self.began = limit, clock, clock()
        self.lane = lane
        self.settings = {part: settings for part, _minutes, settings in lane.parts}
        self.expected = progress.expected_seconds(lane)
        self.running, self.left = [], list(self.settings)
        self.line_seconds = None
        # Only the whole matrix is enough for a release.
        self.tree = mark.clean_tree() if lane.name == "test-all" else None

    def out_of_time(self):
        return self.limit is not None and self.clock() - self.began >= self.limit * 60

    def all(self):
        """Return whether all parts ran and passed."""
        try:
            print(self.lane.words, flush=True)
            shown = []
            while not self.out_of_time():
                self.fill()
                waiting = [each for each in self.running if each not in shown]
                if not waiting:
                    break
                # molecule, which runs longest, is shown last.
                shown.append(min(waiting, key=lambda each: each.part == MOLECULE))
                self.follow(shown[-1])
        finally:
            self.end()
        outcomes = [each.outcome(self.limit) for each in self.running]
        outcomes += [(part, 0, [failed_row("%s was not started within %g minutes" % (part, self.limit))])
                     for part in self.left]
        progress.keep_seconds(self.lane, self.passed())
        passed = summary(outcomes, "%s, in %s" % (self.lane.words, progress.in_minutes(self.clock() - self.began)))
        if passed and self.tree:
            mark.write(self.tree, [row["left_out"] for _part, _seconds, rows in outcomes for row in rows
                                   if "left_out" in row])
        return passed

    def fill(self):
        """Start the next parts, as many as may run at a time."""
        while self.left:
            running = [each.part for each in self.running if each.runs()]
            is_alone = any(part in self.lane.alone for part in [self.left[0], *running])
            if len(running) >= (1 if is_alone else progress.AT_A_TIME):
                break
            part = self.left.pop(0)
            self.running.append(Running(part, self.settings[part], () if part == MOLECULE else GIVE_WAY))

    def follow(self, running):
        """Show the output of a part until it ends, and once a minute the progress of the run."""
        print("== %s" % running.part, flush=True)
        with open(str(running.log), "rb") as shown:
            while running.runs() and not self.out_of_time():
                show(shown.read())
                self.fill()
                self.tell()
                time.sleep(SHOW_SECONDS)
            if running.runs():
                self.end()
            end([running.process])
            show(shown.read())

    def tell(self):
        """Print the line of progress, at most once a minute."""
        seconds = self.clock() - self.began
        if self.line_seconds is None or seconds - self.line_seconds >= 60:
            self.line_seconds = seconds
            print("-- " + self.line(seconds), flush=True)

    def passed(self):
        """Return {part: seconds} of passed parts; a failed part may end early, so its time is not used."""
        return {each.part: each.seconds() for each in self.running if not each.runs() and each.process.returncode == 0}

    def line(self, seconds):
        runs = [each for each in self.running if each.runs()]
        words = [progress.running_words(each.part, each.seconds(), self.expected[each.part], each.quiet_seconds(),
                                        each.step()) for each in runs]
        to_go = progress.remaining_seconds(self.expected, self.passed(), {each.part: each.seconds() for each in runs},
                                           self.left, self.lane.alone)
        return "after %s: %s; left: %s; about %s to go%s" % (
            progress.in_minutes(seconds), ", ".join(words), ", ".join(self.left) or "nothing else",
            progress.in_minutes(to_go), "" if self.limit is None else ", limit %g min" % self.limit)

    def end(self):
        """End running parts, in at most two minutes. Ignore a second signal, because it would leave virtual machines
        behind."""
        runs = [each for each in self.running if each.runs()]
        if runs:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            print("-- ending %s; this takes up to two minutes" % ", ".join(each.part for each in runs), flush=True)
            for each in runs:
                each.ended = True
            end([each.process for each in runs])


def show(output):
    sys.stdout.buffer.write(output)
    sys.stdout.flush()


def rows_of(part, status, why=None):
    """Return the rows that a part saved, or without these the counts of the pytest runs in its log; and the reason why
    it was ended."""
    kept = BUILD / "results" / (part + ".json")
    if kept.exists():
        rows = json.loads(kept.read_text(encoding="utf-8"))
    else:
        rows = rows_from_log((BUILD / "logs" / (part + ".log")).read_text(encoding="utf-8", errors="replace"))
        if not any("what" in row for row in rows) and not status:
            rows.append({"what": part, "passed": 1, "failed": 0, "skipped": 0})
    if status and (why or not any(row.get("failed") for row in rows)):
        rows.append(failed_row(why or "%s ended with status %d" % (part, status)))
    return rows


def failed_row(what):
    return {"what": what, "passed": 0, "failed": 1, "skipped": 0}


def rows_from_log(text):
    rows = []
    for line in text.splitlines():
        left_out, note = LEFT_OUT.match(line), NOTE.match(line)
        if left_out and not line.startswith("testbed:"):  # molecule prints this line again at its end
            rows.append({"left_out": left_out.group("what") or left_out.group("why"),
                         "why": left_out["what"] and left_out["why"]})
        elif note:
            rows.append({"note": note.group(1)})
        elif PYTEST_LINE.match(line.strip()):
            counts = {word: int(number) for number, word in PYTEST_COUNT.findall(line)}
            rows.append({"what": "pytest", "passed": counts.get("passed", 0), "skipped": counts.get("skipped", 0),
                         "failed": counts.get("failed", 0) + counts.get("error", 0)})
    return rows


def summary(outcomes, words):
    """Print what ran and what did not; return whether all passed. The last line has the sum of the counts of the
    runners."""
    print("\n== Summary of %s" % words)
    for part, seconds, rows in outcomes:
        failed = sum(row.get("failed", 0) for row in rows)
        print("%-9s %s in %d s" % (part, "FAILED" if failed else "passed", seconds))
        for row in rows:
            if "what" in row:
                print("    %-60s %d passed, %d failed, %d skipped" % (row["what"], row["passed"], row["failed"],
                                                                      row["skipped"]))
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


def lane_of(arguments, environ):
    """Return the Lane of the command line and the environment."""
    if "--all" in arguments:
        # Beside three virtual machines a look in a unit test reaches its limit of time.
        return Lane("test-all", ((MOLECULE, 44, ("KERNEL=",)), *ALL), ("unit",),
                    "make test-all: all kernels and scenarios")
    kernel, scenario = choice.of_run(environ)
    vm = (MOLECULE, 15, ("KERNEL=" + kernel, "SCENARIO=" + scenario))
    return Lane("test", (vm, *SHORT), (), "make test: kernel %s, scenarios everything and %s" % (kernel, scenario))


def main():
    # SIGINT and SIGTERM also stop the running parts, because sys.exit() runs the `finally` blocks.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda sent, _frame: sys.exit(128 + sent))
    try:
        lane = lane_of(sys.argv[1:], os.environ)
    except ValueError as error:
        return str(error)
    limit = os.environ.get(LIMIT)
    return 0 if Run(lane, float(limit) if limit else None).all() else 1


if __name__ == "__main__":
    sys.exit(main())
