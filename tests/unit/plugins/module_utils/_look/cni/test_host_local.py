# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Very many leases of host-local; the rest is in tests/looks/cni."""

import json

import node_tree
from cni_leases import FOLDER
from node_manifests import DEBIAN
from node_sections import collect_sections


def test_many_leases_are_bounded(tmp_path):
    wide = {"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/8"}]] * 20}
    files = {"%s10.0.%d.%d" % (FOLDER, number // 250, number % 250): "x" for number in range(1, 4200)}
    files["etc/cni/net.d/10-x.conflist"] = json.dumps({"name": "pods", "plugins": [{"type": "bridge", "ipam": wide}]})
    containerd = {"proc/1/comm": "systemd\n", "proc/9/comm": "containerd\n", "proc/9/cmdline": "containerd\0",
                  "var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/x/y": ""}
    tree = node_tree.unpack(dict(DEBIAN, **files, **containerd), tmp_path)
    rows = collect_sections(["cni"], tree, "live")["node_cni"]["host_local"]
    assert len(rows) == 8 and {(row["leased"], row["unchecked"]) for row in rows} == {(4199, 103)}
