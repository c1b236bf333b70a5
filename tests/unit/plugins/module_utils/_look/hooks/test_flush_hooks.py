# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_flush_hooks: the services of distributions, where commands are found, and whether they are run."""

import pytest

from case_rows import cases
import hook_nodes
import node_tree
from hook_nodes import DEBIAN
from node_tree import executable, merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks import flush_hooks, trace
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks


def look(manifest, tmp_path, place="image", **options):
    return collect_flush_hooks(Host(node_tree.unpack(manifest, tmp_path)), {"place": place}, **options)


FLUSH = "#!/bin/sh\niptables -F\n"
SCRIPT = executable(FLUSH)


@pytest.mark.parametrize("folder", ["relative", "/", "/proc", "//", "/sys/"])
def test_directories_that_cannot_be_searched(folder, tmp_path):
    with pytest.raises(BadInput, match="cannot be searched"):
        look(DEBIAN, tmp_path, directories=[folder])


def test_a_directory_without_end_hides_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(flush_hooks.host_walk.Walk.__init__, "__defaults__", (50, 1 << 20, 20.0, lambda path: True))
    files = {"srv/%d" % number: "text" for number in range(60)}
    section = look(merged(hook_nodes.SYSTEMD, files, {"etc/rc.local": SCRIPT}), tmp_path, directories=["/srv"])
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
