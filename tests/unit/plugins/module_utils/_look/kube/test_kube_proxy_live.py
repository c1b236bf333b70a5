# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real rules in a network of their own, and a process named kube-proxy that answers as the one that wrote them did."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from node_processes import needs_mounts, python_path

SCRIPT = """\
import json, subprocess, sys
import live_kube_proxy
backend, mine = sys.argv[1:3]
if mine == "proxy":
    live_kube_proxy.serve()
else:
    from node_sections import collect_sections
    subprocess.check_call(["ip", "link", "set", "lo", "up"])
    child = subprocess.Popen([sys.executable, __file__, backend, "proxy"], stdout=subprocess.PIPE)
    child.stdout.readline()

    def look(sections=("kube_proxy",)):
        found = collect_sections(list(sections), "/", "live")["node_kube_proxy"]
        return [found["pid"] == child.pid, found["running"], found["effective_mode"],
                sorted("%(family)s/%(table)s %(promised)s %(in_kernel)s %(state)s" % row for row in found["rules"])]

    def run(command):
        subprocess.check_call("set -e; unset LD_PRELOAD; " + command, shell=True)

    live_kube_proxy.restore(backend)
    told = [look(), look(("conntrack", "iptables_backend", "iptables_chains", "kube_proxy"))]
    run("iptables-%s -w 5 -t nat -F" % backend)
    told.append(look())
    run("ip6tables-%s -w 5 -A KUBE-FORWARD -j ACCEPT" % backend)
    told.append(look())
    child.kill()
    child.wait()
    told.append(look()[1])
    print(json.dumps(told))
"""
WHOLE = ["ipv4/filter 18 18 equal", "ipv4/nat 314 314 equal", "ipv6/filter 17 17 equal", "ipv6/nat 300 300 equal"]
FLUSHED = [WHOLE[0], "ipv4/nat 314 0 fewer"] + WHOLE[2:]


@needs_mounts
@pytest.mark.parametrize("backend", ["nft", "legacy"])
def test_a_flush_is_seen(backend, tmp_path):
    if not shutil.which("iptables-%s-restore" % backend):
        pytest.skip("no iptables of this backend")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    tool = subprocess.Popen(["unshare", "-npfm", "--mount-proc", sys.executable, str(script), backend, "look"],
                            stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=python_path()))
    out = tool.communicate()[0].decode("utf-8")
    assert tool.returncode == 0
    assert json.loads(out.splitlines()[-1]) == [
        [True, True, "iptables", WHOLE], [True, True, "iptables", WHOLE], [True, True, "iptables", FLUSHED],
        [True, True, "iptables", FLUSHED[:2] + ["ipv6/filter 17 18 more", FLUSHED[3]]], False]
