# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The effects of a script on the rules of its node. PRIVATE to the collection."""

import re

from .effect import Effect, POSSIBLE, Reading

# Limit of one text. A file has at most one megabyte; a full one holds half as many statements.
STATEMENTS_LIMIT = 50000
_SHEBANG = re.compile(r"#![ \t]*(?:\S*/env[ \t]+(?:-S[ \t]*)?)?(\S+)[ \t]*([^\n]*)")
_SHELL = re.compile(r"(?:r?bash|d?ash|sh|[ml]?ksh(?:93)?|zsh|busybox|openrc-run|runscript|init-d-script|with-contenv)"
                    r"\Z")
# The functions that openrc-run (sh/openrc-run.sh.in) and Debian's init-d-script call, for each argument.
_CALLED = {
    "openrc-run": {"start": ("start_pre", "start", "start_post"), "stop": ("stop_pre", "stop", "stop_post"),
                   "reload": ("reload",), "status": ("status",)},
    "init-d-script": {"start": ("do_start_prepare", "do_start", "do_start_override"),
                      "stop": ("do_stop", "do_stop_override"), "reload": ("do_reload",)}}
_RESTART = {"openrc-run": (), "init-d-script": ("do_restart",)}
_OTHER_LANGUAGE = re.compile(r"(?:python|perl|ruby)[\d.]*\Z")
# No quotes, expansions, patterns or redirects; a file by its path, or the words of one statement.
_LINE = re.compile(r"(?:/(?:[\w.-]+/)*)?nft(?: -f (/etc/[\w./-]+)|((?: [\w./-]+)+))\n\Z")


def read_script(text, arguments=None, called=(), limit=STATEMENTS_LIMIT):
    """What a script does: a Reading. It never fails.

    `arguments`: the arguments that it is started with, None if they are unknown: then every arm of a `case "$1"`
    counts. `called`: names of functions that are called by the script that sources this text. A text without a shebang
    is a shell script. At most `limit` statements are followed.
    """
    plain = read_plain_line(text)
    if plain is not None:
        return plain
    shebang = _SHEBANG.match(text)
    name = shebang.group(1).rpartition("/")[2] if shebang else "sh"
    if name == "nft":
        from .nft_script import read_nft_includes, read_nft_script
        return Reading(read_nft_script(text), read_nft_includes(text), True, None, 0)
    if _OTHER_LANGUAGE.match(name):
        from .foreign import read_foreign
        return read_foreign(text, limit)
    if not _SHELL.match(name):
        return Reading([], [], True, None, 0)
    from .values import RULES
    from .walk import Walker
    walker = Walker(text, arguments,
                    tuple(called) + _called_by("openrc-run" if name == "runscript" else name, arguments), limit)
    walker.read(text)
    saved = {path for path, content in walker.files.items() if RULES in content}
    reading = walker.reading()
    return reading._replace(effects=_with_return(reading.effects, saved, walker.findings.added))


def _called_by(name, arguments):
    """Functions of a script that the program `name`, which runs it, calls for these arguments, or any if unknown."""
    phases = _CALLED.get(name)
    if phases is None:
        return ()
    if not arguments or arguments[0] == "restart" or arguments[0].startswith("?"):
        return tuple(function for phase in sorted(phases) for function in phases[phase]) + _RESTART[name]
    # A custom command (extra_commands) is the function of that name.
    return phases.get(arguments[0], (arguments[0],))


def _with_return(effects, saved, added):
    """The effects, each with whether rules come back in the same script; `added`: where it adds its last rule."""
    done, later = [], None
    for effect in reversed(effects):
        if effect.sort == "restore":
            if effect.file in saved and effect.comes_back == "replaced":
                effect = effect._replace(comes_back="saved")
            later = effect.comes_back
        elif effect.comes_back == "no" and effect.sort in ("flush", "delete"):
            if later in ("saved", "replaced"):
                effect = effect._replace(comes_back=later)
            elif effect.span[0] < added:
                effect = effect._replace(comes_back="replaced")
        done.append(effect)
    return done[::-1]


# A line that consists of one nft command, as in units.
# nftables.service exists on most nodes, disabled. Its lines do not need the grammar of a shell, whose sources a node
# would compile for them on each run.
def read_plain_line(text):
    """The Reading of such a line, None for any other text."""
    found = _LINE.match(text)
    file, statement = found.groups() if found else (None, None)
    # Options change the action, and anything may follow them.
    if not found or statement and " -" in statement:
        return None
    from .nft_script import ALL_FAMILIES, taken_away
    command = text[:-1]
    if file:
        effects = [("apply", ALL_FAMILIES, (), (), None, None, file, "unknown", POSSIBLE)]
    else:
        effects = [what for _start, _end, what in taken_away(statement)]
    return Reading([Effect(1, (0, len(command)), command, *what) for what in effects], [], True, None, 1)
