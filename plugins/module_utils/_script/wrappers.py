# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that run the command after their own options, if it affects this node. PRIVATE to the collection."""

import re

# Name: (short options with a value, operands before the command), after the manual of each.
_WRAPPERS = {
    "sudo": ("ugpCDhRTUcrt", 0), "doas": ("uC", 0), "env": ("uC", 0), "nice": ("n", 0), "ionice": ("cnpPu", 0),
    "nohup": ("", 0), "setsid": ("", 0), "stdbuf": ("ioe", 0), "timeout": ("ks", 1), "chrt": ("TPD", 1),
    "taskset": ("", 1), "time": ("fo", 0), "exec": ("a", 0), "command": ("", 0), "builtin": ("", 0), "chroot": ("", 1),
    "busybox": ("", 0), "toybox": ("", 0), "chronic": ("", 0), "systemd-run": ("pueECd", 0), "systemd-inhibit": ("", 0),
    "cgexec": ("g", 0), "prlimit": ("", 0), "numactl": ("CNmip", 0), "strace": ("eops", 0), "setpriv": ("", 0),
    "choom": ("np", 0), "unshare": ("SGwR", 0), "nsenter": ("tSGw", 0), "action": ("", 1), "daemon": ("", 0),
    "unbuffer": ("", 0), "logsave": ("", 1), "with-contenv": ("", 0), "s6-setuidgid": ("", 1),
    "chpst": ("uUbemdopfcrt", 0), "eatmydata": ("", 0), "linux32": ("", 0), "linux64": ("", 0), "pkexec": ("", 0),
    "screen": ("STtcehp", 0), "retry": ("", 0), "runcon": ("tulr", 1), "start-stop-daemon": ("", 0),
    "xtables-multi": ("", 0), "xtables-nft-multi": ("", 0), "xtables-legacy-multi": ("", 0), "flock": ("wE", 1),
    "systemd-cat": ("tp", 0), "dbus-run-session": ("", 0), "gosu": ("", 1), "su-exec": ("", 1), "setuidgid": ("", 1),
    "ltrace": ("eops", 0)}
_LONG_WITH_VALUE = frozenset(
    "--user --group --chdir --chroot --prompt --host --role --type --adjustment --class --classdata --signal "
    "--kill-after --timeout --wait --unset --conflict-exit-code --unit --property --on-active --on-boot --on-startup "
    "--on-unit-active --on-calendar --slice --uid --gid --description --setenv --working-directory --interval --what "
    "--who --why --mode --target --setuid --setgid --nice --service-type --exec --pidfile --name --close-from --input "
    "--output --error --reuid --regid --inh-caps --ambient-caps --bounding-set --machine".split())
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# Programs that run containers, and their options without a value (any other last letter takes one).
CONTAINERS = frozenset(("docker", "podman", "nerdctl", "ctr"))
_FLAGS = frozenset(
    "--detach --interactive --tty --rm --privileged --init --read-only --no-healthcheck --oom-kill-disable "
    "--publish-all --quiet --replace --rmi --disable-content-trust --no-hosts --systemd --tls-verify --net-host "
    "--null-io --with-ns".split())
_FLAG_LETTERS = "ditPq"
_MAY_CHANGE = re.compile(r"--privileged(?:=true)?\Z|(?:--cap-add=)?(?:CAP_)?(?:NET_ADMIN|ALL)\Z", re.I)


def unwrapped(name, arguments):
    """The command after a wrapper, `[]` if nothing runs on this node; None if `name` is not a wrapper."""
    if name == "ip":
        # `ip vrf exec NAME command` stays in the namespace, `ip netns exec` does not.
        plain = [word for word in arguments if not word.startswith("-")]
        return arguments[arguments.index("exec") + 2:] if plain[:2] == ["vrf", "exec"] else []
    if name in CONTAINERS:
        return _container(name, arguments)
    if name not in _WRAPPERS or name == "command" and arguments[:1] in (["-v"], ["-V"]):
        return None
    short, operands = _WRAPPERS[name]
    if name in ("nsenter", "unshare") and not _same_network(name, arguments):
        return []
    if name == "start-stop-daemon":
        return _daemon(arguments)
    number = 0
    while number < len(arguments):
        word = arguments[number]
        if word == "--":
            number += 1
            break
        if name in ("env", "sudo") and _ASSIGNMENT.match(word):
            number += 1
        elif name == "env" and word in ("-S", "--split-string"):
            return [piece for one in arguments[number + 1:] for piece in one.split()]
        elif not word.startswith("-") or len(word) == 1:
            break
        elif word.startswith("--"):
            number += 2 if word in _LONG_WITH_VALUE else 1
        else:
            # The last letter of a group may take the next word.
            number += 2 if word[-1] in short and not any(letter in short for letter in word[1:-1]) else 1
    number += operands
    if name == "env":
        while number < len(arguments) and _ASSIGNMENT.match(arguments[number]):
            number += 1
    rest = arguments[number:]
    return ["sh"] + rest if name == "flock" and rest[:1] in (["-c"], ["--command"]) else rest


def _container(name, arguments):
    """The command of a container that has the network of the node, and the right to change its rules."""
    run = next((number for number, word in enumerate(arguments) if word == "run"), None)
    if run is None or any(word in ("exec", "build", "compose") for word in arguments[:run]):
        return []
    entry, host, may, number = [], False, False, run + 1
    while number < len(arguments) and arguments[number].startswith("-") and len(arguments[number]) > 1:
        word, equal, value = arguments[number].partition("=")
        takes = not equal and word not in _FLAGS and (word.startswith("--") or word[-1] not in _FLAG_LETTERS)
        value = value if equal else arguments[number + 1] if takes and number + 1 < len(arguments) else ""
        host = host or word == "--net-host" or (word in ("--net", "--network") and value == "host")
        may = may or _MAY_CHANGE.match(arguments[number]) is not None or (word == "--cap-add"
                                                                          and _MAY_CHANGE.match(value) is not None)
        entry = [value] if word == "--entrypoint" and value else entry
        number += 2 if takes else 1
    return entry + arguments[number + (2 if name == "ctr" else 1):] if host and may else []


def _daemon(arguments):
    """start-stop-daemon runs what `--exec` or `--startas` name, with the words after `--`."""
    program = [word for option, word in zip(arguments, arguments[1:]) if option in ("--exec", "-x", "--startas", "-a")]
    return program[-1:] + (arguments[arguments.index("--") + 1:]
                           if "--" in arguments else []) if "--start" in arguments or "-S" in arguments else []


def _same_network(name, arguments):
    """False where the command gets another network namespace than that of the node's first process."""
    target, entered = None, False
    for number, word in enumerate(arguments):
        if not word.startswith("-") or word == "--":
            if number and arguments[number - 1] in ("-t", "--target"):
                target = word
                continue
            break
        if word.startswith("--target="):
            target = word[9:]
        elif word.startswith("-t") and len(word) > 2:
            target = word[2:]
        elif word.startswith("--net"):
            entered = True
            if "=" in word:
                return name == "nsenter" and re.match(r"(/host)?/proc/1/ns/net\Z", word.partition("=")[2]) is not None
        elif word == "--all" or not word.startswith("--") and re.search("[na]", word[1:]):
            entered = True
            if word.startswith("-n/"):
                return re.match(r"(/host)?/proc/1/ns/net\Z", word[2:]) is not None
    return not entered or name == "nsenter" and target == "1"
