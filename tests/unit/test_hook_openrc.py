# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenRC runs one function of an init script at a boot and another at a stop."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "fixtures"), str(TESTS / "unit")]

import node_tree
from hook_nodes import DEBIAN, ELF
from node_tree import executable, link, merged
from test_hook_findings import judged

OPENRC = {
    "usr/sbin/openrc": ELF, "etc/runlevels/default/fw": link("/etc/init.d/fw"), "etc/init.d/fw": executable("""#!/sbin/openrc-run
start() {
    ebegin "Loading rules"
    iptables-restore --noflush < /etc/site.rules
}
stop() {
    iptables -F
    ip6tables -F
}
""")}


def findings(files, folder):
    return {row["check"]: row for row in judged(node_tree.unpack(merged(DEBIAN, files), folder))}


def test_what_openrc_does_at_a_stop_is_no_boot(tmp_path):
    found = findings(OPENRC, tmp_path)
    assert [(check, row["subject"]) for check, row in found.items()] == [("HOOK002", "/etc/init.d/fw")]
    assert "triggered by stop" in found["HOOK002"]["observed"]


def test_what_openrc_does_at_a_start_is_one(tmp_path):
    script = executable("#!/sbin/openrc-run\nstart_pre() {\n    iptables -F\n}\nstart() { :; }\nstop() { :; }\n")
    assert sorted(findings(merged(OPENRC, {"etc/init.d/fw": script}), tmp_path)) == ["HOOK001"]


def test_a_script_of_openrc_that_nothing_starts_is_silent(tmp_path):
    assert findings({path: content for path, content in OPENRC.items() if "runlevels" not in path}, tmp_path) == {}
