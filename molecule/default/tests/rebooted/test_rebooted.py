# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After hardening and a reboot: a new kernel start, and everything is there again."""

OWN = "etc/modules-load.d/kubenode-netfilter.conf"


def test_it_was_the_wanted_kernel(host):
    wanted = host.ansible.get_variables()["testbed_kernel"]
    assert host.check_output("uname -r").startswith(wanted + ".")


def test_every_listed_module_is_loaded(host, snapshot):
    listed = [line for line in host.file("/" + OWN).content_string.splitlines() if line and not line.startswith("#")]
    assert len(listed) > 10
    assert set(listed) <= set(snapshot("rebooted")["modules"])


def test_the_boot_had_no_failed_unit(host):
    assert host.check_output("systemctl is-system-running || true") == "running"


def test_nothing_fails_any_more(findings, node):
    # The file of an optional module is still gone on node72, which is told and harms nothing.
    assert set(findings("rebooted", "fail")) == ({("KMOD016", "xt_REDIRECT")} if node == "node72" else set())
    assert not findings("rebooted", "unknown")


def test_the_reboot_and_the_check_changed_no_file(snapshot):
    before, after = snapshot("hardened")["files"], snapshot("rebooted")["files"]
    assert {path: after.get(path) for path in before if path.startswith("etc/")} == {
        path: entry for path, entry in before.items() if path.startswith("etc/")}
