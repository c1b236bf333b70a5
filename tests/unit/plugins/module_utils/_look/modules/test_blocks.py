# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stops a module, and in which of the three ways."""

import pytest

import node_tree
from node_manifests import DEBIAN, NETFILTER, kernel, merged, node, running
from node_processes import as_nobody
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.modules.blocks import install_effect
from node_sections import collect_sections

RELEASE = "6.1.0-49-amd64"
ALL = ["load", "autoload", "boot"]
BY_REQUEST = ["autoload", "boot"]
MODULES = {
    "nf_conntrack": ["nf_defrag_ipv4"], "nf_defrag_ipv4": [], "ip_vs": ["nf_conntrack", "nf_defrag_ipv4"],
    "xt_comment": ["x_tables"], "x_tables": [], "br_netfilter": ["bridge"], "bridge": [], "nft_chain_nat": [],
    "other": [],
}


def section(tree, name="ip_vs", **options):
    options.setdefault("place", "live")
    return collect_sections(["kernel_modules"], tree, modules=[name], **options)["node_kernel_modules"]


def row(extra, tmp_path, name="ip_vs", cmdline="ro\n", **fields):
    manifest = merged(DEBIAN, kernel(RELEASE, MODULES, **fields), running(RELEASE, [], cmdline), extra)
    return section(node_tree.unpack(manifest, tmp_path), name)["modules"][0]


def conf(text):
    return {"etc/modprobe.d/a.conf": text}


DIRECTIVES = {
    # text of modprobe.d: (blocked_for, blocked_unclear)
    "blacklist ip_vs": (BY_REQUEST, []),
    "blacklist ip-vs": (BY_REQUEST, []),
    "blacklist ip_v*": ([], []),
    "blacklist nf_conntrack": ([], []),
    "install ip_vs /bin/true": (ALL, []),
    "install ip_vs /bin/false": (ALL, []),
    "install ip-vs /usr/bin/true": (ALL, []),
    "install ip_vs :": (ALL, []),
    "install ip_vs /bin/true # never": (ALL, []),
    "install ip_v* /bin/true": (ALL, []),
    "install ip_vs /bin/true\r": (ALL, []),
    "install ip_vs /usr/local/sbin/decide": ([], ALL),
    "install ip_vs /sbin/modprobe --ignore-install ip_vs && /bin/true": ([], []),
    "install ip_vs /sbin/modprobe -qi ip-vs $CMDLINE_OPTS": ([], []),
    "install ip_vs /sbin/insmod /lib/modules/x/ip_vs.ko": ([], []),
    "install ip_vs /sbin/modprobe --ignore-install other": ([], ALL),
    "install ip_vs /bin/true\ninstall ip_vs /sbin/modprobe -i ip_vs": (ALL, []),
    "install ip_vs /sbin/modprobe -i ip_vs\ninstall ip_vs /bin/true": ([], []),
    "install nf_conntrack /bin/false": (ALL, []),
    "install nf_conntrack /usr/local/sbin/decide": ([], ALL),
    "install nf_defrag_ipv4 /bin/true": (ALL, []),
    "softdep ip_vs pre: other\ninstall ip_vs /bin/true": ([], []),
    "softdep ip_vs pre: nowhere\ninstall ip_vs /bin/true": (ALL, []),
    "options ip_vs conn_tab_bits=12": ([], []),
    "alias balance ip_vs": ([], []),
    "alias ip_vs other": (["load", "boot"], []),
    "alias ip_vs off": (["load", "boot"], []),
    "alias ip_vs off # comment": (["load", "boot"], []),
    "alias ip_v* off": (["load", "boot"], []),
    "alias ip_vs other\nalias ip_vs ip_vs": ([], []),
    "alias net-pf-16-proto-16-family-IPVS off": (["autoload"], []),
    "alias net-pf-16-* off": (["autoload"], []),
    "alias net-pf-16-proto-16-family-IPVS ip_vs": ([], []),
    "alias nf_conntrack off": ([], []),
    "remove ip_vs /bin/false": ([], []),
    "# blacklist ip_vs": ([], []),
    "blacklist ip_vs\r": ([], []),
    "install ip_vs": ([], []),
}


