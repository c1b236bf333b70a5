# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One observation: a dict with fixed keys and bounded size. PRIVATE to the collection."""

from .kube_proxy.anchor_table import breakage

TEXT_LIMIT = 200
# Longer than any chain name of a kernel (28 characters): only a dump can hold one that has to be cut.
NAME_LIMIT = 64
# At most so many observations of each kind are kept; a report shows fifty at most (max_offenders).
ROWS_LIMIT = 1000
# Further observations are counted by place, for at most this many places; beyond these they are counted by the first
# nine characters of the chain's name, as in `KUBE-SEP-`.
PLACES_LIMIT = 10000
_NAMES = ("kind", "family", "backend", "table", "chain", "text", "detail")

# Order of the observations: the kind that breaks most first, the kind that only needs to be tidied up last.
KINDS = (
    "chains_missing", "anchor_missing", "half_repaired", "emptied_chain", "lost_match", "mark_mismatch",
    "anchor_shadowed", "untracked", "mark_cleared", "forward_drop", "unexpected_drop", "foreign_jump",
    "hostport_capture", "hostport_stale", "masquerade_missing", "chain_loop", "dangling_jump", "unsound_endpoint",
    "wrong_probability", "empty_service_chain", "other_backend", "hint_missing", "canary_missing", "unrepaired",
    "other_mode", "other_cni", "duplicate_rule", "orphan_chain", "idle_leftover", "unsettled_chain",
    "dropped_by_policy", "unjudged_table", "other_rule", "without_endpoints")


def cut(text, limit=TEXT_LIMIT):
    """The text itself, or its start with three dots where it is longer than `limit` characters."""
    return text if len(text) <= limit else text[:limit - 3] + "..."


def observe(kind, rule_set, table, chain, text="", count=1, detail=""):
    """The dict of one observation; `text`: a rule as saved; `detail`: a short clause, or None: it is only counted."""
    return {
        "kind": kind, "family": rule_set.family, "backend": rule_set.backend, "table": table,
        "chain": cut(chain, NAME_LIMIT), "text": cut(text), "count": count, "detail": detail}


class Tally:
    """Any number of observations. Observations that differ only in `count` are added up, ROWS_LIMIT of each kind are
    kept, and all others are only counted.

    `more`: {(kind, family, backend, table, chain, whether they have a text): count} of the others.
    """

    def __init__(self, observations=()):
        self._counts, self._kinds, self.more = {}, {}, {}
        for row in observations:
            self.add(row)

    def add(self, row):
        """Adds one observation."""
        key, kind = tuple((name, row[name]) for name in _NAMES), row["kind"]
        if key in self._counts:
            self._counts[key] += row["count"]
        elif self._kinds.get(kind, 0) < ROWS_LIMIT and row["detail"] is not None:
            self._kinds[kind] = self._kinds.get(kind, 0) + 1
            self._counts[key] = row["count"]
        else:
            place = place_of(row)
            if place not in self.more and len(self.more) >= PLACES_LIMIT:
                place = place_of(dict(row, chain=row["chain"][:9]))
            self.more[place] = self.more.get(place, 0) + row["count"]

    def rows(self):
        """The observations that were kept, in a fixed order, most severe first."""
        return sorted([dict(key, count=count) for key, count in self._counts.items()], key=_rank)


def place_of(row):
    """The key of an observation in `Tally.more`."""
    return row["kind"], row["family"], row["backend"], row["table"], row["chain"], bool(row["text"])


def merged(observations):
    """The observations, limited as Tally limits them."""
    return Tally(observations).rows()


def _rank(row):
    kind = KINDS.index(row["kind"]) if row["kind"] in KINDS else len(KINDS)
    breaks = breakage(row["table"], row["chain"], row["text"]) if row["kind"] == "anchor_missing" else 0
    return [kind, breaks, -row["count"]] + [row[name] or "" for name in _NAMES]
