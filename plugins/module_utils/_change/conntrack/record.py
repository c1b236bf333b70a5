# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of changes to conntrack: files, and values of the running kernel.

Its state is begun before the first file is written and done after the last value is set, so it shows a killed run."""

import json
import os

from ..._look.conntrack.now import RECORD
from .. import files
from ..record import Record as FileRecord
from .live import may_be

BEGUN, DONE = "begun", "done"


class RecordChange(files.RecordChange):
    """The change of the record itself. Its loss counters keep changing, so the diff leaves them out."""

    def diff(self):
        return files.RecordChange(self.path, _without_counters(self.before), _without_counters(self.after)).diff()


class Record(FileRecord):
    """Files, and `live` {key: {"before", "after"}}, `lost`, the losses when the limit was last raised, and `begun`,
    whether the last run was interrupted."""

    folder = os.path.dirname(RECORD)

    @property
    def live(self):
        return self.held.more.get("live", {})

    @property
    def lost(self):
        return self.held.more.get("lost")

    @property
    def begun(self):
        return self.held.more.get("state", DONE) != DONE

    def read_more(self, held):
        for values in held["live"].values():
            if not isinstance(values["before"], int) or not isinstance(values["after"], int):
                raise ValueError(values)
        return {"live": dict(held["live"]), "lost": held["lost"], "state": held["state"]}

    def has_more(self, more):
        return bool(more.get("live") or more.get("lost"))

    def change_of(self, before, after):
        return RecordChange(self.path, before, after, mode=0o600)

    def live_with(self, values):
        """`live` once `values` {key: (before, after)} are set as well."""
        live = dict(self.live)
        for key, (before, after) in values.items():
            former = live.get(key)
            ours = former is not None and may_be(key.replace(".", "/"), former["after"], before)
            live[key] = {"before": former["before"] if ours else before, "after": after}
        return live


def _without_counters(text):
    if text is None:
        return None
    held = json.loads(text)
    return json.dumps(dict(held, lost="counted when the limit was raised" if held["lost"] else None), indent=1,
                      sort_keys=True) + "\n"
