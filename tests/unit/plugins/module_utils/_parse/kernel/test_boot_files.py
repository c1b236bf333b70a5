# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boot loader configuration, the kernel's command line and its configuration."""

from hypothesis import example, given, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.boot_files import (
    find_entry, parse_grub_cfg, parse_grubenv, parse_kernel_cmdline, parse_kernel_config, parse_loader_entry,
    release_of_file)

PARSERS = {"grub.cfg": parse_grub_cfg, "grubenv": parse_grubenv, "loader entry": parse_loader_entry,
           "name of an image": release_of_file, "command line": parse_kernel_cmdline,
           "kernel configuration": parse_kernel_config}


@cases
def test_what_is_read(parser, text, found):
    assert PARSERS[parser](text) == found


@cases
def test_an_entry_by_number_title_and_id(text, wanted, release):
    entry = find_entry(parse_grub_cfg(text), wanted)
    assert (entry and entry["release"]) == release


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
    symbols, whole = parse_kernel_config(text)
    assert isinstance(symbols, dict) and whole in (True, False)


@given(st.text())
@example('"')
@example("=")
def test_no_character_outside_of_quotes_and_blanks_is_lost(text):
    pairs = parse_kernel_cmdline(text.replace("--", "-"))
    kept = "".join(key + ("" if value is None else "=" + value) for key, value in pairs)
    assert "".join(kept.split()) == "".join(text.replace("--", "-").replace('"', "").split())


NAMES = st.builds("".join, st.tuples(st.sampled_from("ABCXYZ"), st.text("ABXYZ_", max_size=9)))


@given(st.dictionaries(NAMES, st.sampled_from("ymn")), st.text(alphabet="# \tcxCONFIG_=\r"))
def test_every_symbol_is_found(symbols, noise):
    text = "".join("%s\n%s\n" % (noise, "# CONFIG_%s is not set" % name if value == "n"
                                 else "CONFIG_%s=%s" % (name, value)) for name, value in symbols.items())
    found = parse_kernel_config(text)[0]
    assert all(found[name] == value for name, value in symbols.items())
