# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose file it is."""

from case_rows import cases
import node_tree
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.owner import Owners

DPKG = {"var/lib/dpkg/info/fw.conffiles": "/etc/fw.conf\nremove-on-upgrade /etc/old.conf\n",
        "var/lib/dpkg/info/fw.list": "/etc/listed\n"}
NO_DPKG = {"etc/redhat-release": "x\n"}


@cases
def test_owner(manifest, path, owner, tmp_path):
    assert Owners(Host(node_tree.unpack(manifest, tmp_path))).of(path) == owner