@pytest.mark.parametrize("text", sorted(DIRECTIVES))
def test_directives_of_modprobe_d(text, tmp_path):
    found = row(conf(text + "\n"), tmp_path)
    assert (found["blocked_for"], found["blocked_unclear"]) == DIRECTIVES[text]


def test_a_module_that_is_asked_for_by_its_own_name_is_off_altogether(tmp_path):
    assert row(conf("alias other off\n"), tmp_path, "other")["blocked_for"] == ALL


@pytest.mark.parametrize(
    "line, name", [
        ("alias ipt_comment off", "xt_comment"), ("alias ip6t_comment off", "xt_comment"),
        ("alias nft-chain-2-nat off", "nft_chain_nat"), ("alias nf_conntrack-10 off", "nf_conntrack")])
def test_aliases_the_kernel_asks_by(line, name, tmp_path):
    assert row(conf(line + "\n"), tmp_path, name)["blocked_for"] == ["autoload"]


def test_a_module_with_a_soft_dependency_of_its_own(tmp_path):
    extra = merged(conf("install ip_vs /bin/true\n"),
                   {"lib/modules/%s/modules.softdep" % RELEASE: "softdep ip_vs post: other\n"})
    assert row(extra, tmp_path)["blocked_for"] == []


def test_where_a_block_stands(tmp_path):
    assert row(conf("# one\n\ninstall nf-conntrack \\\n  /bin/true\n"), tmp_path)["blocks"] == [
        {
            "for": ALL, "by": "install", "effect": "blocks", "module": "nf_conntrack", "file": "/etc/modprobe.d/a.conf",
            "line": 3, "text": "install nf-conntrack   /bin/true"}]


def test_a_dependency_that_is_there_is_not_loaded_again(tmp_path):
    extra = merged(conf("install nf_conntrack /bin/true\ninstall nf_defrag_ipv4 /bin/true\n"), {"proc/modules": "".join(
        "%s 1 0 - Live 0x0\n" % name for name in ("nf_conntrack", "nf_defrag_ipv4"))})
    assert row(extra, tmp_path)["blocked_for"] == []


def test_what_is_built_in_cannot_be_stopped(tmp_path):
    found = row(conf("blacklist bridge_x\ninstall bridge_x /bin/true\n"), tmp_path, "bridge_x", builtin=["bridge_x"])
    assert (found["state"], found["blocked_for"], found["at_boot"]) == ("builtin", [], "builtin")


@pytest.mark.parametrize("cmdline, ways, by", [
    ("module_blacklist=a,ip-vs", ALL, "module_blacklist"),
    ("module-blacklist=ip_vs", ALL, "module_blacklist"),
    ("module_blacklist=nf_conntrack", ALL, "module_blacklist"),
    ("modprobe.blacklist=ip_vs,b", BY_REQUEST, "modprobe.blacklist"),
    ("modprobe.blacklist=a modprobe.blacklist=ip_vs", BY_REQUEST, "modprobe.blacklist"),
    ("modprobe.blacklist=nf_conntrack", [], None),
    ("modprobe.blacklist=ip_vs_rr", [], None),
    ("quiet -- module_blacklist=ip_vs", [], None),
    ('"module_blacklist=ip_vs"', ALL, "module_blacklist"),
])
def test_the_command_line(cmdline, ways, by, tmp_path):
    found = row({}, tmp_path, cmdline=cmdline + "\n")
    assert found["blocked_for"] == ways
    assert [block["by"] for block in found["blocks"]] == ([by] if by else [])


