# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After state=absent: files are byte for byte as before the first fix, and no value was lowered."""

MAX = "net/netfilter/nf_conntrack_max"


def test_all_files_are_byte_for_byte_as_before(snapshot):
    broken, undone = ({path: row[:4] for path, row in snapshot(label)["files"].items()}
                      for label in ("broken", "undone"))
    assert undone == broken


def test_nothing_is_left_of_the_record(host):
    assert not host.file("/var/lib/kubenode-netfilter").exists


def test_the_limit_of_now_stays(snapshot, turns):
    last = max(turns, key=lambda version: list(map(int, version.split("."))))
    assert snapshot("undone")["sysctls"][MAX] == [str(turns[last]["seen"]["net.netfilter.nf_conntrack_max"])]
