# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_conntrack: what changes during a look, and its size; the rest is in tests/looks/conntrack."""

import json

import node_tree
from conntrack_node import BR, BRIDGE, ESTABLISHED, FORWARD, LISTED, MAX, NF, counters, live, look, tracking
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.node import COLLECTORS


def test_what_is_lost_during_the_look(tmp_path, monkeypatch):
    """The first section of the look takes so long that the counters grow."""
    root = node_tree.unpack(tracking(counters(drop=7, insert_failed=5, early_drop=1)), tmp_path)

    def busy(look):
        node_tree.unpack(counters(drop=10, insert_failed=7, early_drop=9), tmp_path)
        return {}

    monkeypatch.setitem(COLLECTORS, "cni", busy)
    section = collect_sections(["cni", "conntrack"], root, "live")["node_conntrack"]
    assert (section["growth"]["drop"], section["growth"]["insert_failed"],
            sorted(section["growth"])) == (3, 2, ["drop", "insert_failed", "seconds"])


def test_a_window_lasts_as_long_as_asked(tmp_path):
    section, _host = live(tmp_path, window_seconds=1)
    assert section["rates"]["window_seconds"] >= 1.0 and section["growth"]["seconds"] >= 1.0


def test_hostile_texts_stay_small_and_whole(tmp_path):
    evil = u"\u202e\x1b[31m" * 400
    names = (MAX, BRIDGE, FORWARD, ESTABLISHED)
    manifest = tracking(LISTED, {"etc/sysctl.d/%03d.conf" % number: "%s = %s\n" % (name, evil)
                                 for number, name in enumerate(names)},
                        {NF + "max": evil, BR + "iptables": "\0\xff", NF + "count": "-5\n"})
    section = look(manifest, tmp_path)
    assert section["max"] is None and section["count"] is None and len(json.dumps(section)) < 10 * 1024
