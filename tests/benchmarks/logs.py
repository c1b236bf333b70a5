# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the search of 100 MB of logs takes, compared with grep for the same words, and how much memory it needs.

The module searches a log without errors completely. It reads a log with errors from its end until it has enough errors.
"""

import json
import random
import re
import statistics
import sys

from measure import NODE_PYTHON, TOP, Ansible, Outcome, quiet, take_turns, workplace
from resolve import payload

sys.path.insert(0, str(TOP / ".build"))

FACTS = "log_info"
FACTS_MODULE = "kubenode.netfilter.log_info"
GREP = "grep -E"
SIZE = {False: 100 << 20, True: 4 << 20}
ROUNDS = {False: 7, True: 1}
LIMIT = 4
SECONDS_LIMIT = 1.0
MEMORY_LIMIT = 40
LINES = (
    'I1122 06:38:%02d.720735   19736 proxier.go:668] "Syncing iptables rules" ipFamily="IPv4" fullSync=false\n',
    'I1122 06:38:%02d.720735   19736 proxier.go:662] "SyncProxyRules complete" ipFamily="IPv4" elapsed="52.8ms"\n',
    'I1122 06:38:%02d.720735   19736 service_health.go:121] "Opening healthcheck" service="team-1/app-1" port=30001\n',
)
ERROR = 'E1122 06:38:%02d.720735   19736 proxier.go:1406] "Failed to execute iptables-restore" err="exit status 4"\n'
UNLIKE = ('I1122 06:38:%02d.720735   19736 kubelet.go:2453] "SyncLoop (PLEG): event for pod" pod="%s/%s" '
          'event={"ID":"%032x","Type":"ContainerStarted","Data":"%064x"}\n')


def any_of(words):
    """The expression of grep -E for lines with one of the words."""
    return "|".join(re.sub(r"([][\\.(){}^$*+?|])", r"\\\1", word) for word in words)


def write_log(path, size, error_every=0):
    """A log in which one line in `error_every` is an error."""
    chance = random.Random(size)
    block = "".join((ERROR if error_every and number % error_every == error_every - 1 else chance.choice(LINES))
                    % (number % 60) for number in range(9000))
    with path.open("w", encoding="ascii") as stream:
        for _number in range(size // len(block) + 1):
            stream.write(block)
        stream.truncate(size)


def write_unlike_lines(path, size):
    """A log as kubelet writes it while pods start and stop: all lines differ, even without their digits, and one line
    in 10000 is an error."""
    chance = random.Random(size)

    def letters(number):
        return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=number))

    with path.open("w", encoding="ascii") as stream:
        for number in range(size // 200):
            name, second = "%s-%s" % (letters(8), letters(5)), number % 60
            stream.write(ERROR % second if number % 10000 == 9999 else UNLIKE % (
                second, letters(6), name, chance.getrandbits(128), chance.getrandbits(256)))


def peak_megabytes(path):
    """The peak memory of one call, including the Python interpreter."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)")
    return int(quiet([NODE_PYTHON, "-c", code, NODE_PYTHON, str(path)]))


def measure(smoke):
    from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.candidates import WORDS
    with workplace() as folder:
        log, errors, unlike = folder / "kube-proxy.log", folder / "errors.log", folder / "unlike.log"
        write_log(log, SIZE[smoke])
        write_log(errors, SIZE[smoke], 1000)
        write_unlike_lines(unlike, SIZE[smoke])
        ours = payload(Ansible(folder), FACTS_MODULE, {"src": [str(log)]})
        found = json.loads(quiet([NODE_PYTHON, ours]))
        grep = ["sh", "-c", "grep -cE \"$0\" \"$1\" || test $? = 1", any_of(WORDS), str(log)]
        seconds = take_turns({FACTS: lambda: quiet([NODE_PYTHON, ours]), GREP: lambda: quiet(grep)}, ROUNDS[smoke])
        memory = peak_megabytes(ours)
        (folder / "errors").mkdir()
        ours = payload(Ansible(folder / "errors"), FACTS_MODULE, {"src": [str(errors)]})
        of_errors = json.loads(quiet([NODE_PYTHON, ours]))
        with_errors = take_turns({FACTS: lambda: quiet([NODE_PYTHON, ours])}, ROUNDS[smoke])
        (folder / "unlike").mkdir()
        ours = payload(Ansible(folder / "unlike"), FACTS_MODULE, {"src": [str(unlike)]})
        of_unlike = statistics.median(take_turns({FACTS: lambda: quiet([NODE_PYTHON, ours])}, ROUNDS[smoke])[FACTS])
        memory_of_unlike = peak_megabytes(ours)
    outcome = Outcome("logs", "one log of %d MB without errors; warm cache" % (SIZE[smoke] >> 20), FACTS, GREP, seconds,
                      LIMIT, True, [])
    met = "met" if outcome.median(FACTS) <= SECONDS_LIMIT and memory <= MEMORY_LIMIT else "missed"
    outcome.notes.append("%d MB searched; the whole call %.2f s and %d MB (target at most %.1f s and %d MB: %s)" % (
        found["files"][0]["read_bytes"] >> 20, outcome.median(FACTS), memory, SECONDS_LIMIT, MEMORY_LIMIT, met))
    outcome.notes.append("where one line in a thousand is an error: %d lines of the newest %d MB, %.2f s" % (
        len(of_errors["lines"]), of_errors["files"][0]["read_bytes"] >> 20,
        statistics.median(with_errors[FACTS])))
    met = "met" if of_unlike <= SECONDS_LIMIT and memory_of_unlike <= MEMORY_LIMIT else "missed"
    outcome.notes.append("where no line is like another and one in 10000 is an error: %.2f s and %d MB (%s)" % (
        of_unlike, memory_of_unlike, met))
    return outcome
