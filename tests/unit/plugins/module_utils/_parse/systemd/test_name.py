# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of systemd units: which names are valid, their parts, and the names under which drop-ins may be stored."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd import name as systemd_name


@pytest.mark.parametrize("name, parts", [
    ("iptables.service", ("iptables", None, "service")),
    ("getty@tty1.service", ("getty", "tty1", "service")),
    ("getty@.service", ("getty", "", "service")),
    ("a@b@c.service", ("a", "b@c", "service")),
    ("dev-disk-by\\x2duuid.device", ("dev-disk-by\\x2duuid", None, "device")),
    ("a.b.timer", ("a.b", None, "timer")),
    ("-.mount", ("-", None, "mount")),
    ("x" * 247 + ".service", ("x" * 247, None, "service")),
])
def test_a_name_has_its_parts(name, parts):
    found = systemd_name.parse_unit_name(name)
    assert (found.prefix, found.instance, found.kind) == parts


@pytest.mark.parametrize("name",
                         ["", "iptables", ".service", "@x.service", "a b.service", "a/b.service", "a.conf",
                          "a.service.d", "a.service\n", "a%i.service", "\u00e4.service", "x" * 248 + ".service"])
def test_what_is_no_name(name):
    assert systemd_name.parse_unit_name(name) is None


def test_an_instance_is_made_from_its_template():
    assert systemd_name.parse_unit_name("getty@tty1.service").template == "getty@.service"
    assert systemd_name.parse_unit_name("getty@.service").template is None
    assert systemd_name.filled_in("getty@.service", "tty2") == "getty@tty2.service"
    assert systemd_name.filled_in("getty@tty1.service", "tty2") == "getty@tty1.service"
    assert systemd_name.filled_in("ssh.service", "tty2") == "ssh.service"


@pytest.mark.parametrize("name, names",
                         [
                             ("foo.service", ["foo.service"]),
                             ("foo-bar-baz.service", ["foo-bar-baz.service", "foo-bar-.service", "foo-.service"]),
                             ("foo-bar-.service", ["foo-bar-.service", "foo-.service"]),
                             ("foo--bar.service", ["foo--bar.service", "foo--.service", "foo-.service"]),
                             ("-foo.service", ["-foo.service"]),
                             ("foo-bar@x-y.service", ["foo-bar@x-y.service", "foo-bar@.service", "foo-.service",
                                                      "foo-@x-y.service", "foo-@.service"]),
                         ])
def test_names_for_drop_ins(name, names):
    assert list(systemd_name.names_for_drop_ins(name)) == names
