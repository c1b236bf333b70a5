# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which form a kernel has a module: every state with every kind of evidence, over trees."""

import os

import pytest

import node_tree
from node_manifests import DEBIAN, NETFILTER, RHEL10, WHOLE, kernel, merged, node, running
from node_processes import as_nobody
from node_sections import collect_sections

R61, R612, R72 = "6.1.0-49-amd64", "6.12.9-1-amd64", "7.2.13-amd64"
EL10 = "6.12.0-55.el10.x86_64"
FRAGMENT = "CONFIG_NF_CONNTRACK=m\n"
OFF = WHOLE.replace("CONFIG_MODULES=y", "# CONFIG_MODULES is not set")


def look(tree, name, **options):
    options.setdefault("place", "live")
    return collect_sections(["kernel_modules"], tree, modules=[name], **options)["node_kernel_modules"]


def verdict(manifest, name, tmp_path, **options):
    row = look(node_tree.unpack(manifest, tmp_path), name, **options)["modules"][0]
    return row["state"], row["cause"], row["module"]


TREE = "lib/modules/%s/" % R61
CASES = {
    # loaded
    "loaded": (node(loaded=["ip_vs"], modules=["ip_vs"]), "ip_vs", "loaded", "proc_modules"),
    "loaded, asked with a hyphen": (node(loaded=["ip_vs"]), "ip-vs", "loaded", "proc_modules"),
    "loaded, not in the tree": (node(loaded=["ip_vs"], modules=["other"]), "ip_vs", "loaded", "proc_modules"),
    "loaded, the tree is gone": (merged(DEBIAN, running(R61, ["ip_vs"]), kernel(R612, ["ip_vs"])), "ip_vs", "loaded",
                                 "proc_modules"),
    "still loading": (node(loaded={"ip_vs": "Loading"}, modules=["ip_vs"]), "ip_vs", "loadable", "in_index"),
    "unloading": (node(loaded={"ip_vs": "Unloading"}, modules=["ip_vs"]), "ip_vs", "loadable", "in_index"),
    "loading and nowhere else": (node(loaded={"ip_vs": "Loading"}, modules=["other"]), "ip_vs", "absent",
                                 "not_in_index"),
    # builtin
    "builtin, listed": (node(builtin=["bridge"]), "bridge", "builtin", "modules_builtin"),
    "builtin, listed with a hyphen": (node(builtin=["crc32c-generic"]), "crc32c_generic", "builtin", "modules_builtin"),
    "builtin by /sys/module": (node(extra={"sys/module/nf_conntrack/parameters/hashsize": "1\n"}), "nf_conntrack",
                               "builtin", "sys_module"),
    "/sys/module of a module proves nothing": (node(extra={"sys/module/ip_vs/initstate": "live\n"}), "ip_vs", "absent",
                                               "not_in_index"),
    "builtin by config": (node(config=WHOLE + "CONFIG_IP_VS=y\n"), "ip_vs", "builtin", "kernel_config"),
    "builtin by a fragment": (node(config="CONFIG_IP_VS=y\n"), "ip_vs", "builtin", "kernel_config"),
    "builtin by config of another symbol": (node(config="CONFIG_NFT_NAT=y\n"), "nft_chain_nat", "builtin",
                                            "kernel_config"),
    "builtin by target symbol": (node(config="CONFIG_NETFILTER_XT_TARGET_MASQUERADE=y\n"), "xt_MASQUERADE", "builtin",
                                 "kernel_config"),
    "IP_NF_IPTABLES means legacy up to 6.1": (node(config="CONFIG_IP_NF_IPTABLES=y\n"), "ip_tables", "builtin",
                                              "kernel_config"),
    "IP_NF_IPTABLES alone means nothing in 6.12": (
        node(R612, config=WHOLE + "CONFIG_IP_NF_IPTABLES=y\n"), "ip_tables", "absent", "config_off"),
    "conntrack by its sysctl": (node(extra={"proc/sys/net/netfilter/nf_conntrack_max": "1\n"}), "nf_conntrack",
                                "builtin", "proc_net"),
    "br_netfilter by its sysctl": (node(extra={"proc/sys/net/bridge/bridge-nf-call-iptables": "1\n"}), "br_netfilter",
                                   "builtin", "proc_net"),
    "ip_vs by its file": (node(extra={"proc/net/ip_vs": ""}), "ip_vs", "builtin", "proc_net"),
    "legacy core by its file": (node(extra={"proc/net/ip_tables_names": ""}), "ip_tables", "builtin", "proc_net"),
    "a table by name": (node(extra={"proc/net/ip_tables_names": "nat\n"}), "iptable_nat", "builtin", "proc_net"),
    "a table of IPv6 by name": (node(extra={"proc/net/ip6_tables_names": "nat\n"}), "ip6table_nat", "builtin",
                                "proc_net"),
    "an empty list of tables": (node(extra={"proc/net/ip_tables_names": ""}), "iptable_nat", "absent", "not_in_index"),
    "a match by name": (node(extra={"proc/net/ip_tables_matches": "comment\ncomment\n"}), "xt_comment", "builtin",
                        "proc_net"),
    "a target by name": (node(extra={"proc/net/ip_tables_targets": "MASQUERADE\n"}), "xt_MASQUERADE", "builtin",
                         "proc_net"),
    "a match is no target": (node(extra={"proc/net/ip_tables_targets": "mark\n"}), "xt_mark", "absent", "not_in_index"),
    "what a loaded module gives proves no builtin": (
        node(loaded={"nf_conntrack": "Unloading"}, modules=["nf_conntrack"],
             extra={"proc/sys/net/netfilter/nf_conntrack_max": "1\n"}), "nf_conntrack", "loadable", "in_index"),
    # loadable
    "loadable": (node(modules=["ip_vs"]), "ip_vs", "loadable", "in_index"),
    "loadable .gz": (node(modules=["ip_vs"], suffix=".ko.gz"), "ip_vs", "loadable", "in_index"),
    "loadable .xz": (node(modules=["ip_vs"], suffix=".ko.xz"), "ip_vs", "loadable", "in_index"),
    "loadable .zst": (node(modules=["ip_vs"], suffix=".ko.zst"), "ip_vs", "loadable", "in_index"),
    "a file with hyphens": (node(modules=["nf-log-syslog"]), "nf_log_syslog", "loadable", "in_index"),
    "a file with underscores": (node(modules=["nf_log_syslog"]), "nf-log-syslog", "loadable", "in_index"),
    "outside of the tree": (
        node(extra={TREE + "modules.dep": "/opt/driver/ip_vs.ko:\n", "opt/driver/ip_vs.ko": b"\x7fELF"}), "ip_vs",
        "loadable", "in_index"),
    "config =n does not undo a file": (node(modules=["ip_vs"], config=WHOLE + "# CONFIG_IP_VS is not set\n"), "ip_vs",
                                       "loadable", "in_index"),
    # merged
    "nft_counter is a file in 5.10": (node("5.10.0-32-amd64", modules=["nf_tables"]), "nft_counter", "absent",
                                      "not_in_index"),
    "nft_counter is part of nf_tables": (node(modules=["nf_tables"]), "nft_counter", "loadable", "merged"),
    "nft_counter is part of a loaded nf_tables": (node(modules=["nf_tables"], loaded=["nf_tables"]), "nft_counter",
                                                  "loaded", "merged"),
    "nft_counter without nf_tables": (node(), "nft_counter", "absent", "not_in_index"),
    "nfnetlink is a file in 6.12": (node(R612, modules=["nfnetlink"]), "nfnetlink", "loadable", "in_index"),
    "nfnetlink is part of 7.2": (node(R72), "nfnetlink", "builtin", "merged"),
    # installable
    "in the tree, not in the index": (
        node(modules=["other"], extra={TREE + "modules.dep": "", TREE + NETFILTER + "/ip_vs.ko.xz": b""}), "ip_vs",
        "installable", "not_indexed"),
    "no index, as freshly unpacked": (
        node(modules=["ip_vs"], extra={TREE + "modules.dep": None, TREE + "modules.dep.bin": None}), "ip_vs",
        "installable", "not_indexed"),
    "kmod reads the binary index only": (node(modules=["ip_vs"], extra={TREE + "modules.dep.bin": None}), "ip_vs",
                                         "installable", "not_indexed"),
    "in the extra package of RHEL 10": (merged(RHEL10, kernel(EL10, ["nf_conntrack"]), running(EL10)), "xt_comment",
                                        "installable", "in_package"),
    "in the extra package, config says m": (
        merged(RHEL10, kernel(EL10, ["nf_conntrack"], config=WHOLE + "CONFIG_NETFILTER_XT_MATCH_COMMENT=m\n"),
               running(EL10)), "xt_comment", "installable", "in_package"),
    "off in the config is in no package": (
        merged(RHEL10, kernel(EL10, ["nf_conntrack"],
                              config=WHOLE + "# CONFIG_NETFILTER_XT_MATCH_COMMENT is not set\n"), running(EL10)),
        "xt_comment", "absent", "config_off"),
    "RHEL 9 splits otherwise": (
        merged(RHEL10, {"etc/os-release": 'ID="rhel"\nVERSION_ID="9.4"\n'}, kernel("5.14.0-427.el9.x86_64", ["a"]),
               running("5.14.0-427.el9.x86_64")), "xt_comment", "absent", "not_in_index"),
    # absent
    "nowhere": (node(modules=["other"]), "ip_vs", "absent", "not_in_index"),
    "listed, and the file is gone": (node(modules=["ip_vs"], extra={TREE + NETFILTER + "/ip_vs.ko": None}), "ip_vs",
                                     "absent", "file_missing"),
    "config =m and no file": (node(modules=["other"], config=WHOLE + "CONFIG_IP_VS=m\n"), "ip_vs", "absent",
                              "config_m_not_shipped"),
    "config =m in a fragment and no file": (node(modules=["other"], config="CONFIG_IP_VS=m\n"), "ip_vs", "absent",
                                            "config_m_not_shipped"),
    "config off": (node(modules=["other"], config=WHOLE + "# CONFIG_IP_VS is not set\n"), "ip_vs", "absent",
                   "config_off"),
    "a whole config does not mention it": (node(modules=["other"], config=WHOLE), "ip_vs", "absent", "config_off"),
    "a name of old kernels on 4.18": (node("4.18.0-513.el8", modules=["nf_conntrack"]), "nf_conntrack_ipv4", "absent",
                                      "not_in_index"),
    "the tree is gone, config says m": (
        merged(DEBIAN, running(R61, []), kernel(R612, ["ip_vs"]), {"boot/config-" + R61: WHOLE + "CONFIG_IP_VS=m\n"}),
        "ip_vs", "absent", "tree_gone"),
    # unknown
    "the tree is gone": (merged(DEBIAN, running(R61, []), kernel(R612, ["ip_vs"])), "ip_vs", "unknown", "tree_gone"),
    "the tree is gone, a fragment is silent": (
        merged(DEBIAN, running(R61, []), kernel(R612, ["ip_vs"]), {"boot/config-" + R61: FRAGMENT}), "ip_vs", "unknown",
        "tree_gone"),
    "no list of what is built in": (node(modules=["other"], extra={TREE + "modules.builtin": None}), "ip_vs", "unknown",
                                    "no_evidence"),
    "garbage as an index": (node(extra={TREE + "modules.dep": b"\x7fELF\x00\xff\n" * 50}), "ip_vs", "unknown",
                            "unparsed"),
    "garbage as an index, loaded all the same": (node(loaded=["ip_vs"], extra={TREE + "modules.dep": b"\xff\n" * 50}),
                                                 "ip_vs", "loaded", "proc_modules"),
    "netfilter is off": (node(modules=["other"], config=WHOLE + "# CONFIG_NETFILTER is not set\n"), "xt_recent",
                         "absent", "netfilter_off"),
    "networking is off": (node(modules=["other"], config=WHOLE + "# CONFIG_NET is not set\n"), "nf_nat", "absent",
                          "netfilter_off"),
    "netfilter is off, and another part is asked for": (
        node(modules=["other"], config=WHOLE + "# CONFIG_NETFILTER is not set\n"), "overlay", "absent", "config_off"),
    "netfilter is off in a configuration that is not of this kernel": (
        node(modules=["ip_vs"], config=WHOLE + "# CONFIG_NETFILTER is not set\n"), "ip_vs", "loadable", "in_index"),
    "the legacy tables are off": (
        node("6.17.0-1", modules=["other"], config=WHOLE + "CONFIG_NETFILTER=y\n# CONFIG_NETFILTER_XTABLES_LEGACY is "
                                                           "not set\n"), "iptable_nat", "absent", "legacy_off"),
    "the legacy tables are off, and a match is asked for": (
        node("6.17.0-1", modules=["xt_recent"], config=WHOLE + "# CONFIG_NETFILTER_XTABLES_LEGACY is not set\n"),
        "xt_recent", "loadable", "in_index"),
    "modules are off in an image": (
        merged(DEBIAN, {"boot/config-" + R61: OFF + "CONFIG_NETFILTER=y\n"}), "ip_vs", "absent", "modules_off",
        "image"),
    "modules are off in an image, and it is built in": (
        merged(DEBIAN, {"boot/config-" + R61: OFF + "CONFIG_IP_VS=y\n"}), "ip_vs", "builtin", "kernel_config", "image"),
    "a lone configuration says m": (merged(DEBIAN, {"boot/config-" + R61: WHOLE + "CONFIG_IP_VS=m\n"}), "ip_vs",
                                    "unknown", "no_tree", "image"),
    # proven by a loaded dependant
    "a dependant is loaded, and the kernel has no such module": (node(modules=["xt_comment"], loaded=["xt_comment"]),
                                                                 "x_tables", "builtin", "dependant"),
    "a dependant is loaded, and the list is cut": (
        node(modules=["nf_conntrack", "xt_conntrack"], loaded=["xt_conntrack"]), "nf_conntrack", "loaded", "dependant"),
    "a dependant is being loaded": (node(modules=["xt_comment"], loaded={"xt_comment": "Loading"}), "x_tables",
                                    "absent", "not_in_index"),
    "what is loaded needs something else": (node(modules=["xt_comment"], loaded=["xt_comment"]), "nf_conntrack",
                                            "absent", "not_in_index"),
    "another one is used by it": (
        node(modules=["xt_nat"], loaded=["xt_nat"],
             extra={"proc/modules": "x_tables 53248 2 xt_nat,xt_mark, Live 0x0\n"}), "xt_mark", "loaded",
        "proc_modules"),
    "nobody uses it": (
        node(modules=["x_tables"], extra={"proc/modules": "x_tables 53248 1 - Live 0x0\nipv6 1 1 [permanent], Live "
                                                          "0x0\n"}), "xt_mark", "absent", "not_in_index"),
    # kernels that load no modules
    "everything built in, config says y": (
        merged(DEBIAN, running(R61, None), {"proc/config.gz": node_tree.compressed(WHOLE + "CONFIG_IP_VS=y\n")}),
        "ip_vs", "builtin", "kernel_config"),
    "everything built in, config says off": (
        merged(DEBIAN, running(R61, None),
               {"proc/config.gz": node_tree.compressed(WHOLE + "# CONFIG_IP_VS is not set\n")}), "ip_vs", "absent",
        "modules_off"),
    "everything built in, seen in /sys": (
        merged(DEBIAN, running(R61, None), {"sys/module/ip_set/parameters/max_sets": "9\n"}), "ip_set", "builtin",
        "sys_module"),
    "everything built in, seen in /proc": (merged(DEBIAN, running(R61, None), {"proc/net/ip_vs": ""}), "ip_vs",
                                           "builtin", "proc_net"),
    "everything built in, and nothing tells": (merged(DEBIAN, running(R61, None)), "ip_vs", "unknown", "no_evidence"),
    "everything built in, and a fragment is silent": (
        merged(DEBIAN, running(R61, None), {"boot/config-" + R61: FRAGMENT}), "ip_vs", "unknown", "no_evidence"),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_state_and_cause(case, tmp_path):
    manifest, name, state, cause = CASES[case][:4]
    place = (CASES[case][4:] or ("live",))[0]
    assert verdict(manifest, name, tmp_path, place=place)[:2] == (state, cause)


@pytest.mark.parametrize(
    "place", [
        "proc/config.gz", "proc/config", "boot/config-" + R61, "lib/modules/%s/config" % R61,
        "usr/lib/modules/%s/config" % R61, "usr/lib/ostree-boot/config-" + R61, "usr/lib/kernel/config-" + R61,
        "usr/src/linux-headers-%s/.config" % R61, "lib/modules/%s/build/.config" % R61,
    ])
def test_every_place_of_a_configuration(place, tmp_path):
    text = WHOLE + "CONFIG_IP_VS=y\n"
    manifest = node(extra={place: node_tree.compressed(text) if place.endswith(".gz") else text})
    section = look(node_tree.unpack(manifest, tmp_path), "ip_vs")
    assert (section["modules"][0]["state"], section["modules"][0]["cause"]) == ("builtin", "kernel_config")
    assert (section["kernels"][0]["config"], section["kernels"][0]["config_complete"]) == ("/" + place, True)


def test_config_of_the_running_kernel_says_nothing_of_another(tmp_path):
    manifest = merged(node(), kernel(R612, ["other"]),
                      {"proc/config.gz": node_tree.compressed(WHOLE + "CONFIG_IP_VS=y\n")})
    assert verdict(manifest, "ip_vs", tmp_path, kernel=R612) == ("absent", "not_in_index", None)


@pytest.mark.parametrize("release, module",
                         [
                             ("4.18.0-513.el8", None), ("4.19.0-1", "nf_conntrack"),
                             ("5.10.0-32-amd64", "nf_conntrack"), ("7.2.13-amd64", "nf_conntrack")])
def test_a_name_that_later_kernels_dropped(release, module, tmp_path):
    state = "loadable" if module else "absent"
    assert verdict(node(release, modules=["nf_conntrack"]), "nf_conntrack_ipv4", tmp_path)[::2] == (state, module)


def test_the_old_name_where_it_is_a_file(tmp_path):
    manifest = node("4.18.0-513.el8", modules=["nf_conntrack", "nf_conntrack_ipv4"])
    assert verdict(manifest, "nf_conntrack_ipv4", tmp_path) == ("loadable", "in_index", "nf_conntrack_ipv4")


ALIASES = ["ipt_MASQUERADE xt_MASQUERADE", "nft-expr-* nft_ct", "ip_set_hash:ip ip_set_hash_ip", "gone xt_none"]


@pytest.mark.parametrize("name, module",
                         [
                             ("ipt_MASQUERADE", "xt_MASQUERADE"), ("nft-expr-ct", "nft_ct"),
                             ("nft_expr_anything", "nft_ct"), ("ip_set_hash:ip", "ip_set_hash_ip"), ("gone", None)])
def test_aliases_of_the_tree(name, module, tmp_path):
    manifest = node(modules=["xt_MASQUERADE", "nft_ct", "ip_set_hash_ip"], aliases=ALIASES)
    assert verdict(manifest, name, tmp_path)[::2] == ("loadable" if module else "absent", module)


def test_aliases_of_what_is_built_in(tmp_path):
    manifest = node(builtin=["nf_conntrack"],
                    builtin_modinfo=["nf_conntrack.license=GPL", "nf_conntrack.alias=ip_conntrack"])
    assert verdict(manifest, "ip_conntrack", tmp_path) == ("builtin", "modules_builtin", "nf_conntrack")


def test_an_alias_of_the_administrator(tmp_path):
    manifest = node(modules=["ip_vs"], loaded=["ip_vs"], extra={"etc/modprobe.d/a.conf": "alias balance-* ip_vs\n"})
    assert verdict(manifest, "balance_rr", tmp_path) == ("loaded", "proc_modules", "ip_vs")


def test_a_module_comes_before_an_alias_of_its_name(tmp_path):
    manifest = node(modules=["ip_vs", "other"], aliases=["ip_vs other"])
    assert verdict(manifest, "ip_vs", tmp_path) == ("loadable", "in_index", "ip_vs")


@pytest.mark.parametrize("age, extra, index",
                         [
                             (-60, {}, "ok"), (60, {}, "ok"), (60, {"/new.ko": b""}, "stale"),
                             (60, {"/readme.txt": ""}, "ok"), (-60, {"/new.ko": b""}, "ok")])
def test_directories_newer_than_the_index_are_compared(age, extra, index, tmp_path):
    manifest = node(modules=["ip_vs"], extra={TREE + NETFILTER + path: content for path, content in extra.items()})
    tree = node_tree.unpack(manifest, tmp_path)
    written = os.stat(os.path.join(tree, TREE, "modules.dep")).st_mtime
    os.utime(os.path.join(tree, TREE, NETFILTER), (written + age, written + age))
    section = look(tree, "new")
    assert section["kernels"][0]["index"] == index
    assert bool(section["kernels"][0]["index_cause"]) == (index != "ok")
    assert (section["modules"][0]["state"] == "installable") == (index == "stale")
    assert look(tree, "ip_vs")["modules"][0]["state"] == "loadable"


@pytest.mark.parametrize(
    "extra, index", [
        ({TREE + "modules.dep": None}, "missing"), ({TREE + "modules.dep": ""}, "empty"),
        ({TREE + "modules.dep.bin": None}, "stale"), ({TREE + "modules.dep": b"\xff\x00\n" * 9}, "unreadable"),
        ({TREE + "modules.dep.bin": None, "usr/sbin/modprobe": node_tree.link("/bin/busybox"),
          "bin/busybox": node_tree.executable()}, "ok"),
    ])
def test_states_of_the_index(extra, index, tmp_path):
    assert look(node_tree.unpack(node(modules=["ip_vs"], extra=extra), tmp_path),
                "ip_vs")["kernels"][0]["index"] == index


@pytest.mark.parametrize("closed, state, cause, source", [
    ("proc/modules", "loadable", "in_index", "proc_modules"),
    ("lib/modules/%s/modules.dep" % R61, "unknown", "denied", None),
])
def test_what_may_not_be_read(closed, state, cause, source):
    folder = node_tree.open_folder()
    manifest = node(modules=["ip_vs"], loaded=["nf_nat"])
    node_tree.unpack(dict(manifest, **{closed: node_tree.mode(0o000, manifest[closed])}), folder)

    def ask():
        section = look(folder, "ip_vs")
        return [section["modules"][0]["state"], section["modules"][0]["cause"], section["collected"].get(source)]
    assert as_nobody(ask) == [state, cause, "denied" if source else None]


def test_a_closed_list_of_loaded_modules_never_makes_absent():
    folder = node_tree.open_folder()
    manifest = node(loaded=["ip_vs"], extra={"proc/net/ip_vs": ""})
    node_tree.unpack(dict(manifest, **{"proc/modules": node_tree.mode(0o000, "")}), folder)
    row = as_nobody(lambda: look(folder, "ip_vs")["modules"][0])
    assert row["state"] != "absent", row


def test_the_node_of_which_nothing_is_known(tmp_path):
    section = look(node_tree.unpack({"etc/os-release": "ID=x\n"}, tmp_path), "ip_vs", place="image")
    assert (section["modules"][0]["state"], section["judged_release"], section["kernels"]) == ("unknown", None, [])
