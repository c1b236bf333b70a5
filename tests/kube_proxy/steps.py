# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of states.yml on a node: `{name of the step: value}`."""

import signal
import subprocess
import threading
import time

import cluster
from live_node import RUN, shell

# A real iptables-restore that waits forever for the rest of its input, as if the writer hangs.
HANGING = """#!/bin/sh
exec {0}/hanging/iptables-restore "$@" < {0}/never
"""


def start(node, what):
    if what == "api":
        node.start_api()
    else:
        node.start_kube_proxy()


def start_again(node, changes):
    """Restart kube-proxy in another mode or with programs of another backend; no step cleans up the old rules."""
    node.stop_kube_proxy()
    node.mode = changes.get("mode", node.mode)
    node.use_backend(changes.get("backend", node.backend))
    node.start_kube_proxy()


def sync(node, _value):
    node.wait_until(node.synced, "the first sync")


def just_synced(node, _value):
    """Wait for the end of a sync. The next periodic sync, which would repair damage, is a syncPeriod later."""
    def of_ipv4():
        return [line for line in node.sync_times() if "IPv6" not in line]
    before = of_ipv4()
    node.wait_until(lambda: of_ipv4() != before, "the next sync")


def run(_node, command):
    shell(command)


def background(node, command):
    node.helpers.append(subprocess.Popen(["bash", "-c", "exec " + command], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def remove_endpoint(node, service):
    """Remove one endpoint of a Service in each family."""
    namespace, name = service.split("/")
    for family in cluster.FAMILIES:
        key = namespace, "%s-%s" % (name, family.lower())
        endpoints = node.log.objects["endpointslices"][key]
        node.log.put("endpointslices", dict(endpoints, endpoints=endpoints["endpoints"][:-1],
                                            metadata=dict(endpoints["metadata"])))


def keep_changing(node, rounds):
    """Remove and add endpoints of all Services, like in a rollout, while the next steps run."""
    def change():
        for _round in range(rounds):
            for owner, _ports, endpoints, _special in cluster.rows(node.services):
                if endpoints > 1:
                    remove_endpoint(node, owner)
                    time.sleep(0.05)
                    bring_back(node, owner)
    threading.Thread(target=change, daemon=True).start()


def bring_back(node, service):
    """Give the Service all its endpoints again."""
    for resource, thing in cluster.of_cluster(node.services):
        labels = thing["metadata"].get("labels", {})
        if resource == "endpointslices" and service == "%s/%s" % (
                thing["metadata"]["namespace"], labels["kubernetes.io/service-name"]):
            node.log.put(resource, thing)


def remove_service(node, service):
    namespace, name = service.split("/")
    node.log.remove("services", node.log.objects["services"][namespace, name])


def api(node, how):
    """Stop the API server, or make each of its answers an error."""
    if how == "gone":
        node.api.gone()
    else:
        node.api.refuses = how
        node.api.drop_connections()


def hang(node, program):
    """Make the next start of that program wait forever. `mend` must follow, so that later starts do not wait."""
    real, wrapper = RUN / "hanging" / program, RUN / ("never-ending-" + program)
    real.parent.mkdir()
    real.symlink_to("/usr/sbin/xtables-%s-multi" % node.backend)
    wrapper.write_text(HANGING.format(RUN))
    wrapper.chmod(0o755)
    shell("mkfifo %s/never" % RUN)
    background(node, "sleep infinity <> %s/never" % RUN)
    node.replace_program(program, wrapper)


def mend(node, _program):
    node.use_backend(node.backend)


def stop(node, _value):
    """Freeze kube-proxy: the process exists but does nothing."""
    node.kube_proxy.send_signal(signal.SIGSTOP)


def wait(_node, seconds):
    time.sleep(seconds)


ACTIONS = {step.__name__: step for step in (
    start, start_again, sync, just_synced, run, background, remove_endpoint,
    keep_changing, remove_service, api, hang, mend, stop, wait)}
