# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that get commands as a text, in a file or over a pipe, and what they start. PRIVATE to the collection.

The output of a command, as far as the text of the script determines it.
"""

import re

from .._rules.others.owners import CNI, KUBERNETES, owner_of
from .values import (
    DELETES, FEWER_RULES, FILE, MARK, MARKS, MODULES, NOTHING_KNOWN, OWN_RULES, RULES, SETS, TABLES, unknown,
)

VALUES_LIMIT = 32       # of xargs
_CRON = re.compile(r"[ \t]*(?:@\w+|(?:[\d*/,A-Za-z-]+[ \t]+){4}[\d*/,A-Za-z-]+)[ \t]+(\S.*)")


def known(arguments):
    """Arguments as they are reported with the program that gets them; an unknown part is `?`."""
    return tuple(MARKS.sub("?", one) for one in arguments[:20])


def _shell(walker, node, arguments):
    number, commands, reads = 0, False, False
    while number < len(arguments) and len(arguments[number]) > 1 and arguments[number][0] in "-+":
        word = arguments[number]
        number += 1
        if word == "--":
            break
        if word.startswith("--"):
            number += 1 if word in ("--rcfile", "--init-file") else 0
        else:
            commands, reads = commands or word[0] == "-" and "c" in word, reads or "s" in word
            number += 1 if word[-1] in "oO" else 0
    rest = arguments[number:]
    if commands:
        if rest:
            walker.nested(node, rest[0], walker.offset_of(node, rest[0]), rest[2:])
    elif not rest or reads or rest[0] in ("-", "/dev/stdin"):
        _shell_of_stdin(walker, node, rest if reads else rest[1:])
    elif rest[0] in walker.files:
        walker.nested(node, walker.files[rest[0]], arguments=rest[1:])
    elif MARK not in rest[0] and not walker.elsewhere:
        walker.findings.run(node, rest[0], known(rest[1:]), "run")


def _shell_of_stdin(walker, node, arguments):
    text, span = walker.stdin
    for path in FILE.findall(text):
        walker.findings.run(node, path, (), "run")
    offset = next((redirect.body[0] for redirect in node.redirects
                   if walker.findings.here_text(redirect) == text and redirect.body), None)
    walker.nested(node, MARKS.sub("", text) if FILE.search(text) else text, offset, arguments, span)


def _su(walker, node, arguments):
    """`su - root -c command`, `runuser -u root -- command`."""
    for number, word in enumerate(arguments):
        if word.startswith("--command="):
            walker.nested(node, word[10:])
        elif (word == "--command" or re.match(r"-[a-z]*c\Z", word)) and number + 1 < len(arguments):
            walker.nested(node, arguments[number + 1], walker.offset_of(node, arguments[number + 1]))
        elif word == "--":
            walker.command(node, arguments[number + 1:])
        elif word in ("-u", "--user") and number + 2 < len(arguments) and not arguments[number + 2].startswith("-"):
            walker.command(node, arguments[number + 2:])
        else:
            continue
        return


def _xargs(walker, node, arguments):
    number, replaced = 0, None
    while number < len(arguments) and arguments[number].startswith("-"):
        word = arguments[number]
        if word.startswith(("-I", "-i", "--replace")):
            replaced = word.partition("=")[2] if word[:2] == "--" else word[2:]
            if word == "-I":
                replaced, number = arguments[number + 1] if number + 1 < len(arguments) else "", number + 1
            replaced = replaced or "{}"
        number += 2 if word in ("-n", "-P", "-L", "-d", "-a", "-E", "-s", "--max-args", "--max-procs", "--delimiter",
                                "--arg-file") else 1
    words, text = arguments[number:], walker.stdin[0]
    values = [line for line in (text.split("\n") if replaced else text.split()) if line.strip()] or [NOTHING_KNOWN]
    if not words or values == [OWN_RULES]:
        return
    for value in values[:VALUES_LIMIT]:
        walker.piped += 1
        walker.command(node, [word.replace(replaced, value) for word in words] if replaced else words + [value])
        walker.piped -= 1


def _find(walker, node, arguments):
    number = 0
    while number < len(arguments):
        start, number = number + 1, number + 1
        if arguments[start - 1] in ("-exec", "-execdir", "-ok", "-okdir"):
            while number < len(arguments) and arguments[number] not in (";", "+"):
                number += 1
            walker.command(node, arguments[start:number])


def _at(walker, node, arguments):
    if "-f" in arguments[:-1]:
        walker.findings.run(node, arguments[arguments.index("-f") + 1], (), "run")
    elif not set(arguments) & {"-l", "-r", "-d", "-c", "-q"} or "now" in arguments:
        _shell_of_stdin(walker, node, None)


def _crontab(walker, node, arguments):
    operands = [word for word in arguments if word == "-" or not word.startswith("-")]
    if not set(arguments) & {"-l", "-r", "-e"}:
        run_crontab(walker, node, walker.text_of_file(operands[-1] if operands else "-"), "", walker.stdin[1])


def run_crontab(walker, node, text, path, span=None):
    """The commands of a crontab that the script writes; the system crontab has the user before the command."""
    for line in text.split("\n"):
        found = _CRON.match(line)
        if found:
            command = found.group(1)
            command = command.partition(" ")[2].strip() if path.startswith("/etc/") else command
            walker.nested(node, command.replace("\\%", "%"), None, [], span)


def _after_options(arguments, with_value):
    number = 0
    while number < len(arguments) and arguments[number].startswith("-"):
        number += 2 if arguments[number] in with_value else 1
    return arguments[number:]


def _parallel(walker, node, arguments):
    """GNU parallel, with the values after `:::`."""
    words = _after_options(arguments, ("-j", "-P", "-n", "-N", "--jobs", "-S", "-a"))
    if ":::" in words:
        place = words.index(":::")
        words, values = words[:place], words[place + 1:]
    else:
        values = walker.stdin[0].split("\n")
    for value in values[:VALUES_LIMIT]:
        text = " ".join(words)
        walker.nested(node, text.replace("{}", value) if "{}" in text else "%s %s" % (text, value))


def _watch(walker, node, arguments):
    """watch passes its words to a shell, joined (procps watch.c)."""
    words = _after_options(arguments, ("-n", "--interval", "-q", "--equexit"))
    walker.nested(node, " ".join(words), walker.offset_of(node, words[0]) if len(words) == 1 else None)


def _tmux(walker, node, arguments):
    if arguments[:1] in (["new"], ["new-session"], ["neww"], ["new-window"], ["run"], ["run-shell"]):
        number = 1
        while number < len(arguments) and arguments[number].startswith("-"):
            number += 2 if arguments[number][-1] in "sntcxyFe" else 1
        walker.nested(node, " ".join(arguments[number:]))


def _other_language(walker, node, arguments):
    """The commands of a program on the command line of Perl, Python, Ruby or awk, or the script that they run."""
    if not any("system" in one or "subprocess" in one or "`" in one or "exec" in one for one in arguments):
        if arguments and not arguments[0].startswith("-") and "/" in arguments[0] and MARK not in arguments[0]:
            walker.findings.run(node, arguments[0], known(arguments[1:]), "run")
        return
    from .foreign import written_out
    doubted, walker.findings.doubtful = walker.findings.doubtful, True
    for words, _start, _end in written_out("\n".join(arguments)):
        if len(words) == 1:
            walker.nested(node, words[0])
        else:
            walker.command(node, words)
    walker.findings.doubtful = doubted


def _run_parts(walker, node, arguments):
    if arguments and not walker.elsewhere:
        walker.findings.run(node, arguments[-1], (), "directory")


LAUNCHERS = dict.fromkeys(("sh", "bash", "dash", "ash", "ksh", "mksh", "lksh", "ksh93", "zsh", "rbash", "yash", "posh"),
                          _shell)
LAUNCHERS.update({"su": _su, "runuser": _su, "sg": _su, "script": _su, "xargs": _xargs, "find": _find, "at": _at,
                  "batch": _at, "crontab": _crontab, "run-parts": _run_parts, "parallel": _parallel, "tmux": _tmux,
                  "watch": _watch})
LAUNCHERS.update(dict.fromkeys(("python", "python2", "python3", "perl", "ruby", "awk", "gawk", "mawk", "nawk"),
                               _other_language))


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
