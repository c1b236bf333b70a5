# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""modules.builtin: the modules that are built into a kernel. PRIVATE to the collection.

Sample: `kernel/net/bridge/bridge.ko`. The path is a name, there is no such file (kernel
Documentation/kbuild/kbuild.rst).
"""

from ... import _names


def parse_modules_builtin(text):
    """({name: path}, [lines that could not be read])."""
    modules, unread = {}, []
    for line in text.splitlines():
        name = _names.of_file(line.strip())
        if name:
            modules[name] = line.strip()
        elif line.strip():
            unread.append(line)
    return modules, unread


def parse_modules_builtin_modinfo(text):
    """{alias: name} out of modules.builtin.modinfo, whose records `name.alias=text` end with a zero byte."""
    aliases = {}
    for record in text.split("\0"):
        key, equals, alias = record.partition("=")
        name, dot, field = key.partition(".")
        if equals and dot and field == "alias":
            aliases[alias] = _names.normalise(name)
    return aliases
