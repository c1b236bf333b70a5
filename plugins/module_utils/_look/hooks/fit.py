# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_flush_hooks in a size that fits.

Rows are sorted by importance: the last rows are cut first, and the number of cut rows is kept."""

import json

ROWS_LIMIT, OTHERS_LIMIT, _SKIPPED_LIMIT = 40, 10, 5
# The most important first.
_LISTS = ("files", "written", "unordered", "waiting", "saved_rule_sets", "hooks")


def fitted_hooks(section, limit):
    """The section with at most `limit` bytes of JSON, as far as the counts alone fit into it."""
    section = dict(section)
    for key in ("hooks", "files"):
        _keep(section, key, ROWS_LIMIT)
    for shrink in (_without_examples, _without_explanations, _with_short_rows):
        if _size(section) <= limit:
            return section
        shrink(section)
    # No list may cost another one its first row: a check passes where its list is empty.
    while _size(section) > limit and any(len(section[key]) > 1 for key in _LISTS):
        longer = max((key for key in _LISTS if len(section[key]) > 1), key=lambda key: _size(section[key]))
        _keep(section, longer, len(section[longer]) * 7 // 8)
    for key in reversed(_LISTS):
        while _size(section) > limit and section[key]:
            _keep(section, key, len(section[key]) - 1)
    return section


def _size(value):
    return len(json.dumps(value))


def _keep(section, key, number):
    section[key] = section[key][:number]
    section["hooks_left_out"] = section["hook_count"] - len(section["hooks"])


def _without_examples(section):
    section["scanned"] = dict(section["scanned"], skipped=section["scanned"]["skipped"][:_SKIPPED_LIMIT],
                              other_languages=section["scanned"]["other_languages"][:_SKIPPED_LIMIT])
    section["unordered"], section["waiting"] = section["unordered"][:OTHERS_LIMIT], section["waiting"][:OTHERS_LIMIT]
    section["saved_left_out"] += len(section["saved_rule_sets"][OTHERS_LIMIT:])
    section["saved_rule_sets"] = section["saved_rule_sets"][:OTHERS_LIMIT]


def _without_explanations(section):
    """Every finding stays, with its first command and what to change."""
    section["files"] = [dict(row, returns="", shown="in line %d: %s" % (row["line"], row["command"])
                             + " and %d more" % (row["commands"] - 1) * (row["commands"] > 1))
                        for row in section["files"]]


def _with_short_rows(section):
    section["hooks"] = [dict(row, command=row["command"][:120], through=row["through"][:1],
                             live_because=row["live_because"][:80]) for row in section["hooks"]]
    section["files"] = [dict(row, command=row["command"][:120], shown=row["shown"][:160],
                             live_because=row["live_because"][:80]) for row in section["files"]]
