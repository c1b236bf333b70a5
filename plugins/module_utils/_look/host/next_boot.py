# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kernel boots next.

GRUB (grub.cfg, grubenv), the Boot Loader Specification (Fedora's GRUB, systemd-boot, ostree) or links name it, or only
one kernel is installed. In all other cases the newest kernel is named and `certain` is false."""

import fnmatch

from ... import _versions
from ..._parse.kernel.boot_files import find_entry, parse_grub_cfg, parse_grubenv, parse_loader_entry, release_of_file

GRUB_DIRECTORIES = ("/boot/grub2", "/boot/grub", "/boot/efi/EFI/redhat", "/boot/efi/EFI/fedora")
LOADER_DIRECTORIES = ("/boot/loader", "/boot/efi/loader", "/efi/loader")
KERNEL_LINKS = ("/boot/vmlinuz", "/vmlinuz")


def next_boot_kernel(host, releases, running):
    """`{"release": str or None, "certain": bool, "because": str}` for a tree in which `releases` are installed."""
    for ask in (_grub, _loader_entries):
        answer = ask(host)
        if answer:
            return _verdict(*answer)
    if len(releases) == 1:
        return _verdict(releases[0], True, "it is the only kernel installed")
    for link in KERNEL_LINKS:
        release = release_of_file(host.read_link(link) or "")
        if release:
            return _verdict(release, False, "%s links to it; no boot loader configuration was found" % link)
    if releases:
        return _verdict(releases[0], False, "it is the newest installed; no boot loader configuration was found")
    if running:
        return _verdict(running, False,
                        "no kernel is installed in the tree: it comes from outside, presumably the same one")
    return _verdict(None, False, "no kernel is installed in the tree")


def _verdict(release, certain, because):
    return {"release": release, "certain": certain, "because": because}


def _grub(host):
    for folder in GRUB_DIRECTORIES:
        text = host.read_text(folder + "/grub.cfg")
        if not text.ok:
            continue
        menu = parse_grub_cfg(text.text)
        environment = parse_grubenv(host.read_text(folder + "/grubenv").text)
        wanted, why = menu["default"] or "0", "the default of %s/grub.cfg" % folder
        if menu["once"] and environment.get("next_entry"):
            wanted, why = environment["next_entry"], "next_entry of %s/grubenv, for one boot" % folder
        elif "$" in wanted:
            wanted, why = environment.get("saved_entry") or "0", "saved_entry of %s/grubenv" % folder
        if menu["blscfg"]:
            return _loader_entries(host, environment)
        entry = find_entry(menu, wanted)
        if entry and entry["release"]:
            return entry["release"], True, why
    return None


def _loader_entries(host, environment=None):
    """From Boot Loader Specification entries; `environment` is GRUB's, where GRUB reads them."""
    for folder in LOADER_DIRECTORIES:
        entries = {}
        for name in host.list_dir(folder + "/entries")[1]:
            if name.endswith(".conf"):
                entry = parse_loader_entry(host.read_text(folder + "/entries/" + name).text)
                release = release_of_file(entry.get("linux",
                                                    "")) or release_of_file("vmlinuz-" + entry.get("version", ""))
                if release:
                    entries[name[:-len(".conf")]] = release
        if not entries:
            continue
        wanted = (environment or {}).get("next_entry") or (environment or {}).get("saved_entry")
        if wanted in entries:
            return entries[wanted], True, "entry %s, named in grubenv" % wanted
        pattern = parse_loader_entry(host.read_text(folder + "/loader.conf").text).get("default", "")
        matching = [name for name in entries if pattern and fnmatch.fnmatchcase(name, pattern.replace(".conf", ""))]
        newest = max(matching or entries, key=lambda name: _versions.order(entries[name]))
        if matching:
            return entries[newest], True, "entry %s, the default of %s/loader.conf" % (newest, folder)
        return entries[newest], False, "entry %s, the newest in %s/entries" % (newest, folder)
    return None
