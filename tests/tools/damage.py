# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs all scenarios of tests/fixtures/damage on the rules of every kube-proxy and backend, and counts how many are
judged right. Writes docs/damage.md.

    damage.py [--quick]

--quick runs each scenario in each place on only one kube-proxy; the versions take turns.
"""

import collections
import concurrent.futures
import datetime
import os
import platform
import subprocess
import sys

from results import BUILD, TOP

sys.path[:0] = [str(BUILD), str(TOP / "tests" / "fixtures"), str(TOP / "tests" / "checks")]

import damaged_nodes

PAGE = TOP / "docs" / "damage.md"
VERDICTS = ("right", "partly", "missed", "false")
PLACES = {"legacy": "iptables mode, legacy backend", "nft": "iptables mode, nft backend", "nftables": "nftables mode"}
HEAD = """# Damage that is found on a node

`make damage` loads the rules of real kube-proxies into a network namespace, does there with iptables and nft what people, firewall
scripts and other programs do to nodes, looks at the namespace as at a node, and judges. The scenarios are rows of
`tests/fixtures/damage/*.yml`: the damage, and the checks that must fail. `make test` tries a sample.

- **right**: the expected checks fail, with their severity, for the IP family and the Service it is about, and no other check fails. Of a
  scenario that does no harm: no check fails.
- **partly**: an expected check fails, and something of the rest is not so.
- **missed**: no expected check fails.
- **false**: a check fails, and no harm was done.
"""


def tried(run):
    row, version, place = run
    try:
        said = damaged_nodes.verdict(row, damaged_nodes.failures_after(version, place, row["does"]))
    except AssertionError as error:
        said = "not done", str(error).strip().splitlines()[-1]
    return (row["id"], version, place, *said)


def counts(outcomes):
    """Rows of the table: [place, version, [number of scenarios for each verdict]]."""
    found = collections.Counter((place, version, said) for _id, version, place, said, _why in outcomes)
    rows = [(PLACES[place], version, [found[place, version, said] for said in VERDICTS])
            for place in damaged_nodes.PLACES for version in damaged_nodes.VERSIONS]
    return rows + [("**all**", "", [sum(row[2][index] for row in rows) for index in range(len(VERDICTS))])]


def table(outcomes):
    lines = ["| rules of | kube-proxy | scenarios | %s |" % " | ".join(VERDICTS), "| --- " * (3 + len(VERDICTS)) + "|"]
    lines += ["| %s | %s | %d | %s |" % (place, version, sum(numbers), " | ".join(map(str, numbers)))
              for place, version, numbers in counts(outcomes)]
    return "\n".join(lines) + "\n"


def not_right(outcomes):
    """{(scenario, verdict, why): where} of runs that are not judged right."""
    found = collections.defaultdict(list)
    for name, version, place, said, why in outcomes:
        if said != "right":
            found[name, said, why].append("%s %s" % (place, version))
    return found


def reasons(outcomes):
    """A table of the scenarios that are not judged right, each with its reason in damage_missed.yml."""
    rows = {row["id"]: row for row in damaged_nodes.scenarios()}
    lines = ["| scenario | judged | where | why |", "| --- | --- | --- | --- |"]
    for (name, said, _why), where in sorted(not_right(outcomes).items()):
        place, version = where[0].split()
        known = damaged_nodes.known(rows[name], version, place)
        lines.append("| %s | %s | %s | %s |" % (name, said, ", ".join(where),
                                                known["why"] if known else "not known yet"))
    return "\n".join(lines) + "\n" if len(lines) > 2 else "All scenarios are judged right.\n"


def version_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout.split("\n")[0].strip()


def in_turn(runs):
    """One run for each scenario in each place; the versions take turns."""
    groups = collections.OrderedDict()
    for run in runs:
        groups.setdefault((run[0]["id"], run[2]), []).append(run)
    return [group[number % len(group)] for number, group in enumerate(groups.values())]


def machine():
    lines = ["date: %s" % datetime.date.today().isoformat(),
             "kernel: %s, %s" % (platform.release(), platform.machine()), version_of("iptables-nft", "--version"),
             version_of("nft", "--version"), "Python: %s" % platform.python_version()]
    return "".join("- %s\n" % line for line in lines)


def main():
    for backend in ("nft", "legacy"):
        damaged_nodes.programs(backend)  # This process makes their folders, so it removes them.
    quick = sys.argv[1:] == ["--quick"]
    runs = in_turn(damaged_nodes.runs()) if quick else damaged_nodes.runs()
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(tried, runs, chunksize=8))
    rows = damaged_nodes.scenarios()
    print(table(outcomes), flush=True)
    for (name, said, why), where in sorted(not_right(outcomes).items()):
        print("%s: %s (%s): %s" % (said, name, ", ".join(where), why))
    harmless = sum(not row["expect"] for row in rows)
    told = ("Each was tried in each place on one kube-proxy, taken in turn."
            if quick else "Each was tried on every kube-proxy that has what it damages.")
    PAGE.write_text("%s\n## Numbers\n\n%d scenarios, of which %d do harm and %d only look as if. %s\n\n%s\n## Not "
                    "judged right\n\n%s\n## The machine\n\n%s" % (
                        HEAD, len(rows), len(rows) - harmless, harmless, told, table(outcomes), reasons(outcomes),
                        machine()), encoding="utf-8")
    by_run = {(name, version, place): said for name, version, place, said, _why in outcomes}
    wrong = [row["id"] for row, version, place in runs if by_run[row["id"], version, place]
             != (damaged_nodes.known(row, version, place) or {"verdict": "right"})["verdict"]]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
