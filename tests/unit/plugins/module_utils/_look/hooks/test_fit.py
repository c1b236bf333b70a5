# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section stays small, whatever a node holds: what matters stays, what goes is counted."""

import json

import pytest

import node_tree
from hook_nodes import AZURE, CRON_DEBIAN, DEBIAN
from node_tree import executable, merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.bounds import (HOOKS_ALONE_LIMIT, HOOKS_LIMIT,
                                                                                      fitted)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.fit import ROWS_LIMIT, fitted_hooks
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks
from node_sections import collect_sections

LONG = "y" * 200


def section(manifest, tmp_path):
    return collect_flush_hooks(Host(node_tree.unpack(manifest, tmp_path)), {"place": "image"})


def crowd(number):
    """Scripts with long names and long commands, of cron (live) and of people."""
    text = "#!/bin/sh\n" + "".join("iptables -t nat -F # %d %s\niptables -F; iptables -X\n" % (line, LONG)
                                   for line in range(5))
    return merged(DEBIAN, {"etc/cron.daily/%s%d" % (LONG, index): executable(text) for index in range(number)},
                  {"usr/local/sbin/%s%d" % (LONG, index): executable(text) for index in range(number)})


@pytest.mark.parametrize("limit", [HOOKS_LIMIT, HOOKS_ALONE_LIMIT])
def test_a_crowd_fits_and_is_counted(limit, tmp_path):
    whole = section(crowd(40), tmp_path)
    found = fitted_hooks(whole, limit)
    assert len(json.dumps(found)) <= limit
    assert found["hook_count"] == len(whole["hooks"]) == len(found["hooks"]) + found["hooks_left_out"] > 400
    assert found["files"] and all(row["live"] for row in found["hooks"] + found["files"])


def test_scripts_that_write_files_leave_the_others_in(tmp_path):
    text = "#!/bin/sh\n" + "".join("echo net.ipv4.ip_forward=0 > /etc/sysctl.d/%s%d.conf\n" % (LONG, line)
                                   for line in range(30))
    whole = section(merged(crowd(1), {"etc/cron.daily/a": executable(text)}), tmp_path)
    found = fitted({"node_flush_hooks": whole, "node_host": {}})["node_flush_hooks"]
    assert len(json.dumps(found)) <= HOOKS_LIMIT and found["files"] and found["written"] and found["hooks"]


def test_what_fits_is_not_cut(tmp_path):
    whole = section(merged(AZURE, CRON_DEBIAN), tmp_path)
    found = fitted({"node_flush_hooks": whole})["node_flush_hooks"]
    assert found["hooks_left_out"] == 0 and found["hooks"] == whole["hooks"] and len(whole["hooks"]) < ROWS_LIMIT


def test_all_sections_of_such_a_node(tmp_path):
    sections = collect_sections(["host", "flush_hooks", "kernel_modules"], node_tree.unpack(crowd(40), tmp_path),
                                "image")
    assert len(json.dumps(sections)) < 64 * 1024 and sections["node_flush_hooks"]["hooks"]


def test_nobody_can_make_it_grow_forever(tmp_path):
    files = {"etc/cron.daily/fw%d" % index: executable("#!/bin/sh\n" + "iptables -F\n" * 600) for index in range(20)}
    found = section(merged(DEBIAN, files), tmp_path)
    assert found["hook_count"] == 1000 and found["collected"]["directories"] == "timeout"
