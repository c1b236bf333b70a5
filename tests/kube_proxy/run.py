# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs real kube-proxies in every state of states.yml and states_ipvs.yml, each in separate namespaces, and writes the
findings to docs/kube-proxy.md. Needs root.

    run.py [--only WORD] [--no-vm] BINARY...     WORD: a part of the name of a state or place

ipvs mode runs on virtual machines, see machine.py; --no-vm leaves it out. Only a complete run writes the page.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import queue
import re
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(TOP / ".build"))

import judge
import machine
import page

# Every process of a state is in a PID namespace, so the kernel kills them all when the first one ends
# (pid_namespaces(7)). unshare ignores SIGTERM while it waits; because of setpriv it ends when this process ends.
NAMESPACES = ("setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--propagation",
              "private", "--pid", "--fork", "--kill-child", "--mount-proc")
PLACES = ("legacy", "nft", "nftables")
ON_MACHINE = "ipvs"
# Feature gates that are off by default: (gate, first version, first version with default on) (kubernetes pkg/features).
WITH_NFTABLES = (1, 29)
GATES = (("IPv6DualStack", (1, 16), (1, 21)), ("NFTablesProxyMode", WITH_NFTABLES, (1, 31)))
LONGEST_SECONDS = 1500
# Most states wait for a timeout of kube-proxy. States with many Services need CPU time, or their first sync times out.
CORES = os.cpu_count() or 1
AT_ONCE = 7 * CORES
MANY_SERVICES = 1000
# Virtual machines at a time. Each runs one state, because kernel modules and modprobe.d belong to the whole machine.
MACHINES = 3


def read_states():
    return [state for name in ("states.yml", "states_ipvs.yml")
            for state in yaml.safe_load((HERE / name).read_text(encoding="utf-8"))]


def version_of(binary):
    """The version of a kube-proxy as (1, 36, 2)."""
    said = subprocess.run([binary, "--version"], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    return tuple(map(int, re.search(r"v(\d+)\.(\d+)\.(\d+)", said).groups()))


def jobs(binaries, states, word):
    """(version, binary, place, state) of all jobs; the longest ones start first."""
    found = [(version, binary, place, state) for state in states for version, binary in sorted(binaries.items())
             for place in state.get("places", PLACES)
             if version >= WITH_NFTABLES or "nftables" not in place + state["state"]
             if word in "%s %s" % (state["state"], place)]
    return sorted(found, key=lambda job: -seconds_of(job[3]))


def seconds_of(state):
    return sum(step.get("wait", 0) for step in state["does"]) + state.get("services", 0) / 50


def outcomes(job, node=None):
    """A row for each look of a state: (version, place, state, expectation of the look, findings). `node` is the virtual
    machine that runs the state, None for this machine."""
    version, binary, place, state = job
    looks = [step["look"] for step in state["does"] if "look" in step]
    command = [*NAMESPACES, sys.executable, str(HERE / "live.py")] if node is None else node.command(NAMESPACES)
    lines, problem = answers(command, {
        "binary": os.path.abspath(binary) if node is None else node.path_of(version), "place": place, "state": state,
        "arguments": ["--feature-gates=%s=true" % gate for gate, first, on in GATES if first <= version < on]})
    found = [dict(judge.judged(line["sections"], look.get("about", ()), look.get("policy")), healthz=line["healthz"])
             for look, line in zip(looks, lines)]
    found += [{"not_done": problem}] * (len(looks) - len(found))
    return [(".".join(map(str, version)), place, state["state"], look, line) for look, line in zip(looks, found)]


def answers(command, job):
    """(the lines of live.py about looks, the reason why there are no more)."""
    try:
        done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=LONGEST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return [], "not done within %d s" % LONGEST_SECONDS
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    problem = done.stderr.strip().rpartition("\n")[2] if done.returncode else "not reached"
    return ([line for line in lines if "sections" in line],
            next((line["not_done"] for line in lines if "not_done" in line), problem))


def on_machines(todo, binaries):
    """(rows of all states on virtual machines, versions of these machines)."""
    nodes = [machine.Machine(number) for number in range(MACHINES)]
    free = queue.Queue()

    def brought_about(job):
        node = free.get()
        node.restore()
        found = outcomes(job, node)
        free.put(node)
        return shown(found)

    try:
        machine.start(nodes, binaries)
        for node in nodes:
            free.put(node)
        with concurrent.futures.ThreadPoolExecutor(MACHINES) as pool:
            rows = [row for found in pool.map(brought_about, todo) for row in found]
        return rows, nodes[0].versions()
    finally:
        for node in nodes:
            node.stop()


def on_this_machine(todo):
    pools = concurrent.futures.ThreadPoolExecutor(AT_ONCE), concurrent.futures.ThreadPoolExecutor(CORES)
    with pools[0], pools[1]:
        running = [pools[job[3].get("services", 0) >= MANY_SERVICES].submit(outcomes, job) for job in todo]
        for future in concurrent.futures.as_completed(running):
            yield from future.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-vm", action="store_true")
    parser.add_argument("binaries", nargs="+")
    asked = parser.parse_args()
    if os.geteuid():
        sys.exit("run as root: network namespaces and rules are made")
    binaries = {version_of(binary): binary for binary in asked.binaries}
    states = read_states()
    todo = jobs(binaries, states, asked.only)
    apart = [job for job in todo if job[2] == ON_MACHINE and not asked.no_vm]
    rows, node = [], []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(on_machines, apart, binaries) if apart else None
        for row in on_this_machine([job for job in todo if job[2] != ON_MACHINE]):
            rows += shown([row])
        if future:
            found, node = future.result()
            rows += found
    wrong = [row for row in rows if not page.is_expected(row)]
    print("%d passed, %d failed" % (len(rows) - len(wrong), len(wrong)))
    if not asked.only and not asked.no_vm:
        (TOP / "docs" / "kube-proxy.md").write_text(page.text(rows, states, node), encoding="utf-8")
    return 1 if wrong else 0


def shown(rows):
    for row in rows:
        print("%-7s %-8s %-60s %s" % (row[0], row[1], "%s, %s" % (row[2], row[3]["when"]), page.said(row)), flush=True)
    return rows


if __name__ == "__main__":
    sys.exit(main())
