# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kernel boots next, and what it lacks."""

import pytest

import node_tree
from node_manifests import DEBIAN, kernel, merged, running
from node_sections import collect_sections

OLD, NEW = "6.1.0-49-amd64", "6.12.9-1-amd64"
BOTH = merged(DEBIAN, kernel(OLD, ["ip_vs"]), kernel(NEW, ["nf_conntrack"]))


def look(manifest, tmp_path, place="image", **options):
    return collect_sections(["kernel_modules"], node_tree.unpack(manifest, tmp_path), place, ["ip_vs"],
                            **options)["node_kernel_modules"]


def grub(default, folder="boot/grub", environment=None):
    text = """\
if [ "${next_entry}" ] ; then
  set default="${next_entry}"
else
  set default="%s"
fi
menuentry 'Debian' $menuentry_id_option 'simple' {
\tlinux /boot/vmlinuz-%s ro
}
submenu 'Advanced' $menuentry_id_option 'advanced' {
\tmenuentry 'Debian, %s' $menuentry_id_option 'new' {
\t\tlinux /boot/vmlinuz-%s ro
\t}
\tmenuentry 'Debian, %s' $menuentry_id_option 'old' {
\t\tlinux /boot/vmlinuz-%s ro
\t}
}
""" % (default, NEW, NEW, NEW, OLD, OLD)
    files = {folder + "/grub.cfg": text}
    if environment is not None:
        files[folder + "/grubenv"] = "# GRUB Environment Block\n%s\n####" % environment
    return files


def entries(*releases, **more):
    files = {"boot/loader/entries/%s.conf" % name: "title x\nversion %s\nlinux /vmlinuz-%s\n" % (name, name)
             for name in releases}
    files.update(more.get("files", {}))
    return files


