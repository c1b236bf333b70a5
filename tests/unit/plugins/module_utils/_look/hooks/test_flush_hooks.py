# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_flush_hooks: limits of scripts and folders, files that are not read at all, and its size; the rest
is in tests/looks/hooks."""

import json
import subprocess
import sys

import hook_nodes
import node_tree
import pytest
import work
from case_rows import cases
from hook_nodes import DEBIAN, service
from node_tree import executable, link, merged

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.bounds import (
    HOOKS_ALONE_LIMIT, HOOKS_LIMIT, fitted, fitted_hooks,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks import flush_hooks, trace
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.rows import Owners


def look(manifest, tmp_path, place="image", **options):
    return collect_flush_hooks(Host(node_tree.unpack(manifest, tmp_path)), {"place": place}, **options)


FLUSH = executable("#!/bin/sh\niptables -F\n")


@pytest.mark.parametrize("folder", ["relative", "/", "/proc", "//", "/sys/"])
def test_directories_that_cannot_be_searched(folder, tmp_path):
    with pytest.raises(BadInput, match="cannot be searched"):
        look(DEBIAN, tmp_path, directories=[folder])


def test_a_directory_without_end_hides_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(flush_hooks.host_walk.Walk.__init__, "__defaults__", (50, 1 << 20, 20.0, lambda path: True))
    files = {"srv/%d" % number: "text" for number in range(60)}
    section = look(merged(hook_nodes.SYSTEMD, files, {"etc/rc.local": FLUSH}), tmp_path, directories=["/srv"])
    assert section["collected"]["directories"] == "timeout" and section["collected"]["rc_local"] == "ok"
    assert [row["kind"] for row in section["hooks"]] == ["rc_local"]


EVALS = executable("#!/bin/sh\n" + "eval true\n" * 60000 + "iptables -F\n")


@cases
def test_a_script_that_is_not_followed_to_its_end_is_not_known(files, source, tmp_path):
    section = look(merged(DEBIAN, files, {"opt/fw": EVALS}), tmp_path)
    assert section["scanned"]["skipped"] == [
        {"source": source, "path": "/opt/fw", "reason": "/opt/fw was not followed further than 50000 statements"}]
    assert section["collected"][source] == "unparsed" and "/opt/fw" not in [row["path"] for row in section["files"]]


def test_scripts_together_have_a_limit_too(tmp_path, monkeypatch):
    monkeypatch.setattr(trace, "ALL_STATEMENTS_LIMIT", 150)
    scripts = {"usr/local/sbin/s%d" % number: executable("#!/bin/sh\n" + "true\n" * 60 + "iptables -F\n# %d\n" % number)
               for number in range(9)}
    section = look(merged(DEBIAN, scripts), tmp_path)
    assert len([row for row in section["files"]
                if row["path"].startswith("/usr/local")]) == 2 and section["scanned"]["skipped_count"] == 7


# What the look does not read, and what it must find all the same.
# It contains no word about the firewall, like an init script that leaves the work to another script.
INIT = ("#!/bin/sh\n### BEGIN INIT INFO\n# Provides: site\n### END INIT INFO\n. /lib/lsb/init-functions\n"
        "/opt/site/apply\n")
SITE = {"etc/init.d/site": executable(INIT), "etc/rc2.d/S01site": link("../init.d/site"), "opt/site/apply": FLUSH,
        "usr/lib/lsb/init-functions": "for hook in $(run-parts --list /lib/lsb/init-functions.d 2>/dev/null); do . "
                                      "$hook; done\n",
        "usr/lib/lsb/init-functions.d/00-verbose": "log_begin_msg () {\n    echo \"$@\"\n}\n"}
HEALTHY = merged(hook_nodes.SYSTEMD, hook_nodes.KUBEADM, hook_nodes.NETWORK, hook_nodes.NFTABLES_DEBIAN,
                 hook_nodes.CRON_DEBIAN)


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

    def calls(number, **script):
        trees = [merged(service("s%d.service" % each, "ExecStart=/bin/true"),
                        {"etc/init.d/s%d" % each: executable(text)} if script else {}) for each in range(number)]
        return work.calls_of(look, merged(DEBIAN, *trees), tmp_path / ("%d%s" % (number, len(script))))
    assert (calls(42, script=True) - calls(2, script=True)) - (calls(42) - calls(2)) < 40 * 150


# The section stays small, whatever a node holds: what matters stays, what goes is counted.

LONG = "y" * 200


def crowd(number):
    """Scripts with long names and long commands, of cron (live) and of people."""
    text = "#!/bin/sh\n" + "".join("iptables -t nat -F # %d %s\niptables -F; iptables -X\n" % (line, LONG)
                                   for line in range(5))
    return merged(DEBIAN, {"etc/cron.daily/%s%d" % (LONG, index): executable(text) for index in range(number)},
                  {"usr/local/sbin/%s%d" % (LONG, index): executable(text) for index in range(number)})


@pytest.mark.parametrize("limit", [HOOKS_LIMIT, HOOKS_ALONE_LIMIT])
def test_a_crowd_fits_and_is_counted(limit, tmp_path):
    whole = look(crowd(40), tmp_path)
    found = fitted_hooks(whole, limit)
    assert len(json.dumps(found)) <= limit
    assert found["hook_count"] == len(whole["hooks"]) == len(found["hooks"]) + found["hooks_left_out"] > 400
    assert found["files"] and all(row["live"] for row in found["hooks"] + found["files"])


def test_scripts_that_write_files_leave_the_others_in(tmp_path):
    text = "#!/bin/sh\n" + "".join("echo net.ipv4.ip_forward=0 > /etc/sysctl.d/%s%d.conf\n" % (LONG, line)
                                   for line in range(30))
    whole = look(merged(crowd(1), {"etc/cron.daily/a": executable(text)}), tmp_path)
    found = fitted({"node_flush_hooks": whole, "node_host": {}})["node_flush_hooks"]
    assert len(json.dumps(found)) <= HOOKS_LIMIT and found["files"] and found["written"] and found["hooks"]


def test_nobody_can_make_it_grow_forever(tmp_path):
    files = {"etc/cron.daily/fw%d" % index: executable("#!/bin/sh\n" + "iptables -F\n" * 600) for index in range(20)}
    found = look(merged(DEBIAN, files), tmp_path)
    assert found["hook_count"] == 1000 and found["collected"]["directories"] == "timeout"


# Whose file it is.

DPKG = {"var/lib/dpkg/info/fw.conffiles": "/etc/fw.conf\nremove-on-upgrade /etc/old.conf\n",
        "var/lib/dpkg/info/fw.list": "/etc/listed\n"}
NO_DPKG = {"etc/redhat-release": "x\n"}


@cases
def test_owner(manifest, path, owner, tmp_path):
    assert Owners(Host(node_tree.unpack(manifest, tmp_path))).of(path) == owner
