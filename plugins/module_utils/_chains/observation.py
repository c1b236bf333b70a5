# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One observation: always the same keys, and nothing of unlimited size. PRIVATE to the collection."""

TEXT_LIMIT = 200
# Longer than any chain name of a kernel (28 characters): only a dump can hold one that has to be cut.
NAME_LIMIT = 64

# From what breaks most to what only tidies up; the order in which observations are told.
KINDS = (
    "anchor_missing", "half_repaired", "emptied_chain", "lost_match", "mark_mismatch", "anchor_shadowed", "forward_drop", "unexpected_drop",
    "hostport_capture", "masquerade_missing", "chain_loop", "dangling_jump", "unsound_endpoint", "wrong_probability", "empty_service_chain", "other_backend",
    "hint_missing", "canary_missing", "other_mode", "duplicate_rule", "orphan_chain",
)


def cut(text, limit=TEXT_LIMIT):
    """The text itself, or its start with three dots where it is longer than C(limit) characters."""
    return text if len(text) <= limit else text[:limit - 3] + "..."


def observe(kind, rule_set, table, chain, text="", count=1, detail=""):
    """The dict of one observation; C(text) is a rule as saved, C(detail) a short clause of ours."""
    return {
        "kind": kind, "family": rule_set.family, "backend": rule_set.backend, "table": table, "chain": cut(chain, NAME_LIMIT),
        "text": cut(text), "count": count, "detail": detail,
    }


def merged(observations):
    """The observations in a fixed order, most telling first, those that differ in nothing but C(count) added up."""
    counts = {}
    for row in observations:
        key = tuple((name, row[name]) for name in ("kind", "family", "backend", "table", "chain", "text", "detail"))
        counts[key] = counts.get(key, 0) + row["count"]
    rows = [dict(key, count=count) for key, count in counts.items()]
    return sorted(rows, key=_rank)


def _rank(row):
    kind = KINDS.index(row["kind"]) if row["kind"] in KINDS else len(KINDS)
    names = [row[name] or "" for name in ("kind", "family", "backend", "table", "chain", "text", "detail")]
    return [kind, -row["count"]] + names
