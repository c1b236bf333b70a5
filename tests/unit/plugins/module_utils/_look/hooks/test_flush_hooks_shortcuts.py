# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the look for hooks does not read, and what it must find all the same."""

import json
import subprocess
import sys


import hook_nodes
import node_tree
import work
from hook_nodes import DEBIAN, service
from node_tree import executable, link, merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks

FLUSH = executable("#!/bin/sh\niptables -F\n")
# It contains no word about the firewall, like an init script that leaves the work to another script.
INIT = ("#!/bin/sh\n### BEGIN INIT INFO\n# Provides: site\n### END INIT INFO\n. /lib/lsb/init-functions\n"
        "/opt/site/apply\n")
SITE = {"etc/init.d/site": executable(INIT), "etc/rc2.d/S01site": link("../init.d/site"), "opt/site/apply": FLUSH,
        "usr/lib/lsb/init-functions": "for hook in $(run-parts --list /lib/lsb/init-functions.d 2>/dev/null); do . "
                                      "$hook; done\n",
        "usr/lib/lsb/init-functions.d/00-verbose": "log_begin_msg () {\n    echo \"$@\"\n}\n"}
HEALTHY = merged(hook_nodes.SYSTEMD, hook_nodes.KUBEADM, hook_nodes.NETWORK, hook_nodes.NFTABLES_DEBIAN,
                 hook_nodes.CRON_DEBIAN)


def look(manifest, tmp_path):
    return collect_flush_hooks(Host(node_tree.unpack(manifest, tmp_path)), {"place": "image"})


LOADED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import host as _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks
section = collect_flush_hooks(_host.Host(sys.argv[2]), {"place": "image"})
print(json.dumps([section["hook_count"], [name.rpartition("module_utils.")[2] for name in sys.modules if "kubenode" in name]]))
"""


def test_a_healthy_node_needs_no_grammar_of_a_shell(tmp_path):
    """The sources of the grammar would be compiled on each node in each run."""
    files = {"etc/init.d/site%d" % number: SITE["etc/init.d/site"] for number in range(5)}
    root = node_tree.unpack(merged(HEALTHY, SITE, files, {"opt/site/apply": executable("#!/bin/sh\necho SCRIPT and "
                                                                                       "executables\n")}), tmp_path)
    top = next(path for path in sys.path if path.endswith(".build"))
    done = subprocess.run([sys.executable, "-c", LOADED, top, root], stdout=subprocess.PIPE, check=True)
    hooks, loaded = json.loads(done.stdout.decode())
    assert hooks == 2
    assert "_look.hooks.flush_hooks" in loaded
    assert not [name for name in loaded
                if name.startswith(("_parse.shell.grammar", "_parse.shell.words", "_script.tools"))]
    assert not set(loaded) & {"_script." + name
                              for name in ("walk", "commands", "launchers", "values", "findings", "foreign", "printed")}


def test_scripts_that_nobody_starts_cost_nearly_nothing(tmp_path):
    text = INIT.replace("/opt/site/apply\n",
                        "case \"$1\" in\nstart) start-stop-daemon --start --exec /usr/bin/site ;;\nesac\n" * 20)
    few, many = (work.calls_of(look, merged(DEBIAN, *[merged(service("s%d.service" % each, "ExecStart=/bin/true"),
                                                             {
                                                                 "etc/init.d/s%d" % each: executable(text)})
                                                      for each in range(number)]), tmp_path / str(number))
                 for number in (2, 42))
    plain = [work.calls_of(look, merged(DEBIAN, *[service("s%d.service" % each, "ExecStart=/bin/true")
                                                  for each in range(number)]), tmp_path / ("plain%d" % number))
             for number in (2, 42)]
    assert (many - few) - (plain[1] - plain[0]) < 40 * 150
