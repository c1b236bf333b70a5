# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernels of a tree: which are installed, is their module index sound, how were they built.

Which kernel boots next.

GRUB (grub.cfg, grubenv), the Boot Loader Specification (Fedora's GRUB, systemd-boot, ostree) or links name it, or only
one kernel is installed. In all other cases the newest kernel is named and `certain` is false.
"""

import fnmatch

from ... import _names, _versions
from ..._host.host import ABSENT, INDEX_LIMIT, OK, Text
from ..._names import UNCOLLECTED
from ..._parse.kernel.boot_files import (
    find_entry, is_whole, parse_grub_cfg, parse_grubenv, parse_kernel_config, parse_loader_entry, release_of_file,
)
from ..._parse.kernel.module_files import (
    dependencies_of, find_alias, parse_modprobe_conf, parse_modules_builtin, parse_modules_builtin_modinfo,
    parse_modules_dep,
)
from ..processes import reason_of, status_of_notes

MODULES_DIRECTORIES = ("/lib/modules", "/usr/lib/modules")
# More kernels add no information and would fill the evidence; the running kernel, the next one and the newest are kept.
KERNELS_LIMIT = 6
_CONFIG = "config-"

# Where distributions and kernels keep the configuration a kernel was built with. /proc/config.gz (IKCONFIG_PROC) is
# the running kernel's own and cannot be stale; Fedora keeps the file beside the modules.
CONFIG_FILES = ("/boot/config-{release}", "{tree}/config", "/usr/lib/modules/{release}/config",
                "/usr/lib/ostree-boot/config-{release}", "/usr/lib/kernel/config-{release}",
                "/usr/src/linux-headers-{release}/.config", "{tree}/build/.config")


class Kernel:
    """One kernel of the tree; its files are read when first asked for. `index`: ok, missing, empty, stale, unreadable
    or no_tree, with `index_cause` as a sentence."""

    def __init__(self, host, release, running, configured_aliases=None):
        self._host = host
        self._configured_aliases = configured_aliases or (lambda name: [])
        self._softdeps = None
        self.release, self.running = release, running
        with host.noting() as notes:
            self.tree = next((folder + "/" + release for folder in MODULES_DIRECTORIES
                              if host.is_dir(folder + "/" + release)), None)
        # Why it is not known whether the kernel has a directory of modules; empty where that is known.
        self.unseen = "" if self.tree else next((reason_of(host, path, why) for path, why in notes.items()), "")
        # A bundle without the modules of this kernel proves nothing about them; neither does an image without the
        # modules of any kernel.
        self.collected = self.tree is not None or any(
            status != UNCOLLECTED and (running or status != ABSENT)
            for status in (host.list_dir(folder)[0] for folder in MODULES_DIRECTORIES))
        self.unread = []
        self.dep, self.index, self.index_cause = self._read_index()
        text = self._read("modules.builtin")
        self.builtin_status, self.builtin = text.status, parse_modules_builtin(text.text)[0]
        self._config, self._symbols, self._aliases, self._files = None, None, None, None

    def _read(self, name, limit=INDEX_LIMIT):
        return self._host.read_text(self.tree + "/" + name, limit) if self.tree else Text(ABSENT)

    def _read_index(self):
        if self.unseen:
            return {}, "unreadable", self.unseen
        if not self.collected:
            return {}, "no_tree", "the modules of %s were not collected" % self.release
        if self.tree is None:
            return {}, "no_tree", "no directory of modules exists for %s" % self.release
        text = self._read("modules.dep")
        if text.status == ABSENT:
            return {}, "missing", "%s/modules.dep does not exist: depmod never ran" % self.tree
        if not text.ok:
            return {}, "unreadable", reason_of(self._host, self.tree + "/modules.dep", text.status)
        modules, unread = parse_modules_dep(text.text)
        if unread:
            self.unread = [{"file": self.tree + "/modules.dep", "line": 0, "text": line[:120]} for line in unread[:3]]
        if unread and len(unread) >= len(modules):
            return ({}, "unreadable",
                    "%s/modules.dep is not an index: %d lines cannot be read" % (self.tree, len(unread)))
        order = self._read("modules.order") if not modules else None
        if order is not None and order.status not in (OK, ABSENT):
            return {}, "unreadable", "%s/modules.dep is empty, and %s" % (
                self.tree, reason_of(self._host, self.tree + "/modules.order", order.status))
        if order is not None and order.text.strip():
            return {}, "empty", "%s/modules.dep is empty although modules are installed" % self.tree
        stale = self._staleness(modules)
        return modules, "stale" if stale else "ok", stale or ""

    def _staleness(self, modules):
        """Why depmod has to run again, or None. Directories newer than the index are compared by their content:
        times alone prove nothing on images that clamp them."""
        modprobe = self._host.tree_path("/sbin/modprobe") or self._host.tree_path("/usr/sbin/modprobe") or ""
        if modules and self.has_file("modules.dep.bin") is False and not modprobe.endswith("busybox"):
            return "%s/modules.dep.bin does not exist, and kmod reads only this file" % self.tree
        written = self._host.stat(self.tree + "/modules.dep")
        listed = {path for path, _needs in modules.values()}
        folders = {path.rpartition("/")[0] for path in listed}
        for folder in sorted(folders.union(("updates", "extra", "updates/dkms", "weak-updates"))):
            seen = None if folder.startswith("/") else self._host.stat(self.tree + "/" + folder)
            if written is None or seen is None or seen.st_mtime <= written.st_mtime:
                continue
            status, names = self._host.list_dir(self.tree + "/" + folder)
            news = [name for name in names if _names.of_file(name) and (folder + "/" + name).lstrip("/") not in listed]
            if status == OK and news:
                return "%s/%s/%s is newer than modules.dep and not in it" % (self.tree, folder, news[0])
        return None

    def dependencies_of(self, name):
        """Names of the hard dependencies of a module, [] where the index does not know it."""
        return dependencies_of(self.dep[name][1]) if name in self.dep else []

    def has_file(self, path):
        """Whether a file that the index names exists, None where that is not known; paths in the index are relative to
        the tree or absolute. A bundle mostly holds the index without the files: it shows that one is missing only where
        it holds others of the same folder and ending."""
        place = path if path.startswith("/") else self.tree + "/" + path
        status = self._host.presence(place)
        if status == ABSENT and self._host.read_text(place, 1).status == UNCOLLECTED:
            folder, _slash, name = place.rpartition("/")
            ending = ".bin" if name.endswith(".bin") else ".ko"
            return False if any(ending in other for other in self._host.list_dir(folder)[1]) else None
        return {OK: True, ABSENT: False}.get(status)

    @property
    def config(self):
        """(path or None, whether the file is complete)."""
        if self._config is None:
            self._config = self._read_config()
        return self._config[:2]

    @property
    def config_symbols(self):
        """{symbol: value}; empty where no configuration was found."""
        if self._symbols is None:
            self._symbols = parse_kernel_config(self._config[2] if self.config[0] else "")[0]
        return self._symbols

    def _read_config(self):
        places = ["/proc/config.gz", "/proc/config"] if self.running else []
        places += [place.format(release=self.release, tree=self.tree or "/nowhere") for place in CONFIG_FILES]
        for path in places:
            text = self._host.read_text(path)
            if text.ok and "CONFIG_" in text.text:
                return path, is_whole(text.text), text.text
        return None, False, ""

    def aliases_of(self, name):
        """Modules that `name` is an alias of: by modprobe.d, otherwise by this kernel's own tables."""
        configured = self._configured_aliases(name)
        if configured:
            return configured
        if self._aliases is None:
            builtin = parse_modules_builtin_modinfo(self._read("modules.builtin.modinfo").text)
            self._aliases = (self._read("modules.alias").text,
                             {_names.normalise(alias): module for alias, module in builtin.items()})
        text, builtin = self._aliases
        return find_alias(text, name) or ([builtin[name]] if name in builtin else [])

    def softdeps(self):
        """The softdep directives that the modules themselves contain."""
        if self._softdeps is None:
            self._softdeps = parse_modprobe_conf(self._read("modules.softdep").text)[0]
        return self._softdeps

    def file_of(self, name):
        """Path below the tree of a module file the index does not know, or None. Walks the tree, once."""
        if self._files is None:
            self._files = {}
            folders = [""] if self.tree else []
            while folders:
                folder = folders.pop()
                for entry in self._host.list_dir(self.tree + "/" + folder)[1]:
                    path = (folder + "/" + entry).lstrip("/")
                    module = _names.of_file(entry)
                    if module:
                        self._files.setdefault(module, path)
                    # build and source lead into the kernel's sources.
                    elif "." not in entry and entry not in ("build",
                                                            "source") and self._host.is_dir(self.tree + "/" + path):
                        folders.append(path)
        return self._files.get(name)


def installed_releases(host):
    """(status, releases newest first). A directory counts when it holds files that a kernel package ships
    (modules.order, modules.builtin or a kernel directory): depmod's own files stay behind when a package is removed."""
    releases, status = set(), ABSENT
    with host.noting() as notes:
        for folder in MODULES_DIRECTORIES:
            found, names = host.list_dir(folder)
            # One of the two folders is enough; the other one is often only a link to it.
            status = found if found not in (ABSENT, UNCOLLECTED) or status == ABSENT else status
            for name in names:
                if any(host.exists("%s/%s/%s" % (folder, name, mark))
                       for mark in ("modules.order", "modules.builtin", "kernel")):
                    releases.add(name)
    status = status_of_notes(notes) if notes else status
    return status, sorted(releases, key=_versions.order, reverse=True)


def configured_releases(host):
    """Releases, newest first, whose configuration is in /boot. It is the only evidence of kernels where no directory of
    modules was collected, or where a kernel without CONFIG_MODULES has no such directory."""
    names = [name[len(_CONFIG):] for name in host.list_dir("/boot")[1] if name.startswith(_CONFIG)]
    return sorted((name for name in names if name[:1].isdigit()), key=_versions.order, reverse=True)


def chosen_releases(releases, must):
    """(releases to look at, how many were left out): those in `must` and the newest of the rest."""
    first = [release for release in must if release]
    rest = [release for release in releases if release not in first]
    chosen = sorted(set(first + rest[:max(0, KERNELS_LIMIT - len(set(first)))]), key=_versions.order, reverse=True)
    return chosen, len(set(releases) - set(chosen))


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
