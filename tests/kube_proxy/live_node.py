# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with a real kube-proxy, in the namespaces of this process: mount, network and processes, see run.py."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

import api_server
import cluster

PROGRAMS = ("iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore")
RUN = pathlib.Path("/run/kube-proxy")
ALTERNATIVES = pathlib.Path("/etc/alternatives")
KUBECONFIG = {
    "apiVersion": "v1", "kind": "Config", "current-context": "here",
    "clusters": [{"name": "here", "cluster": {"server": "http://127.0.0.1:%d" % api_server.PORT}}],
    "users": [{"name": "kube-proxy", "user": {}}],
    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "kube-proxy"}}],
}
ARGUMENTS = ("--kubeconfig=%s/kubeconfig" % RUN, "--hostname-override=" + cluster.NODE, "--v=2",
             "--kube-api-content-type=application/json", "--conntrack-max-per-core=0",
             "--cluster-cidr=" + ",".join(map(str, cluster.POD_RANGES.values())))
# With 5000 Services and the nft backend a first sync of both families takes a minute, and several minutes while other
# states run.
SYNC_SECONDS = 600
# A look at an emulated machine may take half a minute, and must end before the next sync repairs the damage.
SLOW_SYNCS = ("--ipvs-sync-period=60s",)
FULL_ROUTE = {"IPv4": ("iptables-save", "ip"), "IPv6": ("ip6tables-save", "ip6")}


class NotDone(Exception):
    """A step did not reach its state, so later looks would judge another state."""


class Node:
    def __init__(self, binary, place, services, arguments):
        self.binary, self.services = binary, services
        self.arguments = (*ARGUMENTS, *arguments, *(SLOW_SYNCS if place == "ipvs" else ()))
        self.mode, self.backend = (place, "nft") if place in ("nftables", "ipvs") else ("iptables", place)
        self.log = api_server.Log()
        for resource, thing in cluster.of_cluster(services):
            self.log.put(resource, thing)
        self.api = self.kube_proxy = None
        self.helpers = []

    def prepare(self):
        """Set up everything that processes of this node share: /run with the xtables lock, programs, addresses."""
        links = [(path, os.readlink(str(path))) for path in ALTERNATIVES.iterdir() if path.is_symlink()]
        shell("mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs %s" % ALTERNATIVES)
        for path, target in links:
            path.symlink_to(target)
        self.use_backend(self.backend)
        RUN.mkdir()
        (RUN / "kubeconfig").write_text(json.dumps(KUBECONFIG))
        (RUN / "kube-proxy").symlink_to(self.binary)
        shell("ip link set lo up; ip link add eth0 type veth peer name outside; ip link set outside up;"
              "ip address add %s/24 dev eth0; ip address add %s/64 dev eth0 nodad; ip link set eth0 up;"
              "ip route add default via 192.0.2.1; ip -6 route add default via 2001:db8:10::1;"
              "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1"
              % tuple(cluster.NODE_ADDRESSES[family] for family in cluster.FAMILIES))

    def use_backend(self, backend):
        self.backend = backend
        for name in PROGRAMS:
            self.replace_program(name, shutil.which(name.replace("tables", "tables-" + backend, 1)))

    @staticmethod
    def replace_program(name, target):
        (ALTERNATIVES / name).unlink()
        (ALTERNATIVES / name).symlink_to(target)

    def start_api(self):
        self.api = api_server.ApiServer(self.log)

    def start_kube_proxy(self):
        with open(str(RUN / "log"), "ab") as output:
            command = [str(RUN / "kube-proxy"), "--proxy-mode=" + self.mode, *self.arguments]
            self.kube_proxy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def stop_kube_proxy(self):
        self.kube_proxy.send_signal(signal.SIGTERM)
        self.kube_proxy.wait(30)

    def rules(self, family):
        """The rules of kube-proxy of a family as text; empty if there are none or they are not readable."""
        save, table = FULL_ROUTE[family]
        command = ["nft", "list", "table", table, "kube-proxy"] if self.mode == "nftables" else [save, "-t", "nat"]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                              universal_newlines=True).stdout

    def synced(self):
        """Whether the first sync of each family is done. A sync is one transaction, so one Service shows it."""
        def done(family):
            if self.services and self.mode == "ipvs":
                # A sync writes the rules last. They have this rule if the set has an entry.
                return "CLUSTER-IP dst" in self.rules(family)
            if self.services:
                last = max(index for index, row in enumerate(cluster.rows(self.services)) if row[2])
                return cluster.cluster_ip(last, family) in self.rules(family)
            return ("chain services" if self.mode == "nftables" else ":KUBE-SERVICES") in self.rules(family)
        # In ipvs mode a sync cleans up after the rules and sets its metric only then.
        return all(done(family) for family in cluster.FAMILIES) and (
            self.mode != "ipvs" or all(float(line.split()[-1]) for line in self.sync_times()))

    def wait_until(self, holds, what):
        deadline = time.monotonic() + SYNC_SECONDS
        while not holds():
            if self.kube_proxy.poll() is not None:
                raise NotDone("kube-proxy ended: " + self.last_line())
            if time.monotonic() > deadline:
                raise NotDone("not within %d s: %s; %s" % (SYNC_SECONDS, what, self.last_line()))
            time.sleep(0.3)

    @staticmethod
    def last_line():
        return (RUN / "log").read_text(errors="replace").strip().rpartition("\n")[2][:300]

    def healthz(self):
        """The HTTP status of /healthz, or `no answer`."""
        try:
            with urllib.request.urlopen("http://127.0.0.1:10256/healthz", timeout=5) as answer:
                return str(answer.status)
        except urllib.error.HTTPError as error:
            return str(error.code)
        except OSError:
            return "no answer"

    @staticmethod
    def sync_times():
        """The lines of /metrics with the time of the last sync; one for each family since 1.33."""
        with urllib.request.urlopen("http://127.0.0.1:10249/metrics", timeout=20) as answer:
            lines = answer.read().decode().splitlines()
        return [line for line in lines if line.startswith("kubeproxy_sync_proxy_rules_last_timestamp_seconds")]

    def end(self):
        for process in [*self.helpers, self.kube_proxy]:
            if process and process.poll() is None:
                process.kill()
                process.wait()


def shell(command):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, timeout=120, check=False)
    if done.returncode:
        raise NotDone("%s gives %d: %s" % (command, done.returncode, done.stdout.strip()[-300:]))
