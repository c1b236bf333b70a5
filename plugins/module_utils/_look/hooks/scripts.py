# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts of a node: which files are worth parsing, and their content.

A file is parsed if it contains a word of the firewall, or names a script that does. Others are dropped."""

import posixpath
import re

from ..._host.host import OK
from ..._script.words import folders_started, mentions, mentions_settings
from .live import is_passed_over

READABLE, OTHER = "readable", "other"
_SHEBANG = re.compile(r"#![ \t]*(\S+)([^\n]*)")
_NFT = re.compile(r"#![^\n]*\bnft\b")
# What _script/script.py reads.
_READ = re.compile(
    r"(?:(?:r?ba|da|a|[mlp]?d?k|z)?sh(?:93)?|busybox|openrc-run|runscript|init-d-script|with-contenv|nft|(?:python|"
    r"perl|ruby)[\d.]*)\Z")
# Paths that a file names. The excluded folders hold no scripts: file systems of the kernel, devices, data that a run
# leaves behind, and the lists of apt. The slash comes first, so that the search jumps from one to the next.
_PATHS = re.compile(rb"/(?<![\w.$}%/-]/)(?!dev/|proc/|sys/|run/|tmp/|var/(?:log|run|lock|lib/apt)/)[\w.+@-]+(?:/[\w.+@-"
                    rb"]+){1,7}")
# A script beside the one that starts it, or in a folder that only that script knows: ./a, "$HERE/a", ${0%/*}/a. One of
# three characters comes first, so that the search jumps from one to the next.
_BESIDE = re.compile(rb"[.\"$](?<![\w./].)(?:(?<=\.)|(?:(?<=\$)|(?<=\")\$)(?:\w+|\{[^}\n]{1,80}\}|\([^\n"
                     rb"]{1,80}?\)))\"?/([\w.+@-]+(?:/[\w.+@-]+){0,3})")
# Every match of _BESIDE contains one of these.
_BESIDE_SIGNS = (b"$", b"./", b".\"/")
_FOLDERS = re.compile(r"(?:\bcd[ \t]+|^WorkingDirectory=)[\"']?(/[\w./+@-]+)", re.MULTILINE)
_READS_IN = re.compile(rb"^[ \t]*(?:\.|source)[ \t]+\S", re.MULTILINE)
_BESIDE_UNKNOWN = re.compile("\0[^\0]*\0/")
_DEPTH, _PATHS_LIMIT, _FOLDER_LIMIT, _FOLDERS_LIMIT = 5, 200, 200, 8
# A name of at least this length is not an everyday word.
_NAME_LENGTH = 4


class Script:
    """`path` in the tree with all links followed, `text`, `mode` bits, `language`, `is_nft` where nft reads it."""

    def __init__(self, path, found):
        self.path = path
        self.text = _text(found.data)
        self.mode = found.mode
        self.language = language_of(self.text)
        self.is_nft = _NFT.match(self.text) is not None


class Scripts:
    """Reads through one `Walk`; every file is judged once. `other_languages` are paths of hits in a language that is
    not parsed here, `names` are names that make a file worth reading."""

    def __init__(self, host, walk, is_debian):
        self.other_languages = set()
        self._is_debian, self._host, self._walk = is_debian, host, walk
        self._scripts, self._wanted, self._programs = {}, {}, set()
        # {path: notes on its parts, and on scripts that it starts, that could not be read}
        self._unseen = {}
        self.names = []

    def know(self, names):
        """Add names of units and scripts that flush: a file that contains one of them is worth reading. Names that
        contain a word of the firewall are not needed."""
        coded = {name.encode("utf-8", "surrogateescape") for name in names}
        coded = {name for name in coded if len(name) >= _NAME_LENGTH and not mentions(name)}
        if not coded.issubset(self.names):
            self.names = sorted(coded.union(self.names))
            # A file that was not worth reading may contain one of the new names.
            self._wanted = {path: True for path, wanted in self._wanted.items() if wanted}

    def names_a_hit(self, data):
        """Whether the bytes contain a word of the firewall or one of `names`."""
        if mentions(data) or mentions_settings(data):
            return True
        for name in self.names:
            if name in data:
                return True
        return False

    def is_script_wanted(self, data):
        """The same for a script that only people run: a file that it sources may flush; a program that it starts is
        judged alone."""
        return self.names_a_hit(data) or (_READS_IN.search(data) is not None and self.is_wanted(data))

    def is_wanted(self, data):
        """Whether a file of these bytes is worth parsing."""
        return self._asks(data, _DEPTH, "/")

    def _asks(self, data, depth, folder):
        if self.names_a_hit(data):
            return True
        started = folders_started(data)
        if started is None or started and depth == 0:
            return True
        if b"/" not in data or depth == 0:
            return False
        paths = {_text(path) for path in _PATHS.findall(data)[:_PATHS_LIMIT]}
        for started_folder in started:
            paths.update(self._in(_text(started_folder)))
        beside = ([_text(name) for name in _BESIDE.findall(data)[:_PATHS_LIMIT]]
                  if any(sign in data for sign in _BESIDE_SIGNS) else ())
        if beside:
            paths.update(posixpath.normpath(posixpath.join(each, name)) for each in [folder] + folders_in(_text(data))
                         for name in beside)
        return any(self._is_hit(path, depth) for path in sorted(paths))

    def _is_hit(self, path, depth):
        if path not in self._wanted:
            self._wanted[path] = False  # A script that names itself proves nothing.
            if path in self._programs:
                return False
            with self._host.noting() as unseen:
                self._wanted[path] = self._is_hit_now(path, depth)
            self._unseen[path] = unseen
        else:
            # The path was read for another caller; this caller needs the notes on unread files as well.
            self._tell_again(path)
        return self._wanted[path]

    def _is_hit_now(self, path, depth):
        status, found = self._walk.read(path)
        if found is None:
            self._programs.add(path)
        if status != OK or found is None or language_of(found.data[:200].decode("utf-8", "replace")) == OTHER:
            return False
        return self._asks(found.data, depth - 1, posixpath.dirname(path)) and self._walk.whole(found) is not None

    def _tell_again(self, path):
        for unseen, why in self._unseen.get(path, {}).items():
            self._host.note(unseen, why)

    def _in(self, folder):
        return [folder.rstrip("/") + "/" + name for name in self._host.list_dir(folder)[1][:_FOLDER_LIMIT]]

    def of(self, path):
        """`Script` at a path, None where no text can be read."""
        if path not in self._scripts:
            with self._host.noting() as unseen:
                real = self._host.tree_path(path)
                found = self._walk.read(real)[1] if real else None
                self._scripts[path] = Script(real, found) if found is not None and self._walk.whole(found) else None
            self._unseen[path] = unseen
        else:
            self._tell_again(path)
        return self._scripts[path]

    def find(self, name, folders):
        """The path in the tree that a script means by `name`, or None; a relative path is looked up in `folders`."""
        name = _BESIDE_UNKNOWN.sub("./", name) if name.startswith("\0") else name
        if "\0" in name:
            return None
        if "/" not in name:
            return self._host.find_binary(name)
        paths = [posixpath.normpath(posixpath.join(folder, name)) for folder in folders]
        return next((path for path in paths if self._host.is_file(path)), None)

    def in_folder(self, folder):
        """Paths of the executable files that run-parts would start."""
        status, names = self._host.list_dir(folder)
        paths = [folder.rstrip("/") + "/" + name for name in names[:_FOLDER_LIMIT]
                 if status == OK and not is_passed_over(name, self._is_debian())]
        return [path for path in paths if self._is_executable(path)]

    def _is_executable(self, path):
        found = self._host.stat(path)
        return found is not None and self._host.is_file(path) and bool(found.st_mode & 0o111)


def folders_in(text):
    """Folders that a script or a unit changes to before it starts a program."""
    return _FOLDERS.findall(text)[:_FOLDERS_LIMIT]


def _text(data):
    return data.decode("utf-8", "surrogateescape")


def language_of(text):
    """Whether a script is in a language that is parsed here (READABLE or OTHER), such as that of a shell. A script
    without a first line `#!` is in the language of a shell."""
    found = _SHEBANG.match(text)
    if found is None:
        return READABLE
    name = posixpath.basename(found.group(1))
    if name == "env":
        words = [word for word in found.group(2).split() if not word.startswith("-") and "=" not in word]
        name = posixpath.basename(words[0]) if words else ""
    return READABLE if _READ.match(name) else OTHER