@pytest.mark.parametrize(
    "extra, cmdline, load, autoload, ways, by", [
        ({"proc/sys/kernel/modules_disabled": "1\n"}, "", "forbidden", "forbidden", ["load", "autoload"],
         ["modules_disabled"]),
        ({"proc/sys/kernel/modprobe": "\n"}, "", "allowed", "forbidden", ["autoload"], ["kernel_modprobe"]),
        ({}, "nomodule\n", "forbidden", "forbidden", ALL, ["nomodule"]),
        ({}, "-- nomodule\n", "allowed", "allowed", [], []),
    ])
def test_switches_for_all_modules(extra, cmdline, load, autoload, ways, by, tmp_path):
    manifest = merged(DEBIAN, kernel(RELEASE, MODULES), running(RELEASE, [], cmdline), extra)
    found = section(node_tree.unpack(manifest, tmp_path))
    assert (found["loading"]["load"], found["loading"]["autoload"]) == (load, autoload)
    assert [reason["by"] for reason in found["loading"]["because"]] == by
    assert found["modules"][0]["blocked_for"] == ways and found["modules"][0]["blocks"] == []


SIGNED = b"\x7fELF code~Module signature appended~\n"


@pytest.mark.parametrize("switch",
                         [
                             {"sys/module/module/parameters/sig_enforce": "Y\n"},
                             {"sys/kernel/security/lockdown": "none [integrity] confidentiality\n"},
                             {"sys/kernel/security/lockdown": "none integrity [confidentiality]\n"}])
@pytest.mark.parametrize("suffix, content, ways, unclear", [
    (".ko", SIGNED, [], []), (".ko", b"\x7fELF code", ALL, []), (".ko.zst", b"\x28\xb5\x2f\xfd", [], ALL)])
def test_enforced_signatures(switch, suffix, content, ways, unclear, tmp_path):
    extra = merged(switch, {"lib/modules/%s/%s/other%s" % (RELEASE, NETFILTER, suffix): content})
    found = row(extra, tmp_path, "other", suffix=suffix)
    assert (found["blocked_for"], found["blocked_unclear"]) == (ways, unclear)


@pytest.mark.parametrize("switch",
                         [
                             {"sys/module/module/parameters/sig_enforce": "N\n"},
                             {"sys/kernel/security/lockdown": "[none] integrity confidentiality\n"}])
def test_signatures_that_are_not_enforced(switch, tmp_path):
    assert row(switch, tmp_path, "other")["blocked_for"] == []


DIRECTORIES = ["etc", "run", "usr/local/lib", "usr/lib", "lib"]
STOP = "install ip_vs /bin/true\n"


@pytest.mark.parametrize("folder", DIRECTORIES)
def test_every_directory_counts(folder, tmp_path):
    assert row({folder + "/modprobe.d/x.conf": STOP}, tmp_path)["blocks"][0]["file"] == "/%s/modprobe.d/x.conf" % folder


@pytest.mark.parametrize("higher, lower", list(zip(DIRECTORIES, DIRECTORIES[1:])))
@pytest.mark.parametrize("mask",
                         [
                             "", "# lifted\n", node_tree.MASKED, node_tree.link("../../../../dev/null"),
                             node_tree.link("to-null"), node_tree.link("nowhere.conf")])
def test_the_same_base_name_higher_up_hides(higher, lower, mask, tmp_path):
    extra = {lower + "/modprobe.d/x.conf": STOP, higher + "/modprobe.d/x.conf": mask,
             higher + "/modprobe.d/to-null": node_tree.MASKED}
    found = row(extra, tmp_path)
    assert (found["blocked_for"], found["blocked_unclear"]) == ([], [])


@pytest.mark.parametrize("name", ["x.conf~", ".x.conf", "x.CONF", "conf", "x.conf.dpkg-old", "x"])
def test_files_that_kmod_does_not_read(name, tmp_path):
    assert row({"etc/modprobe.d/" + name: STOP}, tmp_path)["blocked_for"] == []


def test_a_directory_hides_nothing(tmp_path):
    found = row({"etc/modprobe.d/x.conf/y": "", "usr/lib/modprobe.d/x.conf": STOP}, tmp_path)
    assert (found["blocked_for"], found["blocked_unclear"]) == (ALL, [])


