# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switching groups of alternatives and links, all of them or none.

On a live node the distribution's own tool switches them, and the result is read again. In an image no program is run:
this code writes the state file and the links that the tool would write.

The backend that a node should use.
"""

from ... import _errors
from ..._host import write
from ..._look.backends.groups import PLAIN, RED_HAT, UPDATE
from ..files import each_of

TOOL_SECONDS = 60.0
_TOOLS = {UPDATE: ("update-alternatives",), RED_HAT: ("alternatives", "update-alternatives")}


class GroupChange:
    """One group: `before` and `after` are its states, `{"mode": auto, manual or None, "links": {path: target or
    None}}`. `mode_first` is false for an undo. So a killed run never leaves the former mode with the new links: a group
    in that state was switched by another user."""

    def __init__(self, name, mechanism, state_file, before, after, mode_first=True):
        self.name, self.mechanism, self.state_file, self.before, self.after = name, mechanism, state_file, before, after
        self.mode_first = mode_first

    def make(self, host):
        self._switch(host, self.after, self.mode_first)

    def undo(self, host):
        """Put the group back, however far the change got."""
        if self.state_now(host) != self.before:
            self._switch(host, self.before, not self.mode_first)

    def _switch(self, host, state, mode_first):
        if self.mechanism != PLAIN and host.commands:
            self._by_tool(host, state)
        else:
            self._by_hand(host, state, mode_first)
        now = self.state_now(host)
        if now != state:
            raise _errors.ChangeFailed("%s was switched, but its state is now %s"
                                       % (self.name, _shown(self.name, now).strip().replace("\n", ", ")))

    def _by_tool(self, host, state):
        tool = next((name for name in _TOOLS[self.mechanism] if host.find_binary(name)), None)
        if tool is None:
            raise _errors.ChangeFailed("%s cannot be switched: %s is not installed"
                                       % (self.name, _TOOLS[self.mechanism][0]))
        path = state["links"]["/etc/alternatives/" + self.name]
        done = host.run([tool, "--auto", self.name] if state["mode"] == "auto" else [tool, "--set", self.name, path],
                        TOOL_SECONDS)
        if not done.ok:
            raise _errors.ChangeFailed("%s could not switch %s: %s"
                                       % (tool, self.name,
                                          " ".join((done.err or done.out).split())[:200] or done.status))

    def _by_hand(self, host, state, mode_first):
        if mode_first:
            self._set_mode(host, state["mode"])
        for path, target in sorted(state["links"].items()):
            if host.read_link(path) == target:
                continue
            if target is None:
                write.remove(host, path)
            else:
                write.replace_link(host, path, target)
        if not mode_first:
            self._set_mode(host, state["mode"])

    def _set_mode(self, host, wanted):
        if self.state_file is None:
            return
        mode, newline, rest = write.read_exactly(host, self.state_file).partition("\n")
        if mode != wanted:
            write.replace(host, self.state_file, wanted + newline + rest)

    def state_now(self, host):
        mode = None
        if self.state_file is not None:
            mode = (write.read_exactly(host, self.state_file) or "").partition("\n")[0]
        return {"mode": mode, "links": {path: host.read_link(path) for path in self.before["links"]}}

    def paths(self):
        """The paths that this module or the tool writes."""
        return self._differing(self.after)

    def differing(self, host):
        return self._differing(self.state_now(host))

    def _differing(self, state):
        links = [path for path in sorted(state["links"]) if state["links"][path] != self.before["links"].get(path)]
        return ([self.state_file] if state["mode"] != self.before["mode"] else []) + links

    def diff(self):
        header = "%s (%s)" % (self.name, self.mechanism)
        return {"before_header": header, "after_header": header, "before": _shown(self.name, self.before),
                "after": _shown(self.name, self.after)}

    def entry(self, former):
        """The entry for the record; for a group that was switched before, the state before the first switch."""
        return {"mechanism": self.mechanism, "state_file": self.state_file,
                "before": former["before"] if former else self.before, "after": self.after}


def _shown(name, state):
    lines = ["%s is %s" % (name, state["mode"])] if state["mode"] else []
    return "".join(line + "\n" for line in lines + ["%s -> %s" % (path, target or "nothing")
                                                    for path, target in sorted(state["links"].items())])


def undoing(host, name, entry):
    """(GroupChange or None, problem or None) that puts a group back as the record has it. A killed run may have
    switched some of the links and not the others; any other state was chosen by a user."""
    change = GroupChange(name, entry["mechanism"], entry["state_file"], entry["after"], entry["before"],
                         mode_first=False)
    now = change.state_now(host)
    if now == entry["before"]:
        return None, None
    known = (entry["before"], entry["after"])
    for path in sorted(now["links"]):
        if now["links"][path] not in [state["links"].get(path) for state in known]:
            return None, "%s was changed since: %s now links to %s" % (name, path, now["links"][path] or "nothing")
    if now["mode"] not in [state["mode"] for state in known] or (now["mode"] != entry["after"]["mode"]
                                                                 and now["links"] == entry["after"]["links"]):
        return None, "%s was changed since: its mode is now %s" % (name, now["mode"] or "gone")
    change.before = now
    return change, None


def switch_all(host, changes):
    """Make all changes, or none: where one fails, every switched group is put back. Raises ChangeFailed, whose `files`
    are links that stay changed."""
    for number, change in enumerate(changes):
        try:
            change.make(host)
        except _errors.ChangeFailed as error:
            left = each_of(reversed(changes[:number + 1]), lambda made: made.undo(host))
            if left:
                raise _errors.ChangeFailed(
                    "%s. Earlier switches of this run could not be put back: %s. Run it with state: absent to put them "
                    "back" % (error, "; ".join(str(problem) for _made, problem in left)),
                    [path for made, _problem in left for path in made.differing(host)]) from error
            raise _errors.ChangeFailed("%s. Every group was put back" % error) from error


BACKENDS = ("nft", "legacy")
AUTO = "auto"


def choose_backend(option, users, programs, able):
    """(nft, legacy or None, one sentence why). `users`: [(who, family, nft | legacy | both | none | None)], the
    backends that kubelet and kube-proxy use; `programs`: nft, legacy or mixed, the backend of the node's own programs;
    `able(backend)`: whether this system has it."""
    if option != AUTO:
        return option, "the option backend names it"
    using = {backend: ["%s (%s)" % (who, family) for who, family, used in users if used == backend]
             for backend in BACKENDS + ("both", None)}
    certain = [backend for backend in BACKENDS if using[backend]]
    if len(certain) > 1:
        return None, "%s in the nft backend and %s in the legacy backend; give backend: nft or backend: legacy" % (
            " and ".join(using["nft"]), " and ".join(using["legacy"]))
    if certain:
        return certain[0], "%s in it" % (" and ".join(using[certain[0]])
                                         + (" have chains" if len(using[certain[0]]) > 1 else " has chains"))
    if using["both"]:
        return None, "%s in both backends; give the one in use as backend: nft or backend: legacy" % (
            " and ".join(using["both"]) + (" have chains" if len(using["both"]) > 1 else " has chains"))
    if using[None]:
        return None, ("the rules could not be read, so the backend that %s is not known"
                      % " and ".join(using[None] + ["use"]))
    if programs in BACKENDS:
        return programs, "the node's iptables programs use it, and there are no rules of Kubernetes"
    found = next((backend for backend in BACKENDS if able(backend)), None)
    if found is None:
        return None, "this system has all parts of neither the nft nor the legacy backend"
    return found, ("there are no rules of Kubernetes, the node's iptables programs use different backends, and the "
                   "kernel has this one")
