# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control plane, outside of the node: etcd, kube-apiserver and kube-controller-manager, and calls of the API."""

import json
import pathlib
import secrets
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import network
import node_files
from node import NotDone, shell

START_SECONDS = 180
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


class Control:
    """`run` is a folder on a memory file system, `tree` the root file system that has etcd."""

    def __init__(self, run, tree, binaries):
        self.run, self.tree, self.binaries = pathlib.Path(run), pathlib.Path(tree), pathlib.Path(binaries)
        self.token = secrets.token_hex(16)
        self.processes = []
        # Its certificate is self-signed, made for this run.
        self.context = ssl._create_unverified_context()

    def start(self):
        self.run.mkdir()
        (self.run / "tokens.csv").write_text("%s,admin,admin,system:masters\n" % self.token)
        (self.run / "kubeconfig").write_text(node_files.kubeconfig("admin", self.token))
        key = self.run / "accounts.key"
        shell("openssl genrsa -out {0} 2048; openssl rsa -in {0} -pubout -out {0}.pub".format(key))
        etcd = self.run / "etcd"
        shell("mkdir -p {0}; mount -t overlay overlay -o lowerdir={1},upperdir={2}/up,workdir={2}/work {0}".format(
            etcd, self.tree, self._folders("up", "work")))
        self._run("etcd", "chroot", etcd, "/usr/bin/etcd", "--data-dir=/tmp/data",
                  "--listen-peer-urls=http://127.0.0.1:2380")
        self._run("kube-apiserver", self.binaries / "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379",
                  "--secure-port=%d" % network.API_PORT, "--advertise-address=" + network.OUTSIDE,
                  "--service-cluster-ip-range=" + network.SERVICES, "--cert-dir=%s" % self.run,
                  "--token-auth-file=%s" % (self.run / "tokens.csv"), "--authorization-mode=AlwaysAllow",
                  "--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=%s.pub" % key,
                  "--service-account-signing-key-file=%s" % key, "--allow-privileged=true", "--profiling=false")
        self._run("kube-controller-manager", self.binaries / "kube-controller-manager",
                  "--kubeconfig=%s" % (self.run / "kubeconfig"), "--allocate-node-cidrs=true",
                  "--cluster-cidr=" + network.CLUSTER_PODS, "--service-cluster-ip-range=" + network.SERVICES,
                  "--service-account-private-key-file=%s" % key, "--leader-elect=false",
                  "--cert-dir=%s" % self.run)
        self.wait_for("/readyz", lambda answer: True, "the API server", START_SECONDS)
        self.wait_for("/api/v1/namespaces/default/serviceaccounts/default", lambda answer: True,
                      "kube-controller-manager", START_SECONDS)

    def _folders(self, *names):
        for name in names:
            (self.run / "of-etcd" / name).mkdir(parents=True)
        return self.run / "of-etcd"

    def _run(self, name, *command):
        with open(str(self.run / (name + ".log")), "wb") as log:
            self.processes.append((name, subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log,
                                                          stderr=log)))

    def call(self, method, path, body=None, kind="application/json"):
        """The answer of the API server as data; urllib's errors on failure."""
        request = urllib.request.Request(
            "https://127.0.0.1:%d%s" % (network.API_PORT, path), method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self.token, "Content-Type": kind, "Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=20, context=self.context) as answer:
            text = answer.read().decode()
        return json.loads(text) if text.startswith("{") else text

    def apply(self, path, thing):
        self.call("PATCH", path + "?fieldManager=run&force=true", thing, APPLY)

    def wait_for(self, path, holds, what, seconds):
        """Wait until the API has an answer for `path` of which `holds` is true, and return it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                answer = self.call("GET", path)
                if holds(answer):
                    return answer
            except (OSError, ValueError):
                answer = None
            self._check()
            if time.monotonic() > deadline:
                raise NotDone("not within %d s: %s" % (seconds, what))
            time.sleep(0.5)

    def _check(self):
        for name, process in self.processes:
            if process.poll() is not None:
                lines = (self.run / (name + ".log")).read_text(errors="replace").strip().splitlines()
                raise NotDone("%s ended: %s" % (name, " / ".join(lines[-2:])[-500:]))

    def stop(self):
        for _name, process in self.processes:
            process.kill()
            process.wait()
