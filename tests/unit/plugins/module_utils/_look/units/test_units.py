# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of trees: drop-ins, the running systemd, and how little is read; the rest is in tests/looks/units."""

import time

import pytest

from case_rows import cases
import fake_tools
import node_processes
import node_tree
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host, TEXT_LIMIT
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units.units import Units

ETC, RUN, VENDOR = "etc/systemd/system/", "run/systemd/system/", "usr/lib/systemd/system/"
SERVICE = ("[Unit]\nBefore=network-pre.target\n[Service]\nType=oneshot\nExecStart=/usr/sbin/start it\n"
           "ExecStop=/usr/sbin/stop\n" "[Install]\nWantedBy=a.target\n")
IMAGE = {"place": "image"}


class CountingHost(Host):
    """Knows what was read and listed."""

    def __init__(self, root):
        super(CountingHost, self).__init__(root)
        self.read, self.listed = [], []

    def read_bytes(self, path, limit=TEXT_LIMIT):
        self.read.append(path)
        return super(CountingHost, self).read_bytes(path, limit)

    def list_dir(self, path):
        self.listed.append(path)
        return super(CountingHost, self).list_dir(path)


@pytest.fixture
def units(tmp_path):
    def made(*manifests):
        return Units(CountingHost(node_tree.unpack(node_tree.merged(*manifests), tmp_path)), IMAGE)
    return made


def commands(unit):
    return [(line.key, line.prefixes + line.text, line.path, line.line) for line in unit.exec_lines()]


def test_a_unit_and_its_drop_ins(units):
    found = units(
        {
            VENDOR + "a-b.service": SERVICE,
            VENDOR + "service.d/20-all.conf": "[Service]\nExecStartPre=-/bin/true\n",
            VENDOR + "a-.service.d/10.conf": "[Service]\nExecStop=/lost\n",
            ETC + "a-b.service.d/10.conf": "# ours\n[Service]\nExecStop=\nExecStop=/usr/sbin/stop \\\n  gently ; "
                                           "/bin/sync\n[Unit]\nBefore=b.target\n",
        }).unit("a-b.service")
    assert (found.name, found.path, found.masked,
            found.refused) == ("a-b.service", "/" + VENDOR + "a-b.service", False, False)
    ours, all_services = "/%sa-b.service.d/10.conf" % ETC, "/%sservice.d/20-all.conf" % VENDOR
    assert found.drop_ins == [ours, all_services]
    assert commands(found) == [
        ("ExecStartPre", "-/bin/true", all_services, 2), ("ExecStart", "/usr/sbin/start it", found.path, 5),
        ("ExecStop", "/usr/sbin/stop    gently", ours, 4), ("ExecStop", "/bin/sync", ours, 4)]
    assert found.exec_lines()[2].argv() == ["/usr/sbin/stop", "gently"]
    assert [tuple(value) for value in found.values("Unit", "Before")] == [("network-pre.target", found.path, 2),
                                                                          ("b.target", ours, 7)]
    assert found.words("Unit", "Before") == ["network-pre.target", "b.target"]
    assert found.last("Service", "Type") == "oneshot"
    assert found.values("Service", "ExecReload") == []


@node_processes.needs_root
def test_what_may_not_be_read_is_no_answer():
    top = node_tree.open_folder()
    root = node_tree.unpack(
        {
            VENDOR + "default.target": "[Unit]\nWants=a.service\n",
            VENDOR + "a.service": node_tree.mode(0o000, SERVICE), VENDOR + "b.service": SERVICE,
            VENDOR + "b.service.d": node_tree.mode(0o000, node_tree.DIRECTORY)}, top)

    def look():
        found = Units(Host(root), IMAGE)
        return (found.unit("a.service").unread, found.unit("b.service").unread, found.starts_at_boot("a.service"),
                found.starts_at_boot("b.service"))
    assert node_processes.as_nobody(look) == [
        [["/%sa.service" % VENDOR, "denied"]], [["/%sb.service.d" % VENDOR, "denied"]], True, None]


def test_one_answer_reads_few_files(units):
    found = units({"%su%d.service" % (VENDOR, number): SERVICE for number in range(400)},
                  {ETC + "u7.service.d/x.conf": "[Unit]\n"})
    assert found.unit("u7.service").exec_lines()
    assert found.state("u7.service") == "disabled"
    assert sorted(found._host.read) == ["/%su7.service.d/x.conf" % ETC, "/%su7.service" % VENDOR]
    for name in found.names():
        found.unit(name).exec_lines()
        found.starts_at_boot(name)
        found.activated_by(name)
    assert len(found._host.read) == len(set(found._host.read)) == 401
    assert len(found._host.listed) == len(set(found._host.listed))


SHOW = """test "$1 $2 $3" = "show --property=ActiveState,StateChangeTimestampMonotonic --" || exit 9
shift 3
for unit in "$@"; do case $unit in a.service) echo ActiveState=active;; *) echo ActiveState=inactive;; esac; echo; done"""


@cases
def test_the_running_systemd_is_asked_once(tmp_path, script, expected):
    node = fake_tools.unpacked(tmp_path, {VENDOR + "a.service": SERVICE, RUN + ".keep": ""},
                               {"usr/bin/systemctl": fake_tools.script(script)} if script else {})
    found = Units(node, fake_tools.LIVE).running(["a.service", "b.service", "t@.service", "--help", "no name"])
    assert {name: unit.state for name, unit in found.items()} == expected
    assert len(node.ran) == (1 if script else 0)


def test_systemd_tells_since_when_a_unit_has_its_state(tmp_path):
    show = """cat <<ANSWER
StateChangeTimestampMonotonic=%d
ActiveState=active

ActiveState=inactive
StateChangeTimestampMonotonic=0
ANSWER""" % (1e6 * (time.monotonic() - 90))
    node = fake_tools.unpacked(
        tmp_path, {VENDOR + "a.service": SERVICE, VENDOR + "b.service": SERVICE, RUN + ".keep": ""},
        {"usr/bin/systemctl": fake_tools.script(show)})
    found = Units(node, fake_tools.LIVE).running(["a.service", "b.service"])
    assert found["b.service"] == ("inactive", None)
    assert found["a.service"].state == "active" and found["a.service"].seconds >= 90


def test_where_another_init_runs_no_unit_is_active(tmp_path):
    node = fake_tools.unpacked(tmp_path, {VENDOR + "a.service": SERVICE, "usr/bin/systemctl": fake_tools.script(SHOW)})
    assert Units(node, fake_tools.LIVE).running(["a.service"]) == {"a.service": ("inactive", None)}
    assert node.ran == []


def test_nobody_is_asked_about_an_image(tmp_path):
    node = fake_tools.unpacked(tmp_path, {"usr/bin/systemctl": fake_tools.script(SHOW)})
    assert Units(node, IMAGE).running(["a.service"]) == {}
    assert Units(node, fake_tools.LIVE).running([]) == {}
    assert node.ran == []
