# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts of packages, diverted with dpkg-divert. PRIVATE to the collection.

After that dpkg installs its version of the file in another place and does not change the edited copy (man dpkg-divert).
No program runs the scripts in that place. rpm has no such feature.
"""

from ... import _errors
from ..._host import write
from ..files import FileChange
from ..ours import refuse_of_others
from ..record import backup_in
from .folders import ASIDE

DIVERTED = "diverted"
PROGRAM = "dpkg-divert"
DIVERT_SECONDS = 60.0


class Diversion(FileChange):
    """A packaged file that is put aside, and its edited copy; `name`: its path as dpkg knows it."""

    name = None

    def make(self, host):
        aside = aside_of(self.path)
        # The packaged file stays in its place until the edited one replaces it, so it is never missing.
        if host.stat(aside) is None:
            write.replace(host, aside, self.before, host.stat(self.path).st_mode & 0o777)
        _divert(host, ["--divert", aside, "--add", self.name])
        write.replace(host, self.path, self.after, self.mode)

    def entry(self, former, state):
        return dict(FileChange.entry(self, former, state), kind="diverted", name=self.name)


class Return(FileChange):
    """Put back the packaged file, or the version that an upgrade has installed since."""

    name = None

    def make(self, host):
        if self.after is not None:
            write.replace(host, self.path, self.after, self.mode)
        _divert(host, ["--divert", aside_of(self.path), "--remove", self.name])
        write.remove(host, aside_of(self.path))


def diversion(host, path, before, after):
    """The Diversion of a file. Raises ChangeFailed where it cannot be diverted."""
    if not host.commands:
        raise _errors.ChangeFailed("it belongs to a package, and dpkg-divert can be run on a live node only")
    if host.find_binary(PROGRAM) is None:
        raise _errors.ChangeFailed("it belongs to a package, and this distribution has no dpkg-divert; replace the "
                                   "unit or job that starts it")
    change = Diversion(path, before, after)
    change.name = _packaged_name(host, path)
    if change.name is None:
        raise _errors.ChangeFailed("dpkg does not know the package that it belongs to")
    return change


def _packaged_name(host, path):
    """The path as the package has it: where /bin and /lib are links, it may lack the /usr."""
    for name in (path, path[len("/usr"):] if path.startswith("/usr/") else None):
        if name and host.run(["dpkg-query", "--search", name], DIVERT_SECONDS).ok:
            return name
    return None


def undone(host, record, path, entry, now):
    """[Return] of a diverted file; empty where a run was killed before it diverted the file."""
    aside = aside_of(path)
    refuse_of_others(host, ASIDE)
    packaged = write.read_exactly(host, aside)
    before = backup_in(entry)
    if now is not None and write.digest(now) == before and packaged is None:
        return []
    if now is None or write.digest(now) not in entry["after"] + [before]:
        raise _errors.ChangeFailed("it was changed since; the package's version is in %s" % aside)
    change = Return(path, now, packaged if packaged is not None else record.backup_of(before))
    change.name = entry["name"]
    return [change]


def aside_of(path):
    """Where dpkg keeps the diverted file."""
    return "%s/%s" % (ASIDE, path.strip("/").replace("_", "__").replace("/", "_"))


def _divert(host, arguments):
    done = host.run([PROGRAM, "--local", "--no-rename", "--quiet"] + arguments, DIVERT_SECONDS)
    if not done.ok:
        raise _errors.ChangeFailed("%s failed: %s" % (PROGRAM, (done.err or done.out).strip()[:200] or done.status))
