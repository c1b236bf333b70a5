# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much longer a look at a running node takes when it also reads the logs of the agents: a journal and the log of a
pod, in a mount namespace of their own."""

import json
import sys
import time

from logs import write_log
from measure import NODE_PYTHON, TOP, Ansible, Outcome, need_packages, quiet, take_turns, workplace
from resolve import payload

MODULE = "kubenode.netfilter.node_facts"
WITH, WITHOUT = "node_facts with logs", "node_facts without"
ROUNDS = {False: 9, True: 1}
# Lines of the journal, one each 90 ms: those of the last 15 minutes are 10,000.
LINES = {False: 200000, True: 2000}
POD_LOG = {False: 32 << 20, True: 1 << 20}
SECONDS_LIMIT = 0.3
LIMIT = 2
MACHINE_ID = "/etc/machine-id"
KUBE_PROXY = "pods/kube-system_kube-proxy-x7k2p_0f9d4b57-6a39-4c39-9a49-5f2a8f0c1d11/kube-proxy"
WRITERS = (("kubelet", "kubelet.go:2453] \"SyncLoop UPDATE\" source=\"api\" pods=[\"team-1/app-1\"]"),
           ("containerd", "time=\"2026-11-22T06:38:01Z\" level=info msg=\"StopPodSandbox for 4b5f\""),
           ("kubelet", "E1122 06:38:01.720735 811 kubelet_network_linux.go:83] \"Failed to ensure that iptables hint "
                       "chains exist\" err=\"error creating chain \\\"KUBE-IPTABLES-HINT\\\": exit status 3\""))
ENTRY = ("__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=4cb4b6a0d7a04be8a1b1b8f0d2f5a8aa\n"
         "_MACHINE_ID=%s\n_TRANSPORT=stdout\nPRIORITY=6\n_SYSTEMD_UNIT=%s.service\nSYSLOG_IDENTIFIER=%s\n_PID=811\n"
         "MESSAGE=%s\n\n")


def journal(folder, lines):
    """A journal of this machine that ends now, as systemd-journal-remote writes it from the export format."""
    need_packages("systemd-journal-remote")
    with open(MACHINE_ID, encoding="ascii") as stream:
        machine = stream.read().strip()
    home = folder / "journal" / machine
    home.mkdir(parents=True)
    now, step = int(time.time() * 1e6), 90000
    with (folder / "export").open("w", encoding="ascii") as stream:
        for number in range(lines):
            unit, text = WRITERS[number % len(WRITERS) if number % 50 == 0 else number % 2]
            passed = number * step
            stream.write(ENTRY % (now - lines * step + passed, passed + 1, machine, unit, unit, text))
    # Not on the PATH: systemd keeps this program for its own unit.
    quiet(["/lib/systemd/systemd-journal-remote", "--output=%s" % (home / "system.journal"), folder / "export"])
    (folder / "export").unlink()


def measure(smoke):
    sys.path.insert(0, str(TOP / ".build"))
    from ansible_collections.kubenode.netfilter.plugins.module_utils._look.node import SECTIONS, UNASKED
    with workplace() as folder:
        logs = folder / "log"
        (logs / KUBE_PROXY).mkdir(parents=True)
        journal(logs, LINES[smoke])
        write_log(logs / KUBE_PROXY / "0.log", POD_LOG[smoke], 1000)
        calls = {}
        for name, chosen in ((WITH, SECTIONS), (WITHOUT, UNASKED)):
            place = folder / str(len(calls))
            place.mkdir()
            calls[name] = payload(Ansible(place), MODULE, {"gather_subset": list(chosen)})
        enter = ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c",
                 "mount --bind \"$0\" /var/log && exec \"$@\"", logs, NODE_PYTHON]
        section = json.loads(quiet(enter + [calls[WITH]]))["ansible_facts"]["node_logs"]
        seconds = take_turns({name: lambda name=name: quiet(enter + [calls[name]]) for name in calls}, ROUNDS[smoke])
    what = "a look at a running node with %d lines in its journal and %d MB of logs of kube-proxy; warm cache" % (
        LINES[smoke], POD_LOG[smoke] >> 20)
    outcome = Outcome("look_logs", what, WITH, WITHOUT, seconds, LIMIT, True, [])
    more = outcome.median(WITH) - outcome.median(WITHOUT)
    outcome.notes.append("%d lines of %d logs; longer by %.2f s (target at most %.1f: %s)" % (
        len(section["lines"]), len(section["read"]), more, SECONDS_LIMIT,
        "met" if more <= SECONDS_LIMIT else "missed"))
    return outcome
