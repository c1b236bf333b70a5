# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real kube-proxies in every state of states.yml, each in namespaces of its own, and docs/kube-proxy.md with what is
found. As root.

    run.py [--only WORD] BINARY...     WORD: a part of names of states or places; then the page is not written
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

import page
import yaml

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
# Every process of a state is in a PID namespace, so the end of its first process ends them all (pid_namespaces(7)).
# unshare ignores SIGTERM while it waits, and ends with this process, however that ends.
NAMESPACES = ("setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--propagation",
              "private", "--pid", "--fork", "--kill-child", "--mount-proc")
PLACES = ("legacy", "nft", "nftables")
# Feature gates that are off by default: (gate, first version, first one where it is on) (kubernetes pkg/features).
WITH_NFTABLES = (1, 29)
GATES = (("IPv6DualStack", (1, 16), (1, 21)), ("NFTablesProxyMode", WITH_NFTABLES, (1, 31)))
LONGEST_SECONDS = 1500
# States mostly wait: for a timeout of kube-proxy. With many Services they compute, and a first sync must end.
CORES = os.cpu_count() or 1
AT_ONCE = 7 * CORES
MANY_SERVICES = 1000


def version_of(binary):
    """(1, 36, 2) of a kube-proxy."""
    said = subprocess.run([binary, "--version"], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    return tuple(map(int, re.search(r"v(\d+)\.(\d+)\.(\d+)", said).groups()))


def jobs(binaries, states, word):
    """(version, binary, place, state) of everything there is to do; what takes longest begins first."""
    found = [(version, binary, place, state) for state in states for version, binary in sorted(binaries.items())
             for place in state.get("places", PLACES)
             if version >= WITH_NFTABLES or "nftables" not in place + state["state"]
             if word in "%s %s" % (state["state"], place)]
    return sorted(found, key=lambda job: -seconds_of(job[3]))


def seconds_of(state):
    return sum(step.get("wait", 0) for step in state["does"]) + state.get("services", 0) / 50


def outcomes(job):
    """A row for each look of a state: (version, place, state, expectation of the look, what was found)."""
    version, binary, place, state = job
    command = [*NAMESPACES, sys.executable, str(HERE / "live.py"), os.path.abspath(binary), place, state["state"]]
    command += ["--feature-gates=%s=true" % gate for gate, first, on in GATES if first <= version < on]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=LONGEST_SECONDS, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        problem = done.stderr.strip().rpartition("\n")[2] if done.returncode else "not reached"
    except subprocess.TimeoutExpired:
        lines, problem = [], "not done within %d s" % LONGEST_SECONDS
    problem = next((line["not_done"] for line in lines if "not_done" in line), problem)
    looks = [step["look"] for step in state["does"] if "look" in step]
    lines = [line for line in lines if "fail" in line] + [{"not_done": problem}] * len(looks)
    return [(".".join(map(str, version)), place, state["state"], look, line) for look, line in zip(looks, lines)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("binaries", nargs="+")
    asked = parser.parse_args()
    if os.geteuid():
        sys.exit("run as root: network namespaces and rules are made")
    binaries = {version_of(binary): binary for binary in asked.binaries}
    states = yaml.safe_load((HERE / "states.yml").read_text(encoding="utf-8"))
    rows = []
    pools = concurrent.futures.ThreadPoolExecutor(AT_ONCE), concurrent.futures.ThreadPoolExecutor(CORES)
    with pools[0], pools[1]:
        running = [pools[job[3].get("services", 0) >= MANY_SERVICES].submit(outcomes, job)
                   for job in jobs(binaries, states, asked.only)]
        for future in concurrent.futures.as_completed(running):
            for row in future.result():
                print("%-7s %-8s %-60s %s" % (row[0], row[1], "%s, %s" % (row[2], row[3]["when"]), page.said(row)),
                      flush=True)
            rows += future.result()
    wrong = [row for row in rows if not page.is_expected(row)]
    print("%d passed, %d failed" % (len(rows) - len(wrong), len(wrong)))
    if not asked.only:
        (TOP / "docs" / "kube-proxy.md").write_text(page.text(rows, states), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
