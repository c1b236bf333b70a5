# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that set sysctls of the running kernel. PRIVATE to the collection.

Samples:
    sysctl -w net.bridge.bridge-nf-call-iptables=0       procps and busybox; -w may be left out
    sysctl -p /etc/sysctl.d/bridge.conf                  without a file, /etc/sysctl.conf
    echo 0 > /proc/sys/net/ipv4/ip_forward
"""

import re

from .effect import MARK

RUNNING, OLD_FILE = "/proc/sys", "/etc/sysctl.conf"
# Without these a pod's packets do not leave its node, or bridged packets bypass the rules.
NEEDED = ("net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding", "net/bridge/bridge-nf-call-iptables",
          "net/bridge/bridge-nf-call-ip6tables")
# One switch with two names.
_SAME = {"net/ipv4/conf/all/forwarding": "net/ipv4/ip_forward"}
_LOADS = re.compile(r"-[A-Za-z]*[pf]\Z|--load\Z")


class Sysctls:
    """What a script writes. A key counts where the script sets it to 0 and nowhere to another value: a firewall script
    turns forwarding off while it loads its rules, and an init script at its stop."""

    def __init__(self):
        self._off, self._others, self._loads = [], set(), []

    def take(self, span, key, value):
        """A command at `span` writes `value` to `key`."""
        if key in NEEDED and value == "0":
            self._off.append((span, key))
        elif key in NEEDED or MARK in key:
            self._others.update((key, _SAME.get(key, key)))

    def load(self, span, path):
        """A command at `span` applies the file at `path`."""
        self._loads.append((span, path))

    def end(self, effect):
        """Call `effect` for what the script leaves at 0, and for the files that it applies."""
        for span, key in self._off:
            if _SAME.get(key, key) not in self._others:
                effect(None, "settings", tables=(shown(key),), file=RUNNING, span=span)
        for span, path in self._loads:
            kept = tuple(sorted(map(shown, self._others)))
            effect(None, "copy", tables=(path,), chains=kept, file=RUNNING, span=span)


def run_sysctl(walker, node, arguments):
    """Note what `sysctl` with these arguments writes."""
    span, loads, number = walker.findings.span(node), False, 0
    for word in arguments:
        if word.startswith("--load="):
            number, loads = number + 1, True
            _load(walker, span, word.partition("=")[2])
        elif word.startswith("-"):
            loads = loads or _LOADS.match(word) is not None
        elif loads:
            number += 1
            _load(walker, span, word)
        elif "=" in word:
            key, _equals, value = word.partition("=")
            walker.sysctls.take(span, key_of(key), value.strip())
    if loads and not number:
        _load(walker, span, OLD_FILE)


def _load(walker, span, path):
    from .._parse.assignments import parse_sysctl_conf
    if path == "-" or path in walker.files:
        for row in parse_sysctl_conf(walker.text_of_file(path)):
            walker.sysctls.take(span, row.key, row.value)
    elif path.startswith("/") and MARK not in path:
        walker.sysctls.load(span, path)


def key_of(name):
    """The path below /proc/sys of a key as `sysctl` takes it."""
    from .._parse.assignments import path_of
    return path_of(name.strip())


def shown(key):
    return "%s=0" % key.replace("/", ".")


def harmful(text):
    """The lines of a file of sysctl.d, in short form, that turn off what Services need; the last one counts."""
    from .._parse.assignments import parse_sysctl_conf
    values = {each.key: each.value for each in parse_sysctl_conf(text)}
    return tuple(shown(key) for key in NEEDED if values.get(key) == "0")
