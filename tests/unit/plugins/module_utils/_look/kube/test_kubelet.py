# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kubelet."""

import os

import pytest
import node_tree
from fake_tools import LIVE, script, unpacked
from kubelet_node import BOOTED, CONFIG, UPTIME, journal, rules, runs, said, systemd
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kubelet import collect_kubelet


def live(tmp_path, *manifests):
    """The section of a node whose programs are run."""
    return collect_kubelet(unpacked(tmp_path, *manifests), LIVE)


@pytest.mark.parametrize("exe",
                         ["/home/mallory/kubelet", "/tmp/kubelet", "/usr/bin/passwd",
                          "/var/lib/rancher/rke2/data/x/bin/containerd", "/var/lib/rancher/../../home/mallory/kubelet"])
def test_a_program_of_somebody_who_calls_himself_kubelet_is_not_run(exe, tmp_path):
    section = live(tmp_path, runs(exe=exe), rules(), {exe[1:]: script('touch "$0.was-run"; echo Kubernetes v6.6.6')})
    assert (section["version"] == "1.30.2"
            and section["version_doubt"] == "kubelet runs from %s, which is not run for its version" % exe)
    assert not os.path.exists(str(tmp_path) + os.path.normpath(exe) + ".was-run")


@pytest.mark.parametrize(
    "arguments, files, chains", [
        ((), {"d/a.conf": CONFIG + "makeIPTablesUtilChains: !x false\n"}, None),
        ((), {"d/a.conf": node_tree.FIFO}, None), ((), {"d": None}, None), ((), {"d": node_tree.FIFO}, None),
        # A later file, or a flag, still overrides it.
        ((), {"d/a.conf": "a: !x b\n", "d/b.conf": CONFIG + "makeIPTablesUtilChains: false\n"}, False),
        (("--make-iptables-util-chains=false",), {"d/a.conf": "a: !x b\n"}, False),
        ((), {"d/%02d.conf" % number: CONFIG for number in range(60)}, None)])
def test_what_stands_ahead_of_a_drop_in_that_cannot_be_read_is_not_known(arguments, files, chains, tmp_path):
    section = live(tmp_path, runs(arguments=("--config=/c", "--config-dir=/d") + arguments), rules(),
                   {"c": CONFIG + "makeIPTablesUtilChains: true\n"},
                   files)
    assert section["collected"]["config"] not in ("ok", None)
    assert (section["settings"]["make_iptables_util_chains"], section["initialisation"]["expected"]) == (chains, chains)


def test_secrets_stay_where_they_are(tmp_path):
    secret = "s3cr3tt0k3n"
    section = live(tmp_path, runs("k3s-server", "k3s.service", ("--token=" + secret,)), rules(), systemd(),
                   journal(said("ipv4", True) + " " + secret), {
                       "etc/rancher/k3s/config.yaml": "token: %s\nkubelet-arg:\n  - config=/c\n  - bootstrap-token=%s\n"
                       % (secret, secret),
                       "c": CONFIG + "staticPodURLHeader:\n  Authorization: [%s]\nhairpinMode: %s\n"
                       % (secret, secret)})
    assert section["initialisation"]["families"][0]["log_line"] and secret not in repr(section)


def test_only_the_first_minutes_of_this_process_are_looked_through(tmp_path):
    live(tmp_path, runs(age=3600), rules(), systemd(), journal())
    began = BOOTED + UPTIME - 3600
    arguments = (tmp_path / "usr/bin/journal-asked").read_text().splitlines()
    assert "--unit=kubelet.service" in arguments and "--no-pager" in arguments
    assert "--since=@%d" % (began - 1) in arguments and "--until=@%d" % (began + 600) in arguments
