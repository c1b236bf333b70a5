# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of modules: indexes, modprobe.d, modules-load.d and /proc/modules. PRIVATE to the collection."""

import fnmatch
import re

from ... import _names

# modules.dep: the index of a modules tree, as depmod writes it.
# Sample: `kernel/net/netfilter/nf_nat.ko.xz: kernel/net/netfilter/nf_conntrack.ko.xz kernel/lib/libcrc32c.ko.xz`
# Format: kmod tools/depmod.c; paths are relative to the tree, absolute ones lie outside of it (weak-updates).

# Characters that occur only in garbage, or that system calls (NUL) or some locales (anything but ASCII) do not accept.
_NO_PATH = re.compile("[^ -~\n]")
# A valid index has thousands of such lines and every look reads it, so one expression parses all of them.
_LINE = re.compile(r"^([^:\n]*?([^:/\n]+)\.ko(?:\.gz|\.xz|\.zst)?):(.*)$", re.M)


def parse_modules_dep(text):
    """({name: (path, the text for dependencies_of())}, [lines that could not be read])."""
    found = _LINE.findall(text)
    if len(found) == len(text.splitlines()) and not _NO_PATH.search(text):
        return {_names.normalise(name): (path, needs) for path, name, needs in found}, []
    modules, unread = {}, []
    for line in text.splitlines():
        path, colon, needs = line.partition(":")
        name = _names.of_file(path)
        if colon and name and not _NO_PATH.search(path):
            modules[name] = (path, needs)
        elif line.strip():
            unread.append(line)
    return modules, unread


def dependencies_of(needs):
    """Names of the hard dependencies that the index lists after the colon, in its order."""
    return [name for name in map(_names.of_file, needs.split()) if name]


# modules.builtin: the modules that are built into a kernel.
# Sample: `kernel/net/bridge/bridge.ko`. The path is a name, there is no such file (kernel
# Documentation/kbuild/kbuild.rst).
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


# modules.alias: further names under which modules are requested.
# Sample: `alias ipt_MASQUERADE xt_MASQUERADE`. The file has tens of thousands of lines, nearly all of them patterns of
# hardware buses, so it is searched for one name and not turned into a table.
def find_alias(text, name):
    """Names of the modules that `name` stands for, in the order of the file (kmod takes all that match)."""
    wanted = _names.normalise(name)
    # Patterns that could match begin with the same two characters, in either spelling of the underscore.
    start = re.escape(wanted[:2]).replace("_", "[-_]")
    found = []
    # A search for a newline and the text is fast; ^ would be tried at each of a million characters.
    for pattern, module in re.findall(r"\nalias (%s\S*) ([!-.0-~]+)[ \t\r]*(?=\n|\Z)" % start, "\n" + text):
        pattern = _names.normalise(pattern)
        if pattern == wanted or ("*" in pattern and fnmatch.fnmatchcase(wanted, pattern)):
            found.append(_names.normalise(module))
    return found


# modprobe.d: the administrator's settings for loading modules.
# Sample:
#     # a comment
#     blacklist nf_conntrack
#     install ip_vs /bin/true
#     alias ipt_comment off
#     options nf_conntrack hashsize=65536
# Grammar: kmod libkmod/libkmod-config.c kmod_config_parse(), shared/util.c freadline_wrapped(): one directive per line,
# a backslash continues a line, only blanks and tabs separate words, the rest of a line after a zero byte is ignored.
_LEAST_WORDS = {"alias": 3, "blacklist": 2, "options": 3, "install": 3, "remove": 3, "softdep": 3, "weakdep": 3}
# Accepted by older kmod with a warning and without effect on whether a module loads.
_WITHOUT_EFFECT = ("include", "config")


class Directive:
    """One directive: `keyword`, `name` (kmod's spelling), `rest` (unsplit words), `line` number and `text`."""

    def __init__(self, keyword, name, rest, line, text):
        self.keyword, self.name, self.rest, self.line, self.text = keyword, name, rest, line, text


def parse_modprobe_conf(text):
    """([Directive], [(line number, text) that could not be read])."""
    directives, unread = [], []
    for number, line in _joined(text):
        # A character after a backslash is taken as it is.
        words = re.split("[ \t]+", re.sub(r"\\(.)", r"\1", line.partition("\0")[0]).strip(" \t"), maxsplit=2)
        if not line.strip() or words[0].startswith("#"):
            continue
        # The carriage return of a DOS file becomes part of the final word, so that the name matches no module.
        if len(words) >= _LEAST_WORDS.get(words[0], 4) and not words[1].endswith("\r"):
            rest = words[2] if len(words) > 2 else ""
            directives.append(Directive(words[0], _names.normalise(words[1]), rest, number, line.strip()))
        elif words[0] not in _WITHOUT_EFFECT:
            unread.append((number, line.strip()))
    return directives, unread


def soft_dependencies(rest):
    """Modules that the words after `softdep NAME` name; words before the first `pre:` or `post:` are skipped."""
    words = rest.split()
    labels = [index for index, word in enumerate(words) if word in ("pre:", "post:")]
    return [_names.normalise(word) for word in words[labels[0]:] if word not in ("pre:", "post:")] if labels else []


def _joined(text):
    """(number of the first line, text) with continued lines joined."""
    start, parts = 0, []
    for number, line in enumerate(text.split("\n"), 1):
        start = start or number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            parts.append(line[:-1])
            continue
        yield start, "".join(parts + [line])
        start, parts = 0, []
    if parts:
        yield start, "".join(parts)


# modules-load.d: modules to load at boot.
# Sample:
#     # netfilter for the node
#     nf_conntrack
#     br_netfilter
# Grammar: systemd src/modules-load/modules-load.c; the whole stripped line is one name or alias, `#` and `;` start a
# comment, parameters do not exist. OpenRC (init.d/modules) and Debian's /etc/modules take the first word.
def parse_modules_load(text, first_word_only=False):
    """([(line number, name in kmod's spelling)], [(line number, text) that names no module])."""
    names, unread = [], []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        name = line.split()[0] if first_word_only else line
        if _names.is_name(name):
            names.append((number, _names.normalise(name)))
        else:
            unread.append((number, line))
    return names, unread


# /proc/modules: the modules that are loaded.
# Sample: `nf_conntrack 196608 4 nf_nat,xt_conntrack, Live 0xffffffffc0a4c000 (E)`
# Format: kernel/module/procfs.c m_show().
def parse_proc_modules(text):
    """{name: state} with state `Live`, `Loading` or `Unloading`, and the list of lines that could not be read.

    The users listed in a line are loaded as well, even if the text is only a part of the list and has no line for them.
    """
    states, users, unread = {}, set(), []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 5 and fields[4] in ("Live", "Loading", "Unloading"):
            states[fields[0]] = fields[4]
            users.update(name for name in fields[3].split(",") if _names.is_name(name))
        elif fields:
            unread.append(line)
    states.update(dict.fromkeys(users.difference(states), "Live"))
    return states, unread
