# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command line of a unit without its flushing commands. PRIVATE to the collection.

A part of the line is edited only if it is written there exactly as its shell reads it; otherwise the whole line has to
be removed.
"""

import re

from ..._parse.commands.embedded import shell_words
from ..script import read_script
from . import removal

_SHELL = re.compile(r"(?:.*/)?(?:ba|da|k|a)?sh\Z")
# Matches a list of commands that became empty.
_EMPTY = re.compile(r"(?:[\s;&|:]|\btrue\b)*\Z")


def without_flush(text, argv, restores):
    """`text` (after its prefixes) without its commands that destroy rules, `""` if nothing is left, None if it cannot
    be edited.

    `restores`: a restore command gets `--noflush` and stays; otherwise it is removed as well.
    """
    script = _script_of(argv)
    effects = read_script(script if script is not None else shell_words(argv)).effects
    kept = [effect for effect in effects if restores and effect.sort == "restore" and effect.comes_back != "saved"]
    gone = [effect for effect in effects if effect not in kept]
    if not effects:
        return None
    if script is None:
        return "" if not kept or gone else _with_noflush(text, [text])
    if _EMPTY.match(removal.edited(script, [effect.span for effect in gone], nothing=removal.NOTHING)):
        return ""
    for effect in gone:
        text = _replaced(text, script[effect.span[0]:effect.span[1]])
    return _with_noflush(text, [script[effect.span[0]:effect.span[1]] for effect in kept])


def _script_of(argv):
    """The script that a shell runs with -c, or None for a line without a shell."""
    if len(argv) > 2 and _SHELL.match(argv[0]):
        for option, word in zip(argv[1:], argv[2:]):
            if re.match(r"-[a-z]*c\Z", option):
                return word
    return None


def _replaced(text, source):
    source = _written(text, source)
    return text.replace(source, removal.NOTHING) if source else None


def _with_noflush(text, sources):
    for source in sources:
        source = _written(text, source)
        place = removal.noflush_at(source) if source else None
        if place is None:
            return None
        place += text.index(source)
        text = text[:place] + " --noflush" + text[place:]
    return text


def _written(text, source):
    """The source as it stands in the line, or None: systemd turns two dollar signs into one (man systemd.service)."""
    forms = [form for form in (source, source.replace("$", "$$")) if text is not None and text.count(form) == 1]
    return forms[-1] if forms else None
