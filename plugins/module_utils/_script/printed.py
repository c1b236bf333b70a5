# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of a command, as far as the text of the script determines it. PRIVATE to the collection."""

import re

from .._rules.others.owners import CNI, KUBERNETES, owner_of
from .values import DELETES, FEWER_RULES, MARKS, MODULES, NOTHING_KNOWN, OWN_RULES, RULES, SETS, TABLES, unknown

_PASSING = frozenset(("sort", "uniq", "tac", "tr", "tee", "nl", "cat", "zcat", "gzip", "gunzip", "xzcat", "bzcat",
                      "envsubst", "dos2unix"))
_FILTERS = frozenset(("grep", "egrep", "fgrep", "zgrep", "sed", "awk", "gawk", "mawk", "cut", "head", "tail", "perl",
                      "python3", "xargs", "column"))
_LISTS = re.compile(r"ip6?tables(?:-legacy|-nft)?\Z")
_SAVES = re.compile(r"ip6?tables(?:-legacy|-nft)?-save\Z")
_LISTING = re.compile(r"-{1,2}[A-Za-z-]*(?:[SL]|list|list-rules)[a-z-]*\Z")
_ESCAPES = re.compile(r"\\([ntr\\])")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_FORMAT = re.compile(r"%(?:[-0-9.]*[sdbqi]|%)")
# In a pattern: the line of a table. _OF_LISTINGS: words that only belong to the format of a listing.
_OF_TABLES = re.compile(r"\\\*|\[\*\]|\*filter")
# s/^-A/iptables -t nat -D/
_DELETING = re.compile(r"-A[^ ]*?[/|,#]((?:\S*ip6?tables\S* [^/|,#]*)?)-D\b")
_MODULE = re.compile(r"\w*(?:ip6?_?table|nf_|nft_|xt_|ip_set|ip_vs)\w*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{2,}")
_OF_LISTINGS = frozenset(("chain", "references", "print", "policy", "accept", "commit", "line", "completed",
                          "generated"))


def printed(name, arguments, read):
    """The output of `name arguments`, with marks of values.py; `read(path)` returns the content of a file."""
    if name == "echo":
        return _echo(arguments)
    if name == "printf":
        return _printf(arguments)
    if name in ("which", "type") or name == "command" and arguments[:1] in (["-v"], ["-V"], ["-p"]):
        return next((one for one in reversed(arguments) if not one.startswith("-")), "") + "\n"
    if name in ("readlink", "realpath", "basename"):
        return arguments[-1] + "\n" if arguments else ""
    if _SAVES.match(name) or _LISTS.match(name) and any(_LISTING.match(one) for one in arguments):
        return RULES
    if name == "nft" and [one for one in arguments if not one.startswith("-")][:2] == ["list", "ruleset"]:
        return RULES
    if name == "lsmod" or name == "ipset" and arguments[:1] in (["list"], ["-L"], ["save"], ["-S"]):
        return MODULES if name == "lsmod" else SETS
    if name in _PASSING or name in _FILTERS:
        text = _input(name, arguments, read)
        return text if name in _PASSING else _filtered(name, arguments, text)
    return NOTHING_KNOWN if name not in (":", "true", "false", "cd", "set", "shift", "[", "test", "[[", "sleep", "exit",
                                         "return") else ""


def _input(name, arguments, read):
    operands = [one for one in arguments if not one.startswith("-") or one == "-"]
    if name in ("tr", "tee"):
        operands = []
    elif name in _FILTERS and name not in ("head", "tail", "cut"):
        operands = operands[1:]
    if not operands or operands == ["-"]:
        return read("-")
    return "\n".join(read(one) for one in operands[:20])


def of_file(path):
    """The content of a file; one file of the kernel contains the names of tables."""
    if path.endswith("_tables_names"):
        return TABLES
    if path == "/dev/null":
        return ""
    return NOTHING_KNOWN if MARKS.match(path) or not path else unknown("<" + path)


def _filtered(name, arguments, text):
    found = [mark for mark in MARKS.findall(text) if mark[:1] in ("=", "<")]
    if not found:
        return NOTHING_KNOWN
    pattern = " ".join(arguments)
    if unknown(found[0]) == MODULES:
        return " ".join(_MODULE.findall(pattern)) or MODULES
    if unknown(found[0]) != RULES:
        return unknown(found[0])
    deleting = _DELETING.search(pattern)
    if deleting:
        return deleting.group(1) + DELETES
    names = [word for word in _NAME.findall(pattern) if word.lower() not in _OF_LISTINGS]
    others = any(owner_of(word + end) in KUBERNETES + CNI for word in names for end in ("", "-", "_"))
    leaves_out = name.endswith("grep") and re.search(r"(?:^| )-[A-Za-z]*v|--invert-match",
                                                     pattern) or name == "sed" and re.search(r"/I?d\b", pattern)
    if leaves_out:
        return FEWER_RULES if others else RULES
    if _OF_TABLES.search(pattern):
        return TABLES
    return OWN_RULES if name.endswith("grep") and names and not others else RULES


def _echo(arguments):
    number = 0
    while number < len(arguments) and re.match(r"-[neE]+\Z", arguments[number]):
        number += 1
    # dash always interprets the escapes.
    return _unescaped(" ".join(arguments[number:])) + "\n"


def _printf(arguments):
    arguments = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not arguments:
        return ""
    form, values = _unescaped(arguments[0]), list(arguments[1:])
    done = []
    for _round in range(100):
        before = len(values)
        done.append(_FORMAT.sub(lambda found: "%" if found.group(0) == "%%" else values.pop(0) if values else "", form))
        if not values or len(values) == before:
            break
    return "".join(done)


def _unescaped(text):
    return _ESCAPES.sub(lambda found: _LETTERS[found.group(1)], text) if "\\" in text else text