def test_files_are_read_by_base_name(tmp_path):
    extra = {"etc/modprobe.d/b.conf": "install ip_vs /sbin/modprobe -i ip_vs\n", "usr/lib/modprobe.d/a.conf": STOP}
    assert row(extra, tmp_path)["blocked_for"] == ALL


def test_one_tree_under_two_names_is_read_once(tmp_path):
    found = row({"lib64": "", "usr/lib/modprobe.d/x.conf": STOP,
                 "etc/modprobe.d": node_tree.link("/usr/lib/modprobe.d")}, tmp_path)
    assert [block["file"] for block in found["blocks"]] == ["/etc/modprobe.d/x.conf"]


@pytest.mark.parametrize("text", [b"\xff\xfe\x00garbage\n\x00\n", "nonsense\n" * 500])
def test_garbage_is_counted_and_does_not_hide_what_follows(text, tmp_path):
    extra = {"etc/modprobe.d/a.conf": text, "etc/modprobe.d/b.conf": STOP}
    manifest = merged(node(modules=MODULES), extra)
    found = section(node_tree.unpack(manifest, tmp_path))
    assert found["modules"][0]["blocked_for"] == ALL
    assert found["unreadable_count"] == len(text.split(b"\n" if isinstance(text, bytes) else "\n")) - 1
    assert 0 < len(found["unreadable"]) <= 20


@pytest.mark.parametrize("content", [node_tree.FIFO, node_tree.sparse(10 * 1024 ** 3), "x" * (4 * 1024 * 1024 + 1)])
def test_what_cannot_be_read_may_say_anything(content, tmp_path):
    found = row({"etc/modprobe.d/a.conf": content}, tmp_path)
    assert (found["blocked_for"], found["blocked_unclear"]) == ([], ALL)
    assert found["blocks"][0]["file"] == "/etc/modprobe.d/a.conf"


@pytest.mark.parametrize("closed", ["etc/modprobe.d/a.conf", "etc/modprobe.d"])
def test_what_may_not_be_read_may_say_anything(closed):
    folder = node_tree.open_folder()
    manifest = node(modules=MODULES, extra={"etc/modprobe.d/a.conf": STOP})
    manifest[closed] = node_tree.mode(0o000, manifest.get(closed, node_tree.DIRECTORY))
    node_tree.unpack(manifest, folder)
    found = as_nobody(lambda: section(folder))
    assert (found["collected"]["modprobe_conf"], found["unreadable_count"]) == ("denied", 0)
    assert found["modules"][0]["blocked_unclear"] == ALL


@pytest.mark.parametrize(
    "command, effect", [
        ("/bin/true", "blocks"), ("true", "blocks"), ("/usr/bin/false", "blocks"), ("exec /bin/true", "blocks"),
        ("exit 0", "blocks"), ("echo denied", "blocks"), ("'/bin/true'", "blocks"), ("/dev/null", "blocks"),
        ("/sbin/modprobe --ignore-install ip_vs", None),
        ("modprobe nf_conntrack; modprobe -i ip_vs $CMDLINE_OPTS", None),
        ("/sbin/modprobe -i ip-vs && { modprobe other; :; }", None), ("insmod /x/ip-vs.ko.xz", None),
        ("/sbin/modprobe ip_vs", "unclear"), ("/bin/true; modprobe -i other", "unclear"),
        ("/bin/true || modprobe -i ip_vs", "unclear"), ("/bin/true # modprobe -i ip_vs", "blocks"),
        ("modprobe -n -i ip_vs", "unclear"), ("echo $(modprobe -i ip_vs)", "unclear"),
        ("echo `modprobe -i ip_vs`", "unclear"), ("/opt/true-ish", "unclear"), ("/bin/truex", "unclear"),
        ("", "unclear"),
    ])
def test_what_an_install_command_does(command, effect):
    assert install_effect("ip_vs", command) == effect
