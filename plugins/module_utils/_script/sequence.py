# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script does after it removes rules: saves and adds others, restarts Kubernetes. PRIVATE to the collection.

The order is the order of execution, not that of the text: functions are defined before their calls. Events in one arm
of a condition do not precede events in another arm.
"""

import contextlib

SAVED, APPENDED, RESTARTED = "saved", "appended", "restarted"
PROGRAMS = KUBELET, KUBE_PROXY = "kubelet", "kube-proxy"
# Programs that contain both are restarted as one (docs.k3s.io, docs.rke2.io, docs.k0sproject.io,
# canonical.com/microk8s/docs).
SERVICES = {
    "kubelet": (KUBELET,), "kube-proxy": (KUBE_PROXY,), "k3s": PROGRAMS, "k3s-agent": PROGRAMS, "rke2-server": PROGRAMS,
    "rke2-agent": PROGRAMS, "k0scontroller": PROGRAMS, "k0sworker": PROGRAMS, "snap.microk8s.daemon-kubelite": PROGRAMS}

_KILLERS = ("pkill", "killall")
# A stopped container or a deleted pod is started again by a program that is not in this script.
_CONTAINERS = {"kubectl": ("restart", "delete"), "docker": ("restart", "stop", "kill", "rm"),
               "podman": ("restart", "stop", "kill", "rm"), "nerdctl": ("restart", "stop", "kill", "rm"),
               "crictl": ("stop", "stopp", "rm", "rmp")}
_PACKAGES = {"snap": ("start", "restart"), "microk8s": ("start",)}
RESTARTERS = frozenset(_KILLERS) | frozenset(_CONTAINERS) | frozenset(_PACKAGES)


def restarted_by(name, arguments):
    """Programs of Kubernetes that one of RESTARTERS restarts."""
    if name in _PACKAGES:
        return PROGRAMS if set(_PACKAGES[name]) & set(arguments) and (name == "microk8s"
                                                                      or "microk8s" in arguments) else ()
    if name in _CONTAINERS and not set(_CONTAINERS[name]) & set(arguments):
        return ()
    return tuple(program for program in PROGRAMS if any(program in word for word in arguments))


def summary_of(after, families):
    """(where rules of these families are saved to or None, restarted programs, whether rules are added) by after()."""
    saved = [value for (what, family), value in after if what == SAVED and family in families]
    events = {event for event, _value in after}
    return (saved[0] if saved else None, tuple(program for program in PROGRAMS if (RESTARTED, program) in events),
            any((APPENDED, family) in events for family in families))


class Sequence:
    """`followed` {key: {(SAVED or APPENDED, family) or (RESTARTED, program): where rules are saved to, or True}}."""

    def __init__(self):
        self.followed = {}
        # {event that did not happen yet: [key]}; a key leaves the list with the event, so that each is touched once.
        self._open = {}
        # {family: [key]}: a program has printed the rules, and they are not written anywhere yet.
        self._printed = {}

    def takes(self, key, families):
        """A command removes rules of these families."""
        for event in [(what, family) for family in families
                      for what in (SAVED, APPENDED)] + [(RESTARTED, program) for program in PROGRAMS]:
            self._open.setdefault(event, []).append(key)

    def prints(self, families):
        """A command prints all rules of these families."""
        for family in families:
            self._printed.setdefault(family, []).extend(self._open.pop((SAVED, family), ()))

    def writes(self, place):
        """The printed rules are written to `place`; returns whether a command removed some of them before."""
        printed, self._printed = self._printed, {}
        for family, keys in printed.items():
            self._note(keys, (SAVED, family), place)
        return any(printed.values())

    def saves(self, families, place):
        """A service saves all rules of these families; returns whether a command removed some of them before."""
        removed = [self._open.pop((SAVED, family), ()) for family in families]
        for family, keys in zip(families, removed):
            self._note(keys, (SAVED, family), place)
        return any(removed)

    def appends(self, families):
        """A command adds a rule."""
        for family in families:
            self._note(self._open.pop((APPENDED, family), ()), (APPENDED, family), True)

    def restarts(self, programs):
        """A command restarts programs of Kubernetes."""
        for program in programs:
            self._note(self._open.pop((RESTARTED, program), ()), (RESTARTED, program), True)

    def _note(self, keys, event, value):
        for key in keys:
            self.followed.setdefault(key, {}).setdefault(event, value)

    def after(self, key):
        """((event, value), ...) that follow it."""
        return tuple(sorted(self.followed.get(key, {}).items()))

    @contextlib.contextmanager
    def branches(self):
        """A context for arms of which the script runs one; its value is called with how each of them ended."""
        lengths = {event: len(keys) for event, keys in self._open.items()}
        apart = []

        def end(ended):
            for event, keys in self._open.items():
                length = lengths.get(event, 0)
                if keys[length:] and ended != "exit":
                    apart.append((event, keys[length:]))
                del keys[length:]
        yield end
        for event, keys in apart:
            self._open.setdefault(event, []).extend(keys)
