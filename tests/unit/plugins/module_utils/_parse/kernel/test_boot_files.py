# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boot loader configuration, the kernel's command line and its configuration."""

import pytest
from hypothesis import example, given, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.boot_entries import (
    find_entry, parse_grub_cfg, parse_grubenv, parse_loader_entry, release_of_file)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.kernel_cmdline import (
    parse_kernel_cmdline)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.kernel_config import parse_kernel_config


# Parsers of boot loader configuration: grub.cfg, grubenv, Boot Loader Specification entries.

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


@cases
def test_an_entry_by_number_title_and_id(wanted, release):
    assert find_entry(parse_grub_cfg(GRUB), wanted)["release"] == release


@pytest.mark.parametrize("wanted", ["1", "9", "1>2", "0>0", "", "nothing of that name"])
def test_no_such_entry(wanted):
    assert find_entry(parse_grub_cfg(GRUB), wanted) is None


def test_the_menu_of_fedora():
    menu = parse_grub_cfg('set default="${saved_entry}"\nif [ "${next_entry}" ]; then\nset default="${next_entry}"\n'
                          'fi\ninsmod blscfg\nblscfg\n')
    assert (menu["default"], menu["once"], menu["blscfg"], menu["entries"]) == ("${saved_entry}", True, True, [])


@cases
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


# Parser of the kernel's command line.

@cases
def test_words(text, pairs):
    assert parse_kernel_cmdline(text) == pairs


@given(st.text())
@example('"')
@example("=")
def test_no_character_outside_of_quotes_and_blanks_is_lost(text):
    pairs = parse_kernel_cmdline(text.replace("--", "-"))
    kept = "".join(key + ("" if value is None else "=" + value) for key, value in pairs)
    assert "".join(kept.split()) == "".join(text.replace("--", "-").replace('"', "").split())


# Parser of kernel configurations.

NAMES = st.builds("".join, st.tuples(st.sampled_from("ABCXYZ"), st.text("ABXYZ_", max_size=9)))

HEADER = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 6.1.176 Kernel Configuration\n#\n"
LINES = ('CONFIG_NF_CONNTRACK=m\n# CONFIG_IP_VS is not set\nCONFIG_BRIDGE=y\nCONFIG_IP_VS_TAB_BITS=12\n'
         'CONFIG_LOCALVERSION="-x"\n')
SYMBOLS = {"NF_CONNTRACK": "m", "IP_VS": "n", "BRIDGE": "y", "IP_VS_TAB_BITS": "12", "LOCALVERSION": '"-x"'}


def test_a_whole_configuration():
    assert parse_kernel_config(HEADER + LINES) == (SYMBOLS, True)


def test_a_fragment():
    assert parse_kernel_config(LINES) == (SYMBOLS, False)


def test_a_comment_of_another_kind_makes_no_whole():
    assert parse_kernel_config("# Linux for containers\n# Kernel Configuration\n" + LINES)[1] is False


@given(st.text())
def test_any_text_is_read_without_an_exception_kernel_config(text):
    symbols, whole = parse_kernel_config(text)
    assert isinstance(symbols, dict) and whole in (True, False)


@given(st.dictionaries(NAMES, st.sampled_from("ymn")), st.text(alphabet="# \tcxCONFIG_=\r"))
def test_every_symbol_is_found(symbols, noise):
    text = "".join("%s\n%s\n" % (noise, "# CONFIG_%s is not set" % name if value == "n"
                                 else "CONFIG_%s=%s" % (name, value)) for name, value in symbols.items())
    found = parse_kernel_config(text)[0]
    assert all(found[name] == value for name, value in symbols.items())
