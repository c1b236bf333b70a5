# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One command: a function, builtin, wrapper, tool, or a program to read. PRIVATE to the collection."""

import re

from .launchers import LAUNCHERS, known, printed
from .rule_files import loader_of
from .sequence import RESTARTERS, restarted_by
from .tools.tools import is_tool, run_tool
from .values import MARK, MARKS, NOTHING_KNOWN
from .wrappers import CONTAINERS, unwrapped

WRAPPERS_LIMIT = 12     # nested in each other
# Commands that start nothing of interest here, or run elsewhere; scripts are full of them.
_QUIET = frozenset(
    "basename command cat chmod chown cp curl cut date dirname docker echo egrep expr false fgrep getent grep head "
    "hostname id install ip jq kill kubectl ln logger ls lsmod lxc mkdir mktemp mount mv nerdctl nsenter ping podman "
    "printf ps pwd readlink rm rmdir rsync scp sed seq sleep sort ssh stat sync tail tar tee test touch tr true "
    "umount uname uniq unshare wc wget which whoami yes crictl ctr pgrep pkill killall cd [ [[ : alias bg bind "
    "complete disown fg getopts hash help history jobs let mapfile readarray popd pushd dirs shopt times type ulimit "
    "umask unalias wait declare export local readonly typeset ansible vagrant".split())
_COPIES = ("cp", "mv", "install", "ln")
_COPIES_WITH_VALUE = ("-m", "-o", "-g", "-S", "--mode", "--owner", "--group", "--suffix")
_ENDING = {"exit": "exit", "logout": "exit", "return": "return", "break": "break", "continue": "break"}
# The arguments of a script may name one of its functions.
_FROM_ARGUMENTS = re.compile("\0[0-9@*]+(:[^\0]*)?\0")


def run_command(walker, node, words):
    """Follow one command; returns None or one of ENDS, as Walker's methods do."""
    for _number in range(WRAPPERS_LIMIT):
        if not words:
            return None
        path, arguments = words[0], words[1:]
        if path in walker.functions:
            return walker.call(path, arguments)
        if path in _ENDING:
            return _ENDING[path]
        if path in _BUILTINS:
            return _BUILTINS[path](walker, node, arguments)
        name = path.rpartition("/")[2]
        behind = unwrapped(name, arguments)
        if not behind:
            _run_program(walker, node, path, name, arguments)
            break
        if name == "chroot" or name in CONTAINERS:
            # Rules belong to the kernel, programs and units to the other root (systemctl does nothing in a chroot).
            walker.elsewhere += 1
            walker.command(node, behind)
            walker.elsewhere -= 1
            break
        words = behind
    return None


def _run_program(walker, node, path, name, arguments):
    if name in RESTARTERS:
        walker.findings.sequence.restarts(restarted_by(name, arguments))
    if name == "sysctl":
        if not walker.elsewhere:
            # Compiled only where a script has such a command.
            from .sysctls import run_sysctl
            run_sysctl(walker, node, arguments)
    elif name in _QUIET:
        pass
    elif name in LAUNCHERS:
        LAUNCHERS[name](walker, node, arguments)
    elif MARK in path:
        _run_unknown(walker, node, path, arguments)
    elif not run_tool(walker, node, path, arguments) and not walker.elsewhere:
        if path in walker.files:
            walker.nested(node, walker.files[path], arguments=arguments)
        else:
            walker.findings.run(node, path, known(arguments), "run")
    if walker.capture is not None:
        walker.prints(printed(name, arguments, walker.text_of_file))
    if name in _COPIES:
        _copy(walker, node, arguments)
    if name == "tee":
        for one in arguments:
            if not one.startswith("-"):
                walker.write(node, one, walker.stdin[0], "-a" in arguments)


def _copy(walker, node, arguments):
    """A copy into a file of rules that a service loads (man cp, mv, install, ln)."""
    folder, operands, number = None, [], 0
    while number < len(arguments):
        word = arguments[number]
        number += 1
        if word in ("-t", "--target-directory") and number < len(arguments):
            folder, number = arguments[number], number + 1
        elif word.startswith("--target-directory="):
            folder = word.partition("=")[2]
        elif word in _COPIES_WITH_VALUE:
            number += 1
        elif not word.startswith("-"):
            operands.append(word)
    target = operands.pop() if folder is None and len(operands) > 1 else folder or ""
    for source in operands:
        path = target if loader_of(target) else "%s/%s" % (target.rstrip("/"), source.rpartition("/")[2])
        if loader_of(path):
            walker.write(node, path, walker.text_of_file(source))


