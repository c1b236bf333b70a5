# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of fixture trees: masks, links, drop-ins and files that do harm, in images as on a node, and how little is read
for an answer."""

import os

import pytest

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


@pytest.mark.parametrize("mask", [
    {ETC + "a.service": node_tree.MASKED},
    {ETC + "a.service": ""},
    {RUN + "a.service": node_tree.link("../../../opt/empty"), "opt/empty": ""},
    {ETC + "a.service": node_tree.link("/opt/link"), "opt/link": node_tree.MASKED},
], ids=["null", "empty", "link to empty", "link to link to null"])
def test_masks_count_in_an_image_without_devices(units, mask):
    found = units({VENDOR + "a.service": SERVICE, VENDOR + "default.target": "[Unit]\nWants=a.service\n"}, mask)
    assert not os.path.exists(found._host.root + "/dev/null")
    assert found.unit("a.service").masked
    assert found.unit("a.service").exec_lines() == []
    assert found.starts_at_boot("a.service") is False
    assert found.state("a.service") == ("masked-runtime"
                                        if RUN + "a.service" in mask and "opt/empty" not in mask else "masked")


@pytest.mark.parametrize("target", ["/opt/a.service", "../../../opt/a.service"])
def test_a_linked_unit_lies_in_the_tree(units, target):
    found = units({ETC + "a.service": node_tree.link(target), "opt/a.service": SERVICE,
                   ETC + "a.service.d/x.conf": "[Service]\nExecStop=\n"})
    assert found.unit("a.service").path == "/" + ETC + "a.service"
    assert [line.key for line in found.unit("a.service").exec_lines()] == ["ExecStart"]
    assert found.state("a.service") == "linked"
    assert found.names() == ["a.service"]


def test_other_names_lead_to_one_unit(units):
    found = units(
        {
            VENDOR + "a.service": SERVICE, ETC + "b.service": node_tree.link("/usr/lib/systemd/system/a.service"),
            ETC + "b.service.d/x.conf": "[Service]\nExecStop=\n", VENDOR + "t@.service": SERVICE,
            VENDOR + "u@.service": node_tree.link("t@.service"), ETC + "a.target.wants/u@one.service": node_tree.link(
                "../u@.service"), ETC + "t@one.service.d/x.conf": "[Service]\nExecReload=/bin/%i\n"})
    assert found.unit("b.service") is found.unit("a.service")
    assert (found.unit("b.service").name, found.unit("b.service").aliases) == ("a.service", ["b.service"])
    assert found.unit("a.service").values("Service", "ExecStop") == []
    assert found.state("b.service") == "alias"
    instance = found.unit("u@one.service")
    assert (instance.name, instance.path,
            instance.aliases) == ("t@one.service", "/" + VENDOR + "t@.service", ["u@one.service"])
    assert [line.argv() for line in instance.exec_lines() if line.key == "ExecReload"] == [["/bin/one"]]
    assert found.unit("t@.service").values("Service", "ExecReload") == []
    assert found.names() == ["a.service", "t@.service", "t@one.service"]


@pytest.mark.parametrize("manifest", [
    {ETC + "a.service": node_tree.link("a.service")},
    {ETC + "a.service": node_tree.link("b.service"), ETC + "b.service": node_tree.link("a.service")},
    {ETC + "a.service": node_tree.link("/opt/loop"), "opt/loop": node_tree.link("loop")},
    {ETC + "a.service": node_tree.link("/gone")},
    {ETC + "a.service": node_tree.link("b.socket")},
    {ETC + "a.service": node_tree.DIRECTORY},
    {"%sc%d.service" % (ETC, number): node_tree.link("c%d.service" % (number + 1)) for number in range(20)},
    {ETC + "a.service.d/x.conf": SERVICE},
], ids=["itself", "two", "loop outside", "nowhere", "another type", "directory", "too many", "drop-in only"])
def test_what_is_no_unit(units, manifest):
    found = units(manifest)
    for name in ("a.service", "c0.service"):
        assert found.unit(name) is None
        assert found.state(name) is None
        assert found.starts_at_boot(name) in (None, False)
    assert found.names() == []


def test_a_wrong_link_does_not_hide_the_unit(units):
    found = units({ETC + "a.service": node_tree.link("b.socket"), RUN + "a.service": node_tree.DIRECTORY,
                   VENDOR + "a.service": SERVICE})
    assert found.unit("a.service").path == "/" + VENDOR + "a.service"


def test_files_that_do_harm_are_told(units):
    found = units(
        {
            VENDOR + "fifo.service": node_tree.FIFO, VENDOR + "huge.service": node_tree.sparse(TEXT_LIMIT + 1),
            VENDOR + "binary.service": bytes(bytearray(range(256))) * 64, VENDOR + "a.service": SERVICE,
            ETC + "a.service.d/1.conf": node_tree.FIFO, ETC + "a.service.d/2.conf": node_tree.sparse(TEXT_LIMIT + 1),
            ETC + "a.service.d/3.conf": node_tree.link("/gone"),
            ETC + "a.service.d/4.conf": b"[Service]\nExecStop=\n\xff\nExecStart=\n",
            ETC + "a.service.d/5.conf": node_tree.link("5.conf")})
    for name in ("fifo", "huge"):
        unit = found.unit(name + ".service")
        assert (unit.unread, unit.exec_lines()) == ([("/%s%s.service" % (VENDOR, name), "unparsed")], [])
    assert found.unit("binary.service").refused
    unit = found.unit("a.service")
    assert unit.unread == [("/%sa.service.d/%d.conf" % (ETC, number), "unparsed") for number in (1, 2)]
    assert unit.broken == [("/%sa.service.d/4.conf" % ETC, 3)] and not unit.refused
    assert [line.key for line in unit.exec_lines()] == ["ExecStart"]


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


@pytest.mark.parametrize("merged", [True, False])
def test_lib_may_be_usr_lib(units, merged):
    old = "lib/systemd/system/"
    found = units({"lib": node_tree.link("usr/lib")}
                  if merged else {old + "a.service": SERVICE, old + "b.service": node_tree.link("a.service")},
                  {VENDOR + "a.service": SERVICE.replace("/usr/sbin/stop", "/bin/other"),
                   ETC + "c.service": node_tree.link("/lib/systemd/system/a.service")})
    assert found.unit("a.service").path == "/" + (VENDOR if merged else old) + "a.service"
    assert found.unit("c.service") is found.unit("a.service")
    assert [line.text
            for line in found.unit("a.service").exec_lines()][1] == ("/bin/other" if merged else "/usr/sbin/stop")


def test_sockets_run_commands_too(units):
    found = units({VENDOR + "a.socket": "[Socket]\nListenStream=1\nExecStartPre=/bin/a\n[Service]\n"
                                        "ExecStart=/bin/not\n"})
    assert [line.text for line in found.unit("a.socket").exec_lines()] == ["/bin/a"]


def test_escaped_names(units):
    found = units({VENDOR + "a\\x2db-c.service": SERVICE,
                   ETC + "a\\x2db-.service.d/x.conf": "[Service]\nExecStop=/bin/%j %P\n"})
    assert found.names() == ["a\\x2db-c.service"]
    assert found.unit("a\\x2db-c.service").exec_lines()[-1].argv() == ["/bin/c", "a-b/c"]


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


def test_a_tree_without_systemd(units):
    found = units({"etc/hostname": "node\n"})
    assert (found.status, found.names(), found.unit("a.service"),
            found.state("a.service")) == ("absent", [], None, None)
    assert found.starts_at_boot("a.service") is None


SHOW = """test "$1 $2 $3" = "show --property=ActiveState --" || exit 9
shift 3
for unit in "$@"; do case $unit in a.service) echo ActiveState=active;; *) echo ActiveState=inactive;; esac; echo; done"""


@pytest.mark.parametrize("script, expected", [
    (SHOW, {"a.service": "active", "b.service": "inactive"}),
    ("echo ActiveState=active", {}),
    ("exit 1", {}),
    (None, {}),
])
def test_the_running_systemd_is_asked_once(tmp_path, script, expected):
    node = fake_tools.unpacked(tmp_path, {VENDOR + "a.service": SERVICE, RUN + ".keep": ""},
                               {"usr/bin/systemctl": fake_tools.script(script)} if script else {})
    assert Units(node,
                 fake_tools.LIVE).active(["a.service", "b.service", "t@.service", "--help", "no name"]) == expected
    assert len(node.ran) == (1 if script else 0)


def test_where_another_init_runs_no_unit_is_active(tmp_path):
    node = fake_tools.unpacked(tmp_path, {VENDOR + "a.service": SERVICE, "usr/bin/systemctl": fake_tools.script(SHOW)})
    assert Units(node, fake_tools.LIVE).active(["a.service"]) == {"a.service": "inactive"} and node.ran == []


def test_nobody_is_asked_about_an_image(tmp_path):
    node = fake_tools.unpacked(tmp_path, {"usr/bin/systemctl": fake_tools.script(SHOW)})
    assert Units(node, IMAGE).active(["a.service"]) == {}
    assert Units(node, fake_tools.LIVE).active([]) == {}
    assert node.ran == []
