# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stops a module: from being loaded by name, by the kernel itself (autoload), at boot. PRIVATE to the collection.

Decided from configuration and never from modprobe's exit status, which is 0 for C(install X /bin/true). Effects are
those of kmod (tools/modprobe.c, libkmod/libkmod-module.c), systemd (src/shared/module-util.c) and the kernel
(kernel/module/main.c).
"""

import re

from .. import _host, _module_data, _names
from .._parse.modprobe_conf import parse_modprobe_conf
from ._conf_dirs import effective_files

WAYS = ("load", "autoload", "boot")
BLOCKS, UNCLEAR = "blocks", "unclear"
TEXT_LIMIT = 160

# Commands after which no module is loaded. modprobe(8) runs the command through the shell in place of the load.
_NO_OPERATION = re.compile(r"^(?:exec\s+)?(?:/usr)?(?:/bin/)?(?:true|false|:|echo(?:\s[^|;&]*)?|exit\s+\d+|/dev/null)\s*(?:#.*)?$")
# The signature that the kernel's scripts/sign-file.c appends to a module file.
_SIGNATURE = b"~Module signature appended~\n"


class Block(object):
    """One reason: the ways it stops (C(ways)), C(by) what, C(effect), the C(module) it is about, and where it stands."""

    def __init__(self, ways, by, effect, module, path, line, text):
        self.ways = ways
        self.by = by
        self.effect = effect
        self.module = module
        self.path = path
        self.line = line
        self.text = text

    def as_dict(self):
        return {"for": list(self.ways), "by": self.by, "effect": self.effect, "module": self.module,
                "file": self.path, "line": self.line, "text": self.text[:TEXT_LIMIT]}


class Policy(object):
    """Everything on the node that may stop modules; C(kernel_wide) holds the blocks that hit all of them alike."""

    def __init__(self, host, cmdline, live):
        self.status, paths = effective_files(host, "modprobe.d")
        self.unread = []
        self.directives = []
        for path in paths:
            text = host.read_text(path)
            if not text.ok:
                self.unread.append({"file": path, "line": 0, "text": text.status})
                self.status = text.status
                continue
            directives, unread = parse_modprobe_conf(text.text)
            self.directives += [(path, directive) for directive in directives]
            self.unread += [{"file": path, "line": line, "text": bad[:TEXT_LIMIT]} for line, bad in unread]
        self.denied = _listed(cmdline, "module_blacklist")
        self.blacklisted = _listed(cmdline, "modprobe.blacklist")
        self.kernel_wide = _kernel_wide(host, cmdline) if live else []
        self.signatures = _signatures_enforced(host) if live else None

    def blocks_of(self, host, kernel, name, builtin_or_loaded):
        """[Block] for the module C(name) on C(kernel); C(builtin_or_loaded(name)) tells of a dependency that needs no load."""
        found = list(self.kernel_wide) + self._named(name)
        for dependency in kernel.dep.get(name, ("", []))[1]:
            if not builtin_or_loaded(dependency):
                # Of a dependency kmod runs the install command and the kernel checks its list; blacklist does not count.
                found += [block for block in self._named(dependency) if block.by in ("install", "module_blacklist")]
        if self.signatures:
            found += self._signature(host, kernel, name)
        return found

    def _named(self, name):
        found = []
        if name in self.denied:
            found.append(Block(WAYS, "module_blacklist", BLOCKS, name, "/proc/cmdline", 1, "module_blacklist=%s" % name))
        if name in self.blacklisted:
            found.append(Block(("autoload", "boot"), "modprobe.blacklist", BLOCKS, name, "/proc/cmdline", 1, "modprobe.blacklist=%s" % name))
        asked_as = _asked_as(name)
        installed = False
        for path, directive in self.directives:
            if directive.keyword == "blacklist" and directive.name == name:
                found.append(Block(("autoload", "boot"), "blacklist", BLOCKS, name, path, directive.line, directive.text))
            elif directive.keyword == "install" and directive.name == name and not installed:
                installed = True  # kmod takes the first install command of a module and no other.
                effect = install_effect(name, directive.rest)
                if effect:
                    found.append(Block(WAYS, "install", effect, name, path, directive.line, directive.text))
            elif directive.keyword == "alias" and directive.rest in ("off", "null", "/dev/null"):
                if directive.name == name:
                    found.append(Block(WAYS, "alias_off", BLOCKS, name, path, directive.line, directive.text))
                elif directive.name in asked_as:
                    found.append(Block(("autoload",), "alias_off", BLOCKS, name, path, directive.line, directive.text))
        return found

    def _signature(self, host, kernel, name):
        path = kernel.dep.get(name, (None,))[0]
        if path is None:
            return []
        where = path if path.startswith("/") else kernel.tree + "/" + path
        signed = None
        if path.endswith(".ko"):
            status, data = host.read_bytes(where, _host.INDEX_LIMIT)
            signed = data.endswith(_SIGNATURE) if status == _host.OK else None
        elif path.endswith(".gz"):
            text = host.read_text(where, _host.INDEX_LIMIT)
            signed = text.text.endswith(_SIGNATURE.decode("ascii")) if text.ok else None
        if signed:
            return []
        effect, text = (BLOCKS, "the file carries no signature") if signed is False else (UNCLEAR, "its signature cannot be read")
        return [Block(WAYS, self.signatures[0], effect, name, self.signatures[1], 1, "%s: %s" % (self.signatures[2], text))]


def install_effect(name, command):
    """C(blocks) for a command that loads nothing, None for one that passes the load on, C(unclear) for any other."""
    if _NO_OPERATION.match(command.strip().strip("\"'")):
        return BLOCKS
    words = re.split(r"[\s;|&]+", command)
    own_name = [word for word in words if _names.of_file(word) == name or _names.normalise(word) == name]
    ignoring = any(word == "--ignore-install" or re.match(r"^-[a-z]*i[a-z]*$", word) for word in words)
    loader = any(word.rsplit("/", 1)[-1] == "insmod" or (word.rsplit("/", 1)[-1] == "modprobe" and ignoring) for word in words)
    return None if own_name and loader else UNCLEAR


def _asked_as(name):
    names = set(_module_data.ASKED_AS.get(name, ()))
    if name.startswith("xt_"):
        names.update(prefix + name[3:] for prefix in _module_data.XT_ASKED_AS)
    return names


def _listed(cmdline, key):
    names = set()
    for found, value in cmdline:
        if found.replace("-", "_") == key.replace("-", "_") and value:
            names.update(_names.normalise(name) for name in value.split(",") if name)
    return names


def _kernel_wide(host, cmdline):
    found = []
    # Cannot be undone before the next boot (kernel Documentation/admin-guide/sysctl/kernel.rst).
    if host.read_text("/proc/sys/kernel/modules_disabled").text.strip() == "1":
        found.append(Block(("load", "autoload"), "modules_disabled", BLOCKS, "", "/proc/sys/kernel/modules_disabled", 1, "1"))
    if any(key == "nomodule" for key, _value in cmdline):
        found.append(Block(WAYS, "nomodule", BLOCKS, "", "/proc/cmdline", 1, "nomodule"))
    helper = host.read_text("/proc/sys/kernel/modprobe")
    if helper.ok and not helper.text.strip():
        found.append(Block(("autoload",), "kernel_modprobe", BLOCKS, "", "/proc/sys/kernel/modprobe", 1, "(empty)"))
    return found


def _signatures_enforced(host):
    """(by, file, text) where the running kernel refuses unsigned modules, else None."""
    if host.read_text("/sys/module/module/parameters/sig_enforce").text.strip() == "Y":
        return "sig_enforce", "/sys/module/module/parameters/sig_enforce", "Y"
    lockdown = re.search(r"\[(\w+)\]", host.read_text("/sys/kernel/security/lockdown").text)
    if lockdown and lockdown.group(1) in ("integrity", "confidentiality"):
        return "lockdown", "/sys/kernel/security/lockdown", lockdown.group(1)
    return None
