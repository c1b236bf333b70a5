# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the benchmarks and print the results.

    run.py [--smoke [--all]] [--write] [NAME ...]

--smoke uses small numbers, to prove that one benchmark of each kind still runs (--all: every one); --write writes the
results to docs/benchmarks.md. A missed target is printed but is not a failure, because it also depends on the load of
the machine. Only a benchmark that cannot run is a failure.
"""

import argparse
import inspect
import signal
import sys

import before
import bundle
import causes
import fleet
import fleet_fixes
import hooks
import load_persist
import logs
import look_logs
import page
import resolve
import rules
import scale
from measure import TOP, CannotRun, quiet

BENCHMARKS = {"resolve": resolve, "load_persist": load_persist, "fleet": fleet, **fleet_fixes.BENCHMARKS,
              "hooks": hooks, "logs": logs, "look_logs": look_logs, "bundle": bundle, "causes": causes,
              "scale": scale,
              **rules.BENCHMARKS}
# Only where it is named: it needs a commit to compare with.
BY_NAME = {"before": before}


def of_each_kind():
    """The names without those of benchmarks that differ from an earlier one in their data alone."""
    found = {}
    for name, benchmark in BENCHMARKS.items():
        found.setdefault(benchmark if inspect.ismodule(benchmark) else type(benchmark), name)
    return list(found.values())


def show(outcome):
    print("%s: %s" % (outcome.name, outcome.what))
    for contender, seconds in outcome.seconds.items():
        print("    %-28s median %7.3f s (%.3f to %.3f, %d runs)" % (
            contender, outcome.median(contender), min(seconds), max(seconds), len(seconds)))
    if len(outcome.seconds) > 1:
        print("    ratio %.2f, target %s: %s" % (outcome.ratio, outcome.target, outcome.verdict))
    for note in outcome.notes:
        print("    %s" % note)
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help="default: all of " + " ".join(BENCHMARKS))
    parser.add_argument("--smoke", action="store_true", help="small numbers, one benchmark of each kind")
    parser.add_argument("--all", action="store_true", help="with --smoke: all of them")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    arguments = parser.parse_args()
    unknown = set(arguments.name) - set(BENCHMARKS) - set(BY_NAME)
    if unknown:
        parser.error("no such benchmark: " + " ".join(sorted(unknown)))
    if arguments.write and (arguments.smoke or arguments.name):
        parser.error("--write wants all benchmarks in full")
    # sys.exit() runs the `finally` blocks, so SIGTERM also ends servers and virtual machines.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    if arguments.smoke:
        print("Small numbers: they only show that the benchmarks run.")
    quiet([TOP / "tests" / "tools" / "link_collection.sh"])
    outcomes, failed = [], False
    for name in arguments.name or (of_each_kind() if arguments.smoke and not arguments.all else BENCHMARKS):
        try:
            outcomes.append({**BENCHMARKS, **BY_NAME}[name].measure(arguments.smoke))
        except CannotRun as error:
            print("%s: cannot run: %s" % (name, error), flush=True)
            failed = True
        else:
            show(outcomes[-1])
    if arguments.write and not failed:
        (TOP / "docs" / "benchmarks.md").write_text(page.render(outcomes), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
