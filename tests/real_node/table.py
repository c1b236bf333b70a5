# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/real-node.md: what users lost in each state, what was reported, and whether the printed fix mends it."""

import datetime
import json
import pathlib
import platform

import yaml

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
RESULTS = TOP / ".cache" / "real-node"
ROWS = RESULTS / "rows.json"
PAGE = TOP / "docs" / "real-node.md"
HEAD = (HERE / "head.md").read_text(encoding="utf-8")
COLUMNS = "state", "users lost", "first finding", "cause named", "printed fix", "mends", "green after"


def read_states():
    return yaml.safe_load((HERE / "states.yml").read_text(encoding="utf-8"))


def kept():
    """{state: row} of the last run of each state."""
    return json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.exists() else {}


def keep(row):
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows = dict(kept(), **{row["state"]: dict(row, date=datetime.date.today().isoformat())})
    ROWS.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def loses(counts):
    """Whether users lost requests, or could not even send them."""
    return any(count != 0 for count in counts.values())


def lost(counts):
    """The users that lost requests, as `P 20 N 20`."""
    return " ".join("%s %s" % (name, "?" if count is None else count) for name, count in counts.items()
                    if count != 0) or "none"


def is_right(state, row):
    """Whether the cause of what users lost is reported, the printed fix mends it, and a healthy node has no fault."""
    if "not_done" in row:
        return False
    if state.get("silent"):
        return row["green"] and not loses(row["lost"])
    return bool(row["cause"]) and ("mends" not in state or row["green"])


def said(state, row):
    """A row in one line, for the terminal."""
    if "not_done" in row:
        return "not reached: " + row["not_done"]
    parts = ["lost " + lost(row["lost"]), "first " + str(row["first"])[:100], "cause %s" % bool(row["cause"])]
    if "printed" in row:
        parts += ["fix %s" % row["printed"], row["mend_problem"] or "", "after: lost %s, left %s" % (
            lost(row["lost_after"]), [text[:80] for text in row["left"]])]
    return "; ".join(parts) + " (%d s)" % row["seconds"]


def cells(state, row):
    if row is None:
        return ["not run"]
    if "not_done" in row:
        return ["not reached: " + row["not_done"]]
    wanted = "" if state.get("silent") else "yes: " + row["cause"] if row["cause"] else "**no**"
    found = [lost(row["lost"]), row["first"] or "none", wanted]
    if "printed" not in row:
        return [*found, "", "", "yes" if row["green"] else ""]
    mends = not loses(row["lost_after"]) and not row["mend_problem"]
    return [*found, "; ".join("`%s`" % command for command in row["printed"]) or "none",
            "yes" if mends else "**no**: %s" % (row["mend_problem"] or "lost " + lost(row["lost_after"])),
            "yes" if row["green"] else "**no**: " + "; ".join(text[:100] for text in row["left"])]


def table(states):
    rows = kept()
    lines = ["| %s |" % " | ".join(COLUMNS), "|%s" % (" --- |" * len(COLUMNS))]
    for state in states:
        columns = [state["state"], *cells(state, rows.get(state["state"]))]
        columns += [""] * (len(COLUMNS) - len(columns))
        lines.append("| %s |" % " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in columns))
    return "\n".join(lines) + "\n"


def machine():
    rows = kept().values()
    lines = ["kernel: %s, %s" % (platform.release(), platform.machine())]
    lines += sorted({line for row in rows for line in row.get("versions", ())})
    lines += ["dates of the runs: %s" % ", ".join(sorted({row["date"] for row in rows}))] if rows else []
    return "".join("- %s\n" % line for line in lines)


def write(states):
    PAGE.write_text("\n".join([HEAD, "## The machine\n", machine(), "## The states\n", table(states)]),
                    encoding="utf-8")
