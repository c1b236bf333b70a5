# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds settings that block the load of a module: by name, by the kernel itself (autoload), or at boot.

Decided from configuration and never from modprobe's exit status, which is 0 for `install X /bin/true`. Effects are
those of kmod (tools/modprobe.c, libkmod/libkmod-module.c), systemd (src/shared/module-util.c) and the kernel
(kernel/module/main.c).

Looks up lines of modprobe.d as kmod does.

Names of install, alias and softdep lines are shell patterns, those of blacklist lines are not; the install command of a
module that has a soft dependency is ignored (kmod libkmod/libkmod-config.c, libkmod/libkmod-module.c).
"""

import fnmatch
import re

from ... import _module_data, _names
from ..._host.host import ABSENT, DENIED, INDEX_LIMIT, OK
from ..._parse.kernel.module_files import parse_modprobe_conf, soft_dependencies
from ..._parse.secrets import masked_line
from ..bounds import cut
from ..conf_dirs import effective_files

TEXT_LIMIT = 160
# Targets of an alias that name no module; a name without a module in the kernel has the same effect.
_OFF = ("off", "null")


class ModprobeConf:
    """`status` as of effective_files, `unread` lines, and `unseen`: files and directories that are not readable, so
    they may contain any line."""

    def __init__(self, host):
        self.status, paths = effective_files(host, "modprobe.d", (".conf", ".alias"))
        self.unread, self.unseen = [], []
        if self.status == DENIED:
            self.unseen.append(("/etc/modprobe.d", "a directory of modprobe.d could not be read"))
        self._exact, self._patterns, self._found, count = {}, [], {}, 0
        for path in paths:
            text = host.read_text(path)
            if text.status == ABSENT:
                continue  # A broken link has no lines, but it still hides files of the same name.
            if not text.ok:
                self.status = text.status
                # The errors in a file that this user may not read are unknown.
                if text.status != DENIED:
                    self.unread.append({"file": path, "line": 0, "text": text.status})
                self.unseen.append((path, "the file is %s" % text.status))
                continue
            directives, unread = parse_modprobe_conf(text.text)
            self.unread += [{"file": path, "line": line, "text": masked_line(bad)[:TEXT_LIMIT]} for line, bad in unread]
            for directive in directives:
                count += 1
                if re.search(r"[*?\[]", directive.name):
                    self._patterns.append((re.compile(fnmatch.translate(directive.name)), (count, path, directive)))
                else:
                    self._exact.setdefault(directive.name, []).append((count, path, directive))

    def about(self, name):
        """[(path, Directive)] that apply to `name`, in the order in which kmod reads them."""
        if name not in self._found:
            found = self._exact.get(name, []) + [row for pattern, row in self._patterns if pattern.match(name)]
            found.sort(key=lambda row: row[0])
            self._found[name] = [(path, directive) for _count, path, directive in found]
        return self._found[name]

    def targets_of(self, alias):
        """Modules that `alias` stands for; kmod looks up aliases before a module of that name."""
        targets = [_names.normalise(re.split("[ \t]", directive.rest)[0]) for _path, directive in self.about(alias)
                   if directive.keyword == "alias"]
        return [target for target in targets if target not in _OFF and _names.is_name(target)]

    def leads_to(self, alias, name):
        """False where an alias line leads `alias` to anything but `name`."""
        return name in self.targets_of(alias) or not any(directive.keyword == "alias"
                                                         for _path, directive in self.about(alias))

    def has_softdep(self, kernel, name):
        """Whether the kernel has one of the soft dependencies of `name`, from modprobe.d or from the module itself."""
        directives = [directive for _path, directive in self.about(name)] + [
            directive for directive in kernel.softdeps() if directive.name == name]
        return any(
            word in kernel.dep or word in kernel.builtin or kernel.aliases_of(word)
            for directive in directives if directive.keyword == "softdep" for word in soft_dependencies(directive.rest))


LOAD_PATHS = ("load", "autoload", "boot")
BLOCKS, UNCLEAR = "blocks", "unclear"

# Commands after which no module is loaded. modprobe(8) runs the command through the shell in place of the load.
_NO_OPERATION = re.compile(r"^(?:exec\s+)?(?:/usr)?(?:/bin/)?(?:true|false|:|echo(?:\s[^|;&$`]*)?|exit\s+\d+|/dev/null)"
                           r"\s*(?:#.*)?$")
_SIG_ENFORCE, _LOCKDOWN = "/sys/module/module/parameters/sig_enforce", "/sys/kernel/security/lockdown"
# The signature that the kernel's scripts/sign-file.c appends to a module file.
_SIGNATURE = b"~Module signature appended~\n"


class Block:
    """One reason: the `load_paths` that it stops, `by`, the kind of setting, `effect`, the `module` that it applies to,
    and its `path`, `line` and `text`."""

    def __init__(self, load_paths, by, effect, module, path, line, text):
        self.load_paths, self.by, self.effect, self.module, self.path = load_paths, by, effect, module, path
        self.line = line
        # An install line is a command, which may contain a password.
        self.text = masked_line(text)

    def as_dict(self):
        return {"for": list(self.load_paths), "by": self.by, "effect": self.effect, "module": self.module,
                "file": self.path, "line": self.line, "text": cut(self.text, TEXT_LIMIT)}


class Policy:
    """Everything on the node that may stop modules; `kernel_wide` holds the blocks that apply to all modules,
    `unknown_load_paths` the load paths that an unreadable switch of the kernel may stop."""

    def __init__(self, host, cmdline, live):
        self.conf = ModprobeConf(host)
        self.status, self.unread = self.conf.status, self.conf.unread
        self._unseen = [Block(LOAD_PATHS, "install", UNCLEAR, "", path, 0, text) for path, text in self.conf.unseen]
        self.denied = _listed(cmdline, "module_blacklist")
        self.blacklisted = _listed(cmdline, "modprobe.blacklist")
        self.kernel_wide, self.unknown_load_paths = _kernel_wide(host, cmdline) if live else ([], ())
        self.signatures = _signatures_enforced(host) if live else None
        self._signed = {}

    def blocks_of(self, host, kernel, name, builtin_or_loaded):
        """[Block] for the module `name` on `kernel`; `builtin_or_loaded(name)`: whether a dependency needs no load."""
        found = list(self.kernel_wide) + self._unseen + self._named(kernel, name)
        for dependency in kernel.dependencies_of(name):
            if not builtin_or_loaded(dependency):
                # For a dependency kmod runs the install command and the kernel checks module_blacklist; blacklist lines
                # have no effect.
                found += [block for block in self._named(kernel, dependency)
                          if block.by in ("install", "module_blacklist")]
        if self.signatures:
            found += self._signature(host, kernel, name)
        return found

    def _named(self, kernel, name):
        found = []
        if name in self.denied:
            found.append(Block(LOAD_PATHS, "module_blacklist", BLOCKS, name, "/proc/cmdline", 1,
                               "module_blacklist=%s" % name))
        if name in self.blacklisted:
            found.append(Block(("autoload", "boot"), "modprobe.blacklist", BLOCKS, name, "/proc/cmdline", 1,
                               "modprobe.blacklist=%s" % name))
        kernel_aliases = _kernel_aliases(name)
        installed = False
        for path, directive in self.conf.about(name):
            if directive.keyword == "blacklist" and directive.name == name:
                found.append(Block(("autoload", "boot"), "blacklist", BLOCKS, name, path, directive.line,
                                   directive.text))
            elif directive.keyword == "install" and not installed:
                # kmod runs only the first install command of a module, and none where it has a soft dependency.
                installed = True
                effect = install_effect(name, directive.rest)
                if effect and not self.conf.has_softdep(kernel, name):
                    found.append(Block(LOAD_PATHS, "install", effect, name, path, directive.line, directive.text))
            elif directive.keyword == "alias" and not self.conf.leads_to(name, name):
                # The kernel requests a module by its kernel alias where it has one, and kmod follows no second alias.
                found.append(Block(("load", "boot") if kernel_aliases else LOAD_PATHS, "alias_off", BLOCKS, name, path,
                                   directive.line, directive.text))
        for alias in sorted(kernel_aliases):
            if not self.conf.leads_to(alias, name):
                found += [Block(("autoload",), "alias_off", BLOCKS, name, path, directive.line, directive.text)
                          for path, directive in self.conf.about(alias) if directive.keyword == "alias"]
        return found

    def _signature(self, host, kernel, name):
        path = kernel.dep.get(name, (None,))[0]
        if path is None:
            return []
        where = path if path.startswith("/") else kernel.tree + "/" + path
        if where not in self._signed:
            self._signed[where] = _is_signed(host, where)
        signed = self._signed[where]
        if signed:
            return []
        effect, text = ((self.signatures[3], "the file carries no signature")
                        if signed is False else (UNCLEAR, "its signature could not be read"))
        return [Block(LOAD_PATHS, self.signatures[0], effect, name, self.signatures[1], 1,
                      "%s: %s" % (self.signatures[2], text))]


def _is_signed(host, path):
    """Whether a module file carries a signature; None where that is unknown."""
    if path.endswith(".ko"):
        status, data = host.read_bytes(path, INDEX_LIMIT)
        return data.endswith(_SIGNATURE) if status == OK else None
    # The file is compressed: kmod can unpack it, but the standard library of the node may not.
    answer = host.run(["modinfo", "-F", "sig_id", path])
    return bool(answer.out.strip()) if answer.ok else None


def install_effect(name, command):
    """`blocks` for a command that loads nothing, None for one that passes the load on, `unclear` for any other."""
    if _NO_OPERATION.match(command.strip().strip("\"'")):
        return BLOCKS
    if re.search(r"\|\||#|\s(?:-n|--dry-run|--show)\s", command):
        return UNCLEAR  # The rest of the line may not be run.
    words = re.split(r"[\s;|&]+", command)
    own_name = [word for word in words if _names.of_file(word) == name or _names.normalise(word) == name]
    ignoring = any(word == "--ignore-install" or re.match(r"^-[a-z]*i[a-z]*$", word) for word in words)
    loader = any(word.rsplit("/", 1)[-1] == "insmod" or (word.rsplit("/", 1)[-1] == "modprobe" and ignoring)
                 for word in words)
    return None if own_name and loader else UNCLEAR


def _kernel_aliases(name):
    names = set(_module_data.KERNEL_ALIASES.get(name, ()))
    if name.startswith("xt_"):
        names.update(prefix + name[3:] for prefix in _module_data.XT_ALIAS_PREFIXES)
    return names


def _listed(cmdline, key):
    names = set()
    for found, value in cmdline:
        if found.replace("-", "_") == key.replace("-", "_") and value:
            names.update(_names.normalise(name) for name in value.split(",") if name)
    return names


def _kernel_wide(host, cmdline):
    """([Block], load paths of which it is unknown whether they are stopped)."""
    found, unknown = [], ()
    # Cannot be undone before the next boot (kernel Documentation/admin-guide/sysctl/kernel.rst).
    disabled = host.read_text("/proc/sys/kernel/modules_disabled").text.strip()
    if disabled == "1":
        found.append(Block(("load", "autoload"), "modules_disabled", BLOCKS, "", "/proc/sys/kernel/modules_disabled", 1,
                           "1"))
    elif disabled != "0":
        unknown = ("load", "autoload")
    if any(key == "nomodule" for key, _value in cmdline):
        found.append(Block(LOAD_PATHS, "nomodule", BLOCKS, "", "/proc/cmdline", 1, "nomodule"))
    helper = host.read_text("/proc/sys/kernel/modprobe")
    if helper.ok and not helper.text.strip():
        found.append(Block(("autoload",), "kernel_modprobe", BLOCKS, "", "/proc/sys/kernel/modprobe", 1, "(empty)"))
    return found, unknown if helper.ok else unknown + ("autoload",)


def _signatures_enforced(host):
    """(by, file, text, effect) where the running kernel refuses unsigned modules, or may refuse them, or None."""
    switch = host.read_text(_SIG_ENFORCE)
    if switch.text.strip() == "Y":
        return "sig_enforce", _SIG_ENFORCE, "Y", BLOCKS
    text = host.read_text(_LOCKDOWN)
    lockdown = re.search(r"\[(\w+)\]", text.text)
    if lockdown and lockdown.group(1) in ("integrity", "confidentiality"):
        return "lockdown", _LOCKDOWN, lockdown.group(1), BLOCKS
    # A kernel without one of these options lacks the file of that option (CONFIG_MODULE_SIG,
    # CONFIG_SECURITY_LOCKDOWN_LSM).
    if switch.status != ABSENT and switch.text.strip() != "N":
        return "sig_enforce", _SIG_ENFORCE, "whether signatures are required could not be read", UNCLEAR
    if text.status != ABSENT and not lockdown:
        return "lockdown", _LOCKDOWN, "whether signatures are required could not be read", UNCLEAR
    return None
