# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/kube-proxy.md: which checks fail in each state, and whether that is right."""

import datetime
import platform
import subprocess

PLACES = {"legacy": "iptables mode, legacy backend", "nft": "iptables mode, nft backend", "nftables": "nftables mode",
          "ipvs": "ipvs mode, nft backend, on virtual machines"}
HEAD = """# Real kube-proxies: the findings in each state

`make kube-proxy KUBE_PROXY="path ..."` starts real kube-proxies in network namespaces, with a small stand-in for the
API server, brings each into the states of `tests/kube_proxy/states.yml`, and looks at the namespace as at a node. ipvs
mode needs a kernel with `ip_vs`: its states are in `tests/kube_proxy/states_ipvs.yml`, and each begins on a virtual
machine as it was after its boot. `ARGS=--no-vm` leaves them out. The tables list the checks that fail, of those about
kube-proxy, its rules, IPVS, the backend and the xtables lock.

- **missed**: the state is a fault, but no expected check fails.
- **false**: a check fails, but the state is healthy.
- **not reached**: the state was not reached in that run; the reason follows.

The number in brackets is the status of `/healthz`. "unknown" lists checks that could not be judged. The list above
a table has the checks that could not be judged in any state: they need two looks, a number that kube-proxy does not count in
that mode, or the locks of the whole machine, which a PID namespace hides.
"""


def parts_of(version):
    return tuple(map(int, version.split(".")))


def verdict(row):
    """The verdict on a look: `right`, `missed`, `false` or `not reached`."""
    look, found = row[3:]
    if "not_done" in found:
        return "not reached"
    failing = set(found["fail"]) - set(look.get("also", ()))
    if look.get("silent") or parts_of(row[0]) < parts_of(look.get("silent_before", "0")):
        return "false" if failing else "right"
    wanted = failing if look["find"] == "any" else failing & set(look["find"])
    return "right" if wanted else "missed"


def is_expected(row):
    """Whether a look is right or has its known verdict."""
    return verdict(row) == "right" or verdict(row) == row[3].get("known", {}).get("verdict")


def never_judged(rows):
    """The checks that are unknown in every look."""
    unknown = [set(row[4]["unknown"]) for row in rows if "unknown" in row[4]]
    return set.intersection(*unknown) if unknown else set()


def said(row, left_out=frozenset()):
    """The findings of a look as a table cell, without the unknown checks in `left_out`."""
    found, judgement = row[4], verdict(row)
    if judgement == "not reached":
        return "not reached: %s" % found["not_done"].replace("|", "/")
    words = [", ".join(sorted(found["fail"])) or "none"]
    unknown = sorted(set(found["unknown"]) - left_out)
    words += ["unknown: " + ", ".join(unknown)] if unknown else []
    words += ["**%s**" % judgement] if judgement != "right" else []
    return "%s [%s]" % ("; ".join(words), found["healthz"])


def table(rows, versions):
    """A table with a line for each look and a column for each version; `rows` are of one place."""
    left_out = never_judged(rows)
    lines = ["Unknown in every state: %s.\n" % (", ".join(sorted(left_out)) or "none"),
             "| state | look | must fail | %s |" % " | ".join(versions), "| --- " * (3 + len(versions)) + "|"]
    looks = {(row[2], row[3]["when"]): row[3] for row in rows}
    for (state, when), look in looks.items():
        cells = {row[0]: said(row, left_out) for row in rows if (row[2], row[3]["when"]) == (state, when)}
        wanted = "none" if look.get("silent") else "any" if look["find"] == "any" else " or ".join(look["find"])
        columns = [state, when, wanted, *(cells.get(name, "") for name in versions)]
        lines.append("| %s |" % " | ".join(columns))
    return "\n".join(lines) + "\n"


def known(rows):
    """The looks with a known wrong verdict, each with the reason."""
    reasons = {(row[2], row[3]["when"], verdict(row)): row[3]["known"]["why"] for row in rows
               if "known" in row[3] and verdict(row) != "right"}
    return "".join("- %s, %s (%s): %s\n" % (*key, why) for key, why in reasons.items()) or "All looks are right.\n"


def text(rows, states, node=()):
    """The page, with the states in the order of the file."""
    order = [state["state"] for state in states]
    rows = sorted(rows, key=lambda row: order.index(row[2]))
    versions = sorted({row[0] for row in rows}, key=parts_of)
    parts = [HEAD, "## The machine\n\n" + machine(versions, node)]
    parts += ["## %s\n\n%s" % (title[0].upper() + title[1:], table([row for row in rows if row[1] == place], versions))
              for place, title in PLACES.items()]
    return "\n".join([*parts, "## Not right\n\n" + known(rows)])


def machine(versions, node):
    def first_line(*command):
        return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                              universal_newlines=True).stdout.split("\n")[0]
    lines = ["date: %s" % datetime.date.today().isoformat(),
             "kube-proxy, by what the programs print: %s" % ", ".join(versions),
             "kernel: %s, %s" % (platform.release(), platform.machine()), first_line("iptables-nft", "--version"),
             first_line("nft", "--version")]
    lines += ["the virtual machines: " + ", ".join(node)] if node else []
    return "".join("- %s\n" % line.strip() for line in lines)
