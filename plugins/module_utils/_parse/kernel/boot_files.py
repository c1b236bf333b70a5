# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a kernel boots: configuration, entries of boot loaders, command line. PRIVATE to the collection."""

import itertools
import re

# The kernels that boot loaders are configured to boot: grub.cfg, grubenv, Boot Loader Specification entries.
# Samples:
#     menuentry 'Debian GNU/Linux' --class os $menuentry_id_option 'gnulinux-simple-1' {
#             linux /boot/vmlinuz-6.1.0-49-amd64 root=/dev/vda1 ro
#     }
#     saved_entry=b2c1-6.12.0-55.el10.x86_64
#     version 6.12.0-55.el10.x86_64
# Grammar: GNU GRUB manual (default, saved_entry, next_entry), UAPI Boot Loader Specification.

# No release is longer (kernel include/uapi/linux/utsname.h __NEW_UTS_LEN).
_KERNEL_FILE = re.compile(r"(?:vmlinuz|vmlinux|kernel|bzImage|Image)-([!-~]{1,64})$")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def release_of_file(path):
    """Kernel release in the name of a kernel image (`/boot/vmlinuz-6.1.0-49-amd64`), or None."""
    found = _KERNEL_FILE.search(path)
    return found.group(1) if found else None


def parse_grubenv(text):
    """{name: value} of a GRUB environment block."""
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {name: value for name, equals, value in pairs if equals}


def parse_grub_cfg(text):
    """The menu of a grub.cfg.

    `{"default": str or None, "once": bool, "blscfg": bool, "entries": [{"where": [int, ...], "names": [[str, ...],
    ...], "release": str or None}]}`. `where` and `names` have one part for each menu level, as in `default="1>2"` or
    `default="Advanced>Debian"`; `once`: whether next_entry of the environment is used.
    """
    menu = {"default": None, "once": False, "blscfg": False, "entries": []}
    open_blocks, counters, entry = [], [0], None
    for line in (line.strip() for line in text.splitlines()):
        word = line.split(None, 1)[0] if line else ""
        if word in ("menuentry", "submenu") and line.endswith("{"):
            names = [one or two for one, two in _QUOTED.findall(line)]
            here = ([part for kind, part, _names_ in open_blocks if kind == "submenu"] + [counters[-1]],
                    [names_ for kind, _part, names_ in open_blocks if kind == "submenu"] + [names])
            counters[-1] += 1
            open_blocks.append((word, here[0][-1], names))
            if word == "submenu":
                counters.append(0)
            else:
                entry = {"where": here[0], "names": here[1], "release": None}
                menu["entries"].append(entry)
        elif line.endswith("{"):
            open_blocks.append(("block", None, []))
        elif line == "}" and open_blocks:
            if open_blocks.pop()[0] == "submenu":
                counters.pop()
        elif word in ("linux", "linux16", "linuxefi") and entry is not None and len(line.split()) > 1:
            entry["release"] = release_of_file(line.split()[1])
        elif word == "blscfg":
            menu["blscfg"] = True
        elif line.startswith("set default="):
            value = line[len("set default="):].strip("\"'")
            if "next_entry" in value:
                menu["once"] = True
            else:
                menu["default"] = value
    return menu


def find_entry(menu, wanted):
    """The entry that GRUB takes for a `default` value such as `0`, `1>2`, a title or an id; None without a match."""
    parts = wanted.split(">")
    return next((entry for entry in menu["entries"] if len(entry["where"]) == len(parts) and all(
        part == str(index) or part in names
        for part, index, names in zip(parts, entry["where"], entry["names"]))), None)


def parse_loader_entry(text):
    """{key: value} of a Boot Loader Specification entry; the first value of a key counts."""
    entry = {}
    for line in text.splitlines():
        words = line.split(None, 1)
        if len(words) == 2 and not words[0].startswith("#"):
            entry.setdefault(words[0], words[1].strip())
    return entry


# The kernel's command line.
# Sample: `root=/dev/vda1 ro modprobe.blacklist=ip_vs,ip_tables modules_load=br_netfilter`
# Grammar: kernel lib/cmdline.c next_arg(): blanks separate words, double quotes keep a word together.
_WORD = re.compile(r'(?:[^\s"]+|"[^"]*(?:"|\Z))+')


def parse_kernel_cmdline(text):
    """[(key, value)] in order; a bare word has the value None. Words after `--` belong to init and are left out."""
    words = [word.replace('"', "") for word in _WORD.findall(text)]
    pairs = [word.partition("=") for word in itertools.takewhile(lambda word: word != "--", filter(None, words))]
    return [(key, value if equals else None) for key, equals, value in pairs]


# A kernel's build configuration.
# Sample:
#     # Linux/x86 6.1.176 Kernel Configuration
#     CONFIG_NF_CONNTRACK=m
#     # CONFIG_IP_VS is not set
# Grammar: kernel scripts/kconfig/confdata.c.
_SYMBOL = re.compile(r"^(?:CONFIG_([A-Za-z0-9_]+)=(.*)|# CONFIG_([A-Za-z0-9_]+) is not set)$", re.M)
# Written by kconfig at the top of a whole configuration. A fragment (what distributions merge) has no such line.
_WHOLE = re.compile(r"^# Linux/\S+ \S+ Kernel Configuration$", re.M)


def parse_kernel_config(text):
    """(`{symbol: y | m | n | value}`, whether this is a whole configuration).

    Symbols carry no `CONFIG_`. A symbol that a fragment does not name is unknown.
    """
    return {name or unset: value.strip() if name else "n"
            for name, value, unset in _SYMBOL.findall(text)}, is_whole(text)


def is_whole(text):
    """Whether this is a whole configuration, not a fragment."""
    return bool(_WHOLE.search(text[:4096]))
