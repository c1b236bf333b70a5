# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks up lines of modprobe.d as kmod does.

Names of install, alias and softdep lines are shell patterns, those of blacklist lines are not; the install command of a
module that has a soft dependency is ignored (kmod libkmod/libkmod-config.c, libkmod/libkmod-module.c)."""

import fnmatch
import re

from ... import _names
from ..._host.host import ABSENT, DENIED
from ..._parse.kernel.module_files import parse_modprobe_conf, soft_dependencies
from ..._parse.secrets import masked_line
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
