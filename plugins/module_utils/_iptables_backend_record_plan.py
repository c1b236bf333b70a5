# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was switched before, and the rules that were saved before it. PRIVATE to the collection.

The record is written before the first group is switched, so whatever a run is killed at, it can be undone or run again.
"""

import json

from . import _errors, _host_change
from ._collect._rule_sets import SAVE_SECONDS

FOLDER = "/var/lib/kubenode-netfilter/iptables_backend"
RECORD = FOLDER + "/record.json"
SAVED = FOLDER + "/saved"
# 110,000 rules are 12 MB with their counters.
SAVE_LIMIT = 100 * 1024 * 1024
_BOOT = "/proc/sys/kernel/random/boot_id"


class Record(object):
    """C(groups) {name: what was switched}, C(pending): None, or what waits for a reboot: C({"boot_id", "backend", "saved"})."""

    def __init__(self, host):
        self._host = host
        self._text = _host_change.read_exactly(host, RECORD)
        self.groups, self.pending = _read(self._text) if self._text is not None else ({}, None)
        self.boot_id = host.read_text(_BOOT).text.strip()

    @property
    def found(self):
        return self._text is not None

    @property
    def waits(self):
        """Whether this very boot still runs with the rules of the backend that was left."""
        return bool(self.pending and self.boot_id and self.pending["boot_id"] == self.boot_id)

    def text(self, groups, pending):
        if not groups and not pending:
            return None
        return json.dumps({"schema": 1, "groups": groups, "pending": pending}, indent=1, sort_keys=True) + "\n"

    def differs(self, groups, pending):
        return self.text(groups, pending) != self._text

    def write(self, groups, pending):
        """Make the record say so; without anything to say it goes, with what was saved."""
        text = self.text(groups, pending)
        if text is not None and text != self._text:
            _host_change.replace(self._host, RECORD, text, 0o600)
        elif text is None and self.found:
            _host_change.remove(self._host, RECORD)
        self._text, self.groups, self.pending = text, groups, pending

    def tidy(self):
        """Remove saves that no record speaks of, and our folders where nothing is left in them."""
        keep = set(self.pending["saved"]) if self.pending else set()
        for name in self._host.list_dir(SAVED)[1]:
            for path in ["%s/%s/%s" % (SAVED, name, each) for each in self._host.list_dir(SAVED + "/" + name)[1]]:
                if path not in keep:
                    _host_change.remove(self._host, path)
            _host_change.remove_empty_folder(self._host, SAVED + "/" + name)
        for name in [name for name in self._host.list_dir(FOLDER)[1] if name.startswith(_host_change.TEMPORARY)]:
            _host_change.remove(self._host, FOLDER + "/" + name)
        for path in (SAVED, FOLDER, FOLDER.rpartition("/")[0]):
            _host_change.remove_empty_folder(self._host, path)


def _read(text):
    try:
        told = json.loads(text)
        for entry in told["groups"].values():
            for state in (entry["before"], entry["after"]):
                if state["mode"] not in (None, "auto", "manual") or not all(path.startswith("/") for path in state["links"]):
                    raise ValueError(state)
            if not isinstance(entry["mechanism"], str) or not isinstance(entry["state_file"], (str, type(None))):
                raise ValueError(entry)
        pending = told["pending"]
        if pending is not None and not (isinstance(pending["boot_id"], str) and all(path.startswith(SAVED + "/") for path in pending["saved"])):
            raise ValueError(pending)
        return dict(told["groups"]), pending
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _errors.ChangeFailed("%s is damaged, so what was switched is not known; move it away to go on without undoing" % RECORD) from error


def saves_of(rules, boot_id):
    """{path: argv}: what would be saved of both backends, both families, under the name of this boot."""
    return dict(("%s/%s/%s.rules" % (SAVED, boot_id or "unknown", source.replace("_", "-")), argv + ["-c"]) for source, argv in rules.commands.items())


def save(host, saves):
    """Write the rules down. Only what gave rules before is asked, so no table is made by it."""
    for path, argv in sorted(saves.items()):
        _host_change.replace(host, path, read_save(host, argv), 0o600)


def read_save(host, argv):
    """What iptables-save prints, every byte kept. Raises ChangeFailed."""
    chunks = []
    done = host.stream(argv, chunks.append, SAVE_SECONDS, SAVE_LIMIT)
    if not done.ok:
        raise _errors.ChangeFailed("%s could not be run to its end: %s" % (
            " ".join(argv).rsplit("/", 1)[-1], (done.err.strip() or done.status)[:200]))
    return b"".join(chunks).decode("utf-8", "surrogateescape")
