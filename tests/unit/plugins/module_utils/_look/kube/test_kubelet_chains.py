# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether kubelet has made its chains: by the rules, the journal and its version."""

import os


from fake_tools import LIVE, unpacked
from kubelet_node import BOOTED, UPTIME, journal, rules, runs, systemd
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kubelet import collect_kubelet


def live(tmp_path, *manifests):
    """The section of a node whose programs are run."""
    return collect_kubelet(unpacked(tmp_path, *manifests), LIVE)


def asked(tmp_path, name):
    path = str(tmp_path / "usr" / "bin" / name)
    if not os.path.exists(path):
        return None
    with open(path) as stream:
        return stream.read().split("\n")[:-1]


def test_only_the_first_minutes_of_this_process_are_looked_through(tmp_path):
    live(tmp_path, runs(age=3600), rules(), systemd(), journal())
    began = BOOTED + UPTIME - 3600
    arguments = asked(tmp_path, "journal-asked")
    assert "--unit=kubelet.service" in arguments and "--no-pager" in arguments
    assert "--since=@%d" % (began - 1) in arguments and "--until=@%d" % (began + 600) in arguments