def _run_unknown(walker, node, path, arguments):
    """A command whose name is unknown: a tool by its variable, a prefix such as $SUDO, or a function."""
    findings = walker.findings
    if run_tool(walker, node, path, arguments):
        return
    doubted, findings.doubtful = findings.doubtful, True
    if arguments and is_tool(arguments[0]) and MARKS.sub("", path) == "":
        walker.command(node, arguments)
    elif _FROM_ARGUMENTS.search(path):
        pattern = re.compile("\\w+".join(map(re.escape, _FROM_ARGUMENTS.sub(MARK, path).split(MARK))) + "\\Z")
        walker.maybe += 1
        for name in [name for name in walker.functions if pattern.match(name)]:
            walker.call(name, arguments if "\0@\0" not in path else None)
        walker.maybe -= 1
    findings.doubtful = doubted


# Builtins
def _exec(walker, node, arguments):
    if not arguments:
        return None
    walker.command(node, unwrapped("exec", arguments))
    return "exit"


def _shift(walker, _node, arguments):
    values = walker.values
    number = int(arguments[0]) if arguments and re.match(r"\d{1,3}\Z", arguments[0]) else 1
    values.arguments = values.arguments[number:] if values.arguments is not None and not walker.maybe else None


def _set(walker, _node, arguments):
    if "--" in arguments:
        walker.values.arguments = arguments[arguments.index("--") + 1:] if not walker.maybe else None
    elif arguments and arguments[0][:1] not in "-+":
        walker.values.arguments = arguments if not walker.maybe else None


def _names(arguments):
    """The arguments that are names of variables."""
    return [one for one in arguments if re.match(r"[A-Za-z_]\w*\Z", one)]


def _read(walker, _node, arguments):
    text = walker.stdin[0]
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    names = _names(arguments)
    columns = [line.split(None, len(names) - 1) for line in lines[:100]]
    for number, name in enumerate(names):
        values = [column[number] for column in columns if number < len(column)]
        walker.values.assign(name, [NOTHING_KNOWN] if not values or text == NOTHING_KNOWN else values)


def _unset(walker, _node, arguments):
    for name in arguments if not walker.maybe else ():
        walker.values.forget(name)
        if arguments[0] == "-f":
            walker.functions.pop(name, None)


def _declare(walker, _node, arguments):
    for one in _names(arguments):
        walker.values.constants.pop(one, None)


def _local(walker, _node, arguments):
    for one in _names(arguments):
        walker.local(one)
        walker.values.forget(one)


def _eval(walker, node, arguments):
    walker.values.constants.clear()
    offset = walker.offset_of(node, arguments[0]) if len(arguments) == 1 else None
    walker.nested(node, " ".join(arguments), offset, walker.values.arguments)


def _trap(walker, node, arguments):
    arguments = arguments[1:] if arguments[:1] == ["--"] else arguments
    if len(arguments) > 1 and arguments[0] not in ("-", "") and not arguments[0].startswith("-"):
        walker.traps.append((node, arguments[0], walker.offset_of(node, arguments[0]), walker.findings.place()))


def _source(walker, node, arguments):
    # The variables that the sourced file sets are not known.
    walker.values.constants.clear()
    if not arguments:
        return
    path = arguments[0]
    if path in walker.files or path in ("/dev/stdin", "-"):
        walker.nested(node, walker.text_of_file(path))
    elif not walker.elsewhere:
        walker.findings.run(node, path, known(arguments[1:]), "source")


_BUILTINS = {
    "exec": _exec, "shift": _shift, "set": _set, "read": _read, "unset": _unset, "export": _declare,
    "declare": _declare, "typeset": _declare, "readonly": _declare, "local": _local, "eval": _eval, "trap": _trap,
    ".": _source, "source": _source}
