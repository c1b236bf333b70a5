# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/fixes.md: whether the fix that each check of severity high prints mends the state that it is for."""

import collections

# The keys of an attempt that outcomes.json keeps.
KEPT = ("ran", "by_hand", "passes", "not_tried", "left")
PLACES = {"nft": "iptables mode, nft backend", "legacy": "iptables mode, legacy backend", "nftables": "nftables mode"}
NODES = {"rules": "namespaces, rules of a real kube-proxy", "kube-proxy": "namespaces, a real kube-proxy",
         "files": "namespaces"}
HEAD = """# Fixes that were tried

Each check of severity high prints a fix. This page lists, for each of them, a state in which the check fails, what was
done in that state exactly as the finding prints it, and whether the check passed in the look afterwards, with no other
check of severity high failing beside it.

- **namespaces**: `make fixes` (as root) makes the state in network, mount and process namespaces on a copy of the files
  of the machine, looks, runs the printed commands, and looks again. The states are rows of `tests/fixes/rows/*.yml`.
  "A real kube-proxy" has a small stand-in for the API server; "rules of a real kube-proxy" are a capture of 1.34.9.
- **virtual machine**: a scenario of `make molecule`; the named file asserts what must be seen afterwards.
- **make kube-proxy**: a state of real kube-proxies of several versions, in namespaces or, in ipvs mode, on virtual
  machines; [docs/kube-proxy.md](kube-proxy.md) has what was seen in it.
- **real node**: a state of `make real-node`; [docs/real-node.md](real-node.md) has what came of it.
- **by hand**: what the text asks for in words. A pod cannot be deleted where no kubelet runs: its program is ended and
  started again.

A check may have more than one state; the table shows one. Where the text names several causes, the fix of the named
state was tried, and no other.
"""


def text(rows, outcomes):
    rows = sorted(rows, key=lambda row: row["check"])
    verdicts = {row["check"]: verdict(row, outcomes.get(row["check"], {})) for row in rows}
    lines = ["| check | state | where | commands, as printed | by hand | mended |", "| --- " * 6 + "|"]
    lines += [line for row in rows for line in _lines(row, outcomes.get(row["check"], {}))]
    other = "not run yet, or its state was not reached, see above"
    untried = ["| %s | %s |" % (row["check"], _cell(row.get("not_tried") or other))
               for row in rows if verdicts[row["check"]] == "not tried"]
    counts = collections.Counter(verdicts.values())
    return "%s\n## Numbers\n\n%d checks of severity high: %s.\n\n## Tried\n\n%s\n\n## Not tried\n\n%s\n" % (
        HEAD, len(rows), ", ".join("%d %s" % (counts[word], word) for word in ("mended", "not mended", "not tried")),
        "\n".join(lines), "\n".join(["| check | why |", "| --- | --- |", *untried]))


def verdict(row, outcomes):
    """`mended` if each attempt mended it, `not mended`, or `not tried`."""
    seen = [mends(row, outcomes[place]) for place in row.get("places", ["nft"]) if "passes" in outcomes.get(place, {})]
    seen += [True for elsewhere in ("vm", "states") if elsewhere in row]
    return "not tried" if not seen else "mended" if all(seen) else "not mended"


def mends(row, outcome):
    """Whether the check passes after the fix, with no other high check failing but the expected ones of the row."""
    return outcome.get("passes", False) and not set(outcome["left"]) - set(row.get("also", ()))


def _lines(row, outcomes):
    groups = collections.OrderedDict()
    for place in row.get("places", ["nft"]) if "node" in row else []:
        outcome = outcomes.get(place, {})
        ran = [_shortened(command, place) for command in outcome.get("ran", [])]
        groups.setdefault((tuple(ran), tuple(outcome.get("by_hand", [])), _mended(row, outcome)), []).append(place)
    for (ran, by_hand, mended), places in groups.items():
        where = NODES[row["node"]]
        if row["node"] != "files":
            where += ": " + " and ".join(PLACES[place] for place in places)
        yield _line(row, where, "<br>".join("`%s`" % command for command in ran), "; ".join(by_hand), mended)
    if "vm" in row:
        yield _line(row, "virtual machine: scenario `%(scenario)s`, `%(verify)s`" % row["vm"], "", row["vm"]["did"],
                    "yes")
    if "states" in row:
        yield _line(row, "`make kube-proxy`, `%(file)s`: %(state)s" % row["states"], "", row["states"]["did"], "yes")
    if "real_node" in row:
        yield _line(row, "real node: " + row["real_node"], "", "", "see [a real node](real-node.md)")


def _shortened(command, place):
    """One spelling for commands that differ in the name of the program of their backend only."""
    return command.replace("tables-%s" % place, "tables-BACKEND") if place in ("nft", "legacy") else command


def _mended(row, outcome):
    if not outcome:
        return "not run yet"
    if "not_tried" in outcome:
        return "**state not reached**: " + outcome["not_tried"][:200]
    if not mends(row, outcome):
        return "**no**, failing: " + ", ".join(outcome["left"] or [row["check"]])
    yes = "yes, the check is %s here" % row["becomes"] if "becomes" in row else "yes"
    return yes + ("; beside the fix fails: " + ", ".join(outcome["left"]) if outcome["left"] else "")


def _line(row, *cells):
    return "| %s | %s |" % (row["check"], " | ".join(_cell(cell) for cell in (row["state"],) + cells))


def _cell(value):
    return " ".join(value.split()).replace("|", "\\|")
