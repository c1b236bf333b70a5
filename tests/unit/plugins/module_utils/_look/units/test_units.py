# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of trees: the running systemd, how little is read, and drop-ins that are tried out; the rest is in
tests/looks/units."""


import pytest
import fake_tools
import node_processes
import node_tree
import unit_trees
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import TEXT_LIMIT, Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units import order
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


def test_where_another_init_runs_no_unit_is_active(tmp_path):
    node = fake_tools.unpacked(tmp_path, {VENDOR + "a.service": SERVICE, "usr/bin/systemctl": fake_tools.script(SHOW)})
    assert Units(node, fake_tools.LIVE).running(["a.service"]) == {"a.service": ("inactive", None)}
    assert node.ran == []


def test_nobody_is_asked_about_an_image(tmp_path):
    node = fake_tools.unpacked(tmp_path, {"usr/bin/systemctl": fake_tools.script(SHOW)})
    assert Units(node, IMAGE).running(["a.service"]) == {}
    assert Units(node, fake_tools.LIVE).running([]) == {}
    assert node.ran == []


# The order of units with drop-ins that are tried out.

BOOT = {VENDOR + name: text for name, text in unit_trees.BOOT.items()}
BOOT[VENDOR + "default.target"] = node_tree.link("multi-user.target")
BOOT[VENDOR + "network-online.target"] = "[Unit]\nAfter=network.target\n"
KUBELET = "[Unit]\nWants=network-online.target\nAfter=network-online.target\n[Service]\nExecStart=/usr/bin/kubelet\n"
IPTABLES = "[Service]\nType=oneshot\nExecStart=/sbin/restore\nExecStop=/sbin/flush\n[Unit]\n"
# The unit that sets up the network pulls in network.target; otherwise `network.target` orders nothing.
NETWORK = {VENDOR + "networking.service": "[Service]\nExecStart=/sbin/ifup\n[Unit]\nAfter=network-pre.target\n"
                                          "Before=network.target\nWants=network.target\n",
           ETC + "multi-user.target.wants/networking.service": node_tree.link("../networking.service")}
WANTED = {VENDOR + "kubelet.service": KUBELET,
          ETC + "multi-user.target.wants/kubelet.service": node_tree.link("/usr/lib/systemd/system/kubelet.service")}
ENABLED = {ETC + "multi-user.target.wants/iptables.service": node_tree.link("/usr/lib/systemd/system/iptables.service")}


@pytest.fixture
def booted(tmp_path):
    def made(*manifests):
        return Units(Host(node_tree.unpack(node_tree.merged(BOOT, NETWORK, *manifests), tmp_path)), {"place": "image"})
    return made


def test_a_drop_in_is_tried_out(booted):
    found = booted(WANTED, ENABLED, {VENDOR + name + ".service": IPTABLES for name in ("iptables", "t@", "u")})
    no_stop = "[Service]\nExecStop=\n"
    tried = found.with_drop_ins({"iptables.service": no_stop + "[Unit]\nBefore=kubelet.service\n",
                                 "t@.service": no_stop})
    assert [line.key for line in tried.unit("iptables.service").exec_lines()] == ["ExecStart"]
    assert [line.key for line in tried.unit("t@x.service").exec_lines()] == ["ExecStart"]
    assert tried.unit("u.service").values("Service", "ExecStop")
    assert order.ordered_before(tried, "iptables.service", "kubelet.service")
    assert [line.key for line in found.unit("iptables.service").exec_lines()] == ["ExecStart", "ExecStop"]
    assert not order.ordered_before(found, "iptables.service", "kubelet.service")


@cases
def test_cycles(booted, drop_ins, expected):
    found = booted(WANTED, ENABLED, {VENDOR + "iptables.service": IPTABLES, VENDOR + "t@.service": IPTABLES})
    cycle = order.cycle_with(found, drop_ins)
    assert sorted(set(cycle)) == sorted(set(expected)) or set(cycle) < set(expected)
    assert bool(cycle) == bool(expected)
    changed = found.with_drop_ins(drop_ins)
    assert all(order.ordered_before(changed, earlier, later) for earlier, later in zip(cycle, cycle[1:]))
