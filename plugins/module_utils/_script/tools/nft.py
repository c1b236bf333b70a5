# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an nft command does to tables of other programs. PRIVATE to the collection. Options: nftables src/main.c."""

import re

from ..effect import LIKELY, POSSIBLE
from ..nft_script import ALL_FAMILIES, taken_away
from ..values import MARK, RULES

_WITH_VALUE = ("-D", "--define", "-I", "--includepath", "-d", "--debug")
_FIELDS = ("sort", "families", "tables", "chains", "unit", "verb", "file", "comes_back", "confidence")
_LISTS, _ADDS = re.compile(r"list +ruleset\b"), re.compile(r"(?:add|insert) +rule\b")
_FILE = re.compile("\0<([^\0]+)\0")


def run_nft(walker, node, arguments):
    """Record what `nft arguments` does: its words, or the file it reads."""
    words, path, number = [], None, 0
    while number < len(arguments):
        word = arguments[number]
        number += 1
        if words or not word.startswith("-") or word == "-":
            words.append(word)
        elif word == "--check" or re.match(r"-[a-zA-Z]*[chvV]", word) and word not in ("-D", "-I", "-d"):
            return
        elif word.startswith("--file="):
            path = word[7:]
        elif word in ("--file",) or re.match(r"-[a-zA-Z]*f\Z", word):
            path, number = "".join(arguments[number:number + 1]), number + 1
        elif re.match(r"-[a-zA-Z]*f", word):
            path = word.partition("f")[2]
        elif word in _WITH_VALUE:
            number += 1
    if path is None:
        _tell(walker, node, " ".join(words), False)
    else:
        _file(walker, node, path)


def _file(walker, node, path):
    text = walker.text_of_file(path)
    files = _FILE.findall(text)
    piped = path in ("-", "/dev/stdin")
    _tell(walker, node, text, piped, path if path in walker.files else None)
    if files or MARK in text and not text.replace(RULES, "").strip("\n") == "" and "\0?\0" in text:
        walker.effect(node, "apply", piped, POSSIBLE, families=ALL_FAMILIES, file=files[0] if files else None,
                      comes_back="unknown")


def _tell(walker, node, text, piped, file=None):
    if _LISTS.match(text):
        walker.findings.sequence.prints(ALL_FAMILIES)
    elif _ADDS.match(text):
        walker.findings.sequence.appends(ALL_FAMILIES)
    for _start, _end, what in taken_away(text):
        fields = dict(zip(_FIELDS, what))
        fields["confidence"] = LIKELY if MARK in text and fields["confidence"] == LIKELY else fields["confidence"]
        walker.effect(node, fields.pop("sort"), piped, **dict(fields, file=file))
