# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of earlier switches, and the rules that were saved before them.

The record is written before the first group is switched, so a run that is killed can be undone or repeated."""

from ... import _errors
from ..._host import write
from ..._look.rules.rule_sets import SAVE_SECONDS
from .. import record

FOLDER = record.STATE + "/iptables_backend"
RECORD = FOLDER + "/record.json"
SAVED = FOLDER + "/saved"
# 110,000 rules are 12 MB with their counters.
SAVE_LIMIT = 100 * 1024 * 1024


class Record(record.Record):
    """Entries are {group: its switch}; `pending`: the one that waits for a reboot, `{"boot_id", "backend",
    "saved"}`, or None."""

    folder = FOLDER

    def __init__(self, host):
        super(Record, self).__init__(host)
        self.boot_id = host.read_text("/proc/sys/kernel/random/boot_id").text.strip()

    @property
    def pending(self):
        return self.held.more.get("pending")

    @property
    def waits(self):
        """Whether the rules of the old backend are still active because the machine has not rebooted since."""
        return bool(self.pending and self.boot_id and self.pending["boot_id"] == self.boot_id)

    def upgraded(self, entry):
        return entry

    def is_sound(self, _name, entry):
        states = [entry["before"], entry["after"]]
        return (isinstance(entry["mechanism"], str) and isinstance(entry["state_file"], (str, type(None)))
                and all(state["mode"] in (None, "auto", "manual")
                        and all(path.startswith("/") for path in state["links"]) for state in states))

    def read_more(self, held):
        pending = held["pending"]
        if pending is not None and not (isinstance(pending["boot_id"], str)
                                        and all(path.startswith(SAVED + "/") for path in pending["saved"])):
            raise ValueError(pending)
        return {"pending": pending}

    def has_more(self, more):
        return bool(more.get("pending"))

    def contents(self, groups, pending):
        """The contents of the record once these groups are switched and `pending` waits for a reboot."""
        stamped = {name: self.stamped(name, entry) for name, entry in groups.items()}
        contents = self.with_entries(stamped, {"pending": pending})
        return self.with_folders(contents, []) if self.text_of(contents) is not None else contents

    def unnamed(self, contents):
        keep = contents.more["pending"]["saved"] if contents.more.get("pending") else ()
        paths = ["%s/%s" % (folder, name) for folder in self._boots()
                 for name in record.settled_names(self._host, folder)]
        return [path for path in paths if path not in keep]

    def own_folders(self):
        return self._boots() + [SAVED]

    def _boots(self):
        return ["%s/%s" % (SAVED, name) for name in record.settled_names(self._host, SAVED)]

    def worked_in(self, changes):
        links = [path for entry in self.entries.values()
                 for path in list(entry["after"]["links"]) + [entry["state_file"]] if path]
        links += [path for change in changes for path in change.paths()]
        # The link itself is replaced, not its target.
        return set([FOLDER, SAVED] + self._boots() + [path.rpartition("/")[0] for path in links])


def saves_of(rules, boot_id):
    """{path: argv}: the dumps of both backends and both families, in a folder named after the boot ID."""
    return {"%s/%s/%s.rules" % (SAVED, boot_id or "unknown", source.replace("_", "-")): argv + ["-c"]
            for source, argv in rules.commands.items()}


def save(host, saves):
    """Save the rules. Only backends that held rules are read, so this creates no table."""
    for path, argv in sorted(saves.items()):
        write.replace(host, path, read_save(host, argv), 0o600)


def read_save(host, argv):
    """The output of iptables-save, byte for byte. Raises ChangeFailed."""
    chunks = []
    done = host.stream(argv, chunks.append, SAVE_SECONDS, SAVE_LIMIT)
    if not done.ok:
        raise _errors.ChangeFailed("%s did not finish: %s" % (
            " ".join(argv).rsplit("/", 1)[-1], (done.err.strip() or done.status)[:200]))
    return b"".join(chunks).decode("utf-8", "surrogateescape")
