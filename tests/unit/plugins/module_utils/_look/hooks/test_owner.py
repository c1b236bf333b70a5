# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose file it is."""

import pytest

import node_tree
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.owner import Owners

DPKG = {"var/lib/dpkg/info/fw.conffiles": "/etc/fw.conf\nremove-on-upgrade /etc/old.conf\n",
        "var/lib/dpkg/info/fw.list": "/etc/listed\n"}
NO_DPKG = {"etc/redhat-release": "x\n"}


@pytest.mark.parametrize(
    "manifest, path, owner", [
        (DPKG, "/usr/lib/systemd/system/nftables.service", "package"), (DPKG, "/lib/x", "package"),
        (DPKG, "/usr/local/sbin/fw", "administrator"), (DPKG, "/opt/a/b", "administrator"),
        (DPKG, "/root/x", "administrator"), (DPKG, "/etc/fw.conf", "package"), (DPKG, "/etc/old.conf", "package"),
        (DPKG, "/etc/cron.d/mine", "administrator"), (DPKG, "/var/lib/cloud/instances/i/user-data.txt", "unknown"),
        (DPKG, "/etc/systemd/scripts/iptables.stop", "package"),
        (NO_DPKG, "/etc/systemd/scripts/iptables.stop", "package"), (NO_DPKG, "/etc/cron.d/mine", "unknown"),
        (NO_DPKG, "/etc/systemd/system/fw.service", "administrator"), (NO_DPKG, "/srv/fw", "administrator"),
    ])
def test_owner(manifest, path, owner, tmp_path):
    assert Owners(Host(node_tree.unpack(manifest, tmp_path))).of(path) == owner
