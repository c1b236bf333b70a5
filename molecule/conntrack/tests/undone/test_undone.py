# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After state=absent: files are byte for byte as before the first fix, and no value was lowered."""

import json

MAX = "net/netfilter/nf_conntrack_max"


def test_all_files_are_byte_for_byte_as_before(snapshot):
    broken, undone = ({path: row[:4] for path, row in snapshot(label)["files"].items()}
                      for label in ("broken", "undone"))
    assert undone == broken


def test_the_record_holds_only_running_values(host):
    folder = host.file("/var/lib/kubenode-netfilter")
    # A value that is again as it was before, as after a boot, leaves nothing to record.
    if folder.exists:
        assert folder.listdir() == ["conntrack"]
        held = json.loads(host.file(folder.path + "/conntrack/record.json").content_string)
        assert held["live"] and not held["changed"]


def test_the_limit_of_now_stays(snapshot, turns):
    last = max(turns, key=lambda version: list(map(int, version.split("."))))
    assert snapshot("undone")["sysctls"][MAX] == [str(turns[last]["seen"]["net.netfilter.nf_conntrack_max"])]