LOADER = "boot/loader/loader.conf"
BLS = "set default=\"${saved_entry}\"\ninsmod blscfg\nblscfg\n"
CASES = {
    "grub, first entry": (grub("0"), NEW, True),
    "grub, an entry of a submenu": (grub("1>1"), OLD, True),
    "grub, by id": (grub("advanced>old"), OLD, True),
    "grub, by title": (grub("Advanced>Debian, " + OLD), OLD, True),
    "grub2 folder": (grub("1>1", "boot/grub2"), OLD, True),
    "grub, saved entry": (grub("${saved_entry}", environment="saved_entry=advanced>old"), OLD, True),
    "grub, nothing saved": (grub("${saved_entry}", environment=""), NEW, True),
    "grub, no environment": (grub("${saved_entry}"), NEW, True),
    "grub, once": (grub("0", environment="next_entry=1>1\nsaved_entry=0"), OLD, True),
    "grub, once is over": (grub("0", environment="next_entry=\nsaved_entry=1>1"), NEW, True),
    "grub, no such entry": (grub("7"), NEW, False),
    "grub, a file of garbage": ({"boot/grub/grub.cfg": b"\xff\x00{}\n" * 9}, NEW, False),
    "bls behind grub, saved": (merged(entries(OLD, NEW), {"boot/grub2/grub.cfg": BLS,
                                                          "boot/grub2/grubenv": "saved_entry=%s\n" % OLD}), OLD, True),
    "bls behind grub, once": (
        merged(entries(OLD, NEW), {"boot/grub2/grub.cfg": BLS,
                                   "boot/grub2/grubenv": "saved_entry=%s\nnext_entry=%s\n" % (NEW, OLD)}), OLD, True),
    "bls behind grub, nothing saved": (merged(entries(OLD, NEW), {"boot/grub2/grub.cfg": BLS}), NEW, False),
    "systemd-boot, default": (merged(entries(OLD, NEW), {LOADER: "timeout 3\ndefault %s.conf\n" % OLD}), OLD, True),
    "systemd-boot, a pattern": (merged(entries(OLD, NEW), {LOADER: "default 6.1.*\n"}), OLD, True),
    "systemd-boot, no default": (entries(OLD, NEW), NEW, False),
    "systemd-boot, a default that matches nothing": (merged(entries(OLD, NEW), {LOADER: "default windows\n"}), NEW,
                                                     False),
    "systemd-boot, image below a folder of the machine": (
        {"boot/loader/entries/a.conf": "version %s\nlinux /0123/%s/linux\n" % (OLD, OLD)}, OLD, False),
    "a link": ({"boot/vmlinuz": node_tree.link("vmlinuz-" + OLD)}, OLD, False),
    "a link in the root": ({"vmlinuz": node_tree.link("boot/vmlinuz-" + OLD)}, OLD, False),
    "nothing": ({}, NEW, False),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_kernel_and_how_sure_it_is(case, tmp_path):
    extra, release, certain = CASES[case]
    found = look(merged(BOTH, extra), tmp_path)
    assert (found["next_boot"]["release"], found["next_boot"]["certain"]) == (release, certain), found["next_boot"]
    assert found["next_boot"]["because"] and found["judged_release"] == release
    assert [row["release"] for row in found["kernels"] if row["next_boot"]] == [release]


def test_a_single_kernel_is_certain(tmp_path):
    found = look(merged(DEBIAN, kernel(OLD, ["ip_vs"])), tmp_path)
    assert (found["next_boot"]["release"], found["next_boot"]["certain"]) == (OLD, True)


def test_a_kernel_that_comes_from_outside(tmp_path):
    found = look(merged(DEBIAN, running(OLD, None)), tmp_path, "live")
    assert (found["next_boot"]["release"], found["next_boot"]["certain"]) == (OLD, False)


def test_no_kernel_at_all(tmp_path):
    found = look(DEBIAN, tmp_path)
    assert (found["next_boot"]["release"], found["modules"][0]["at_boot"],
            found["modules"][0]["state_next_boot"]) == (None, "unknown", "unknown")


def test_the_next_kernel_lacks_what_the_running_one_has(tmp_path):
    found = look(merged(BOTH, running(OLD, ["ip_vs"]), grub("0"), {"etc/modules-load.d/a.conf": "ip_vs\n"}), tmp_path,
                 "live")
    row = found["modules"][0]
    assert (found["running_release"], found["judged_release"], found["running_tree"]) == (OLD, OLD, "ok")
    assert (row["state"], row["state_next_boot"], row["persisted"],
            row["at_boot"]) == ("loaded", "absent", True, "absent")
    assert row["kernels"] == [{"releases": [NEW], "state": "absent", "cause": "not_in_index", "package": None,
                               "evidence": "neither in modules.dep nor in modules.builtin of " + NEW}]
    assert row["lacking_on"] == []


def test_a_kernel_that_neither_runs_nor_boots_next_lacks_it(tmp_path):
    third = "5.10.0-32-amd64"
    found = look(merged(BOTH, kernel(third, ["other"]), running(OLD, ["ip_vs"]), grub("1>1")), tmp_path, "live")
    assert (found["next_boot"]["release"], found["modules"][0]["lacking_on"]) == (OLD, [NEW, third])
    assert found["modules"][0]["kernels"][0]["releases"] == [NEW, third]


def test_what_is_to_boot_is_not_installed(tmp_path):
    found = look(merged(DEBIAN, kernel(OLD, ["ip_vs"]), running(OLD, ["ip_vs"]), grub("0")), tmp_path, "live")
    assert (found["next_boot"]["release"], found["modules"][0]["state_next_boot"],
            found["modules"][0]["at_boot"]) == (NEW, "unknown", "unknown")


def test_another_kernel_can_be_asked_for(tmp_path):
    found = look(merged(BOTH, running(OLD, ["ip_vs"])), tmp_path, "live", kernel=NEW)
    assert (found["judged_release"], found["modules"][0]["state"]) == (NEW, "absent")
