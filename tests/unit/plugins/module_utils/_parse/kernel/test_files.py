# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of kmod and depmod; boot loader configuration, the kernel's command line and its configuration."""

from case_rows import cases
from hypothesis import example, given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils import _names
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.boot_files import (
    find_entry, parse_grub_cfg, parse_grubenv, parse_kernel_cmdline, parse_kernel_config, parse_loader_entry,
    release_of_file)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.module_files import (
    dependencies_of, find_alias, parse_modprobe_conf, parse_modules_builtin, parse_modules_builtin_modinfo,
    parse_modules_dep, parse_modules_load, soft_dependencies)

GRUB_PIECES = st.sampled_from(["menuentry 'a' {", "submenu 'b' {", "}",
                               "{", "linux /vmlinuz-1", "linux", "set default=", "menuentry {", "if x; then", "blscfg"])


def dependencies(text):
    modules, unread = parse_modules_dep(text)
    return {name: (path, dependencies_of(needs)) for name, (path, needs) in modules.items()}, unread


def directives(text):
    found, unread = parse_modprobe_conf(text)
    return [(each.line, each.keyword, each.name, each.rest) for each in found], unread


PARSERS = {"modprobe.d": directives, "softdep": soft_dependencies, "modules.builtin": parse_modules_builtin,
           "modules.builtin.modinfo": parse_modules_builtin_modinfo, "modules.dep": dependencies,
           "modules-load.d": parse_modules_load, "etc/modules": lambda text: parse_modules_load(text, True),
           "grub.cfg": parse_grub_cfg, "grubenv": parse_grubenv, "loader entry": parse_loader_entry,
           "name of an image": release_of_file, "command line": parse_kernel_cmdline,
           "kernel configuration": parse_kernel_config}


@cases
def test_what_is_read(parser, text, found):
    """What was found, and the lines that could not be read."""
    assert PARSERS[parser](text) == found


@given(st.text())
@example("\\\n\\\n")
@example("include x\n#\n\x1c")
def test_no_line_is_lost(text):
    directives, unread = parse_modprobe_conf(text)
    numbers = {each.line for each in directives} | {number for number, _line in unread}
    start = None
    for number, line in enumerate(text.split("\n"), 1):
        start = start or number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            continue
        whole = " ".join(text.split("\n")[start - 1:number])
        seen = "".join(piece[:-1] for piece in text.split("\n")[start - 1:number - 1]) + line
        words = seen.split()
        assert (start in numbers or not seen.strip() or words[0].startswith("#")
                or words[0] in ("include", "config")), whole
        start = None


@cases
def test_exact_and_pattern(text, name, modules):
    assert find_alias(text, name) == modules


@given(st.text(), st.text(min_size=1))
@example("alias [ x", "[")
@example("alias *[!] x", "*[")
def test_any_text_is_searched_without_an_exception(text, name):
    assert isinstance(find_alias(text, name), list)


@given(st.text())
@example("\x0c.ko:")
def test_no_line_of_depmod_is_lost(text):
    for parse, end in ((parse_modules_builtin, "\0"), (parse_modules_dep, ":")):
        modules, unread = parse(text)
        for line in text.splitlines():
            assert not line.strip() or line in unread or _names.of_file(line.partition(end)[0].strip()) in modules
    aliases = parse_modules_builtin_modinfo(text)
    assert all(isinstance(alias, str) and isinstance(name, str) for alias, name in aliases.items())


@given(st.text(st.sampled_from("ab./:-ko \n\r\x0c")))
@example("a.ko.gz.ko:\nb/.ko:\n")
def test_a_sound_line_reads_the_same_among_unsound_ones(text):
    alone = parse_modules_dep(text)
    assert parse_modules_dep(text + "\n\x07:\n") == (alone[0], alone[1] + ["\x07:"])


@given(st.text(), st.booleans())
@example("\0", False)
@example("xt_comment", False)
@example("a" * 65, True)
def test_no_line_is_lost_modules_load(text, first_word_only):
    names, unread = parse_modules_load(text, first_word_only)
    numbers = [number for number, _name in names] + [number for number, _line in unread]
    assert len(numbers) == len(set(numbers))
    for number, line in enumerate(text.split("\n"), 1):
        assert (number in numbers) == bool(line.strip() and line.strip()[0] not in "#;")


@cases
def test_an_entry_by_number_title_and_id(text, wanted, release):
    entry = find_entry(parse_grub_cfg(text), wanted)
    assert (entry and entry["release"]) == release


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
