# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of boot loader configuration: grub.cfg, grubenv, Boot Loader Specification entries."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.boot_entries import (
    find_entry, parse_grub_cfg, parse_grubenv, parse_loader_entry, release_of_file)

GRUB = """\
if [ -s $prefix/grubenv ]; then
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
else
   set default="0"
fi
function savedefault {
  if [ -z "${boot_once}" ]; then
    saved_entry="${chosen}"
  fi
}
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-1' {
\tlinux\t/boot/vmlinuz-6.12.1-amd64 root=/dev/vda1 ro
\tinitrd\t/boot/initrd.img-6.12.1-amd64
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-1' {
\tmenuentry 'Debian GNU/Linux, with Linux 6.12.1-amd64' $menuentry_id_option 'gnulinux-6.12.1-amd64-advanced-1' {
\t\tif [ x$feature_platform_search_hint = xy ]; then
\t\t  search --no-floppy
\t\tfi
\t\tlinux /boot/vmlinuz-6.12.1-amd64 root=/dev/vda1
\t}
\tmenuentry "Debian GNU/Linux, with Linux 6.1.0-49-amd64" {
\t\tlinux /boot/vmlinuz-6.1.0-49-amd64 root=/dev/vda1
\t}
}
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
\tfwsetup
}
"""


def test_the_menu_of_debian():
    menu = parse_grub_cfg(GRUB)
    assert (menu["default"], menu["once"], menu["blscfg"]) == ("0", True, False)
    assert [(entry["where"], entry["release"]) for entry in menu["entries"]] == [
        ([0], "6.12.1-amd64"), ([1, 0], "6.12.1-amd64"), ([1, 1], "6.1.0-49-amd64"), ([2], None)]


@pytest.mark.parametrize("wanted, release", [
    ("0", "6.12.1-amd64"), ("1>1", "6.1.0-49-amd64"), ("gnulinux-simple-1", "6.12.1-amd64"),
    ("gnulinux-advanced-1>gnulinux-6.12.1-amd64-advanced-1", "6.12.1-amd64"),
    ("Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux 6.1.0-49-amd64", "6.1.0-49-amd64"),
])
def test_an_entry_by_number_title_and_id(wanted, release):
    assert find_entry(parse_grub_cfg(GRUB), wanted)["release"] == release


@pytest.mark.parametrize("wanted", ["1", "9", "1>2", "0>0", "", "nothing of that name"])
def test_no_such_entry(wanted):
    assert find_entry(parse_grub_cfg(GRUB), wanted) is None


def test_the_menu_of_fedora():
    menu = parse_grub_cfg('set default="${saved_entry}"\nif [ "${next_entry}" ]; then\nset default="${next_entry}"\n'
                          'fi\ninsmod blscfg\nblscfg\n')
    assert (menu["default"], menu["once"], menu["blscfg"], menu["entries"]) == ("${saved_entry}", True, True, [])


@pytest.mark.parametrize(
    "path, release", [
        ("/boot/vmlinuz-6.1.0-49-amd64", "6.1.0-49-amd64"), ("boot/vmlinux-5.4.0", "5.4.0"),
        ("/kernel-6.6.1-gentoo", "6.6.1-gentoo"), ("/boot/vmlinuz", None), ("/boot/vmlinuz-", None), ("", None),
        ("/EFI/Linux/linux.efi", None), ("/boot/vmlinuz-" + "9" * 65, None),
    ])
def test_release_in_the_name_of_an_image(path, release):
    assert release_of_file(path) == release


def test_the_environment_block():
    text = "# GRUB Environment Block\nsaved_entry=a>b=c\nnext_entry=\n########"
    assert parse_grubenv(text) == {"saved_entry": "a>b=c", "next_entry": ""}


def test_a_loader_entry():
    text = ("# comment\ntitle Fedora Linux (6.12)\nversion 6.12.0-55.el10\nlinux /vmlinuz-6.12.0-55.el10\nversion "
            "later\noptions\n")
    assert parse_loader_entry(text) == {"title": "Fedora Linux (6.12)", "version": "6.12.0-55.el10",
                                        "linux": "/vmlinuz-6.12.0-55.el10"}


GRUB_PIECES = st.sampled_from(
    [
        "menuentry 'a' {", "submenu 'b' {", "}", "{", "linux /vmlinuz-1", "linux", "set default=", "menuentry {",
        "if x; then", "blscfg"])


@given(st.text() | st.lists(GRUB_PIECES).map("\n".join), st.text())
@example("submenu 'x' {\n}\n}\n}", "0>0")
def test_any_text_is_read_without_an_exception(text, wanted):
    entry = find_entry(parse_grub_cfg(text), wanted)
    assert entry is None or set(entry) == {"where", "names", "release"}
    assert isinstance(parse_grubenv(text), dict)
    assert isinstance(parse_loader_entry(text), dict)
    release = release_of_file(text)
    assert release is None or 0 < len(release) <= 64
