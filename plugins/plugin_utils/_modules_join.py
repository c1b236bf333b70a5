# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence rows of kernel modules, made ready for requirements. PRIVATE to the collection."""

from ..module_utils import _names

# From best to worst. An unknown module may still exist, so unknown ranks before missing.
_RANK = {"loaded": 0, "builtin": 0, "loadable": 1, "unknown": 3, "installable": 4, "absent": 5}
_EMPTY = {
    "name": None, "module": None, "state": "unknown", "cause": "not_reported", "evidence": "the node did not report it",
    "package": None, "kernels": [], "blocked_for": [], "blocked_unclear": [], "blocks": [], "persisted": None,
    "persisted_by": [], "at_boot": "unknown", "at_boot_cause": "", "state_next_boot": "unknown", "lacking_on": [],
}


def joined(section):
    """`{name: row}` with texts that findings show; JMESPath cannot join them."""
    if not section:
        return {}
    rows = {}
    for row in section.get("modules") or []:
        if row["name"] is None:
            continue
        full = dict(_EMPTY, **row)
        full["release"] = section.get("judged_release") or "the kernel"
        release = (section.get("next_boot") or {}).get("release")
        # A bundle without the release of its kernel has a word in its place.
        full["next_release"] = "the next kernel" if release in (None, _names.UNKNOWN_RELEASE) else release
        full["blocked_by"] = _places(full["blocks"], "blocks")
        full["blocked_unclear_by"] = _places(full["blocks"], "unclear")
        full["evidence_next_boot"] = next(
            (group["evidence"] for group in full["kernels"] if full["next_release"] in group.get("releases", [])),
            full["evidence"])
        rows[_names.normalise(full["name"])] = full
    return rows


def _places(blocks, effect):
    return "; ".join("%s:%s: %s" % (block["file"], block["line"], block["text"]) for block in blocks
                     if block["effect"] == effect)


def best_row(names, rows: dict[str, dict]) -> dict:
    """The row of the alternative that is nearest to working; a blocked one ranks below one that only has to be
    loaded."""
    candidates = [rows.get(name)
                  or dict(
                      _EMPTY, name=name, release="the kernel", next_release="the next kernel", blocked_by="",
                      blocked_unclear_by="", evidence_next_boot="") for name in names]
    return min(candidates,
               key=lambda row: _RANK.get(row["state"], 3) + (1 if row["blocks"] and row["state"] == "loadable" else 0))
