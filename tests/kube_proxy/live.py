# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings a node into one state and runs the collectors on it. It must be the first process of new namespaces, see
run.py. It needs only the standard library, because a virtual machine has no other packages.

    live.py < JOB     JOB: JSON with binary, place, state (an entry of states*.yml), arguments of kube-proxy; writes a
                      line of JSON for each look
"""

import json
import pathlib
import subprocess
import sys

from live_node import Node, NotDone
from steps import ACTIONS

LOOK = pathlib.Path(__file__).resolve().with_name("look.py")
# ipvs mode starts ipset for each entry of a set, which is slow under emulation.
SERVICES, SERVICES_OF_IPVS = 30, 12
# The sections about kube-proxy and its rules. The kernel and the disk belong to the machine that runs this.
SECTIONS = ("iptables_backend", "iptables_chains", "ipvs", "kube_proxy", "kubelet", "xtables_lock")
LONGEST_LOOK_SECONDS = 300


def sections(look):
    found = seen(*SECTIONS, *look.get("sections", ()))
    if "window" in look:
        found.update(seen("--window", str(look["window"])))
    return found


def seen(*arguments):
    done = subprocess.run([sys.executable, str(LOOK), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=LONGEST_LOOK_SECONDS, check=False)
    if done.returncode:
        raise NotDone("the look ended: " + done.stderr.strip().rpartition("\n")[2])
    return json.loads(done.stdout)


def main():
    job = json.load(sys.stdin)
    state = job["state"]
    services = state.get("services", SERVICES_OF_IPVS if job["place"] == "ipvs" else SERVICES)
    node = Node(job["binary"], job["place"], services, job["arguments"])
    try:
        node.prepare()
        for step in state["does"]:
            (what, value), = step.items()
            if what == "look":
                print(json.dumps({"sections": sections(value), "healthz": node.healthz()}), flush=True)
            else:
                ACTIONS[what](node, value)
    except NotDone as error:
        print(json.dumps({"not_done": str(error)}), flush=True)
    finally:
        node.end()


if __name__ == "__main__":
    main()
