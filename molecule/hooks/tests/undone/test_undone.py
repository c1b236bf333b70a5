# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Undo puts every file back byte for byte."""

import pathlib

SCRIPT = "/usr/local/sbin/maintain-node"
UNIT = "/usr/lib/systemd/system/iptables.service"
FILES = pathlib.Path(__file__).resolve().parents[2] / "files" / "node"


def test_all_files_are_byte_for_byte_as_before(snapshot):
    hit, undone = ({path: row[:4] for path, row in snapshot(label)["files"].items()} for label in ("hit", "undone"))
    assert undone == hit


def test_so_are_those_outside_of_etc(host):
    for path in (SCRIPT, UNIT):
        assert host.file(path).content == (FILES / path.rpartition("/")[2]).read_bytes()
    assert host.file(SCRIPT).mode == 0o750


def test_the_unit_has_no_drop_in_any_more(host):
    assert host.run("systemctl show --property=DropInPaths --value iptables.service").stdout.strip() == ""


def test_the_service_was_neither_stopped_nor_restarted_by_the_undo(host):
    assert host.run("systemctl is-active iptables.service").stdout.strip() == "active"
