# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/log-causes.md, made from the rows that log messages are compared with."""

import pathlib
import re

import yaml
from checks_page import cell, one_line

TOP = pathlib.Path(__file__).resolve().parents[2]
FILES = TOP / "roles" / "node_policy" / "files"
PAGE = TOP / "docs" / "log-causes.md"
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

INTRODUCTION = """\
# Causes in logs

Written by `make docs`; change the rows in `roles/node_policy/files/log_agents/` and `log_errors/`, and the text in
`tests/tools/log_causes_page.py`. [Logs](logs.md) describes how they are used.

A name in capitals is a name from the message, such as that of a table. `since` and `until` are versions of the writer.
`normal` messages are no finding: healthy nodes write them, too.
"""
AGENTS = """\
## Agents

What users feel when the action of an agent fails. Its severity is that of the finding, whatever the error inside; the
libraries kubernetes-util and go-iptables, which several agents use, have none. A row with a fix is the whole error; the
others wrap the error of a tool.
"""
ERRORS = """\
## Errors of tools, of the kernel and of the system

The severity counts where the error stands alone, without the message of an agent around it; a row without one counts
only within such a message.
"""


def text_of(row, key):
    return cell(PLACEHOLDER.sub(lambda found: found.group(1).upper(), " ".join((row.get(key) or "").split())))


def versions_of(row):
    since, until = row.get("since"), row.get("until")
    return "%s to %s" % (since, until) if since and until else since + "+" if since else "to " + until if until else ""


def check_of(row):
    return "[%s](checks.md#%s)" % (row["check"], row["check"].lower()) if row.get("check") else ""


def severity_of(row, default):
    return "normal" if row.get("normal") else row.get("severity", default)


def agent_row(row):
    cause = " ".join(filter(None, [text_of(row, "effect"), text_of(row, "meaning")]))
    return [row["id"], cause, severity_of(row, ""), versions_of(row), check_of(row), text_of(row, "fix")]


def error_row(row):
    fixes = [text_of(row, "fix")] + ["near `%s`: %s" % (cell(other["near"]), text_of(other, "fix"))
                                     for other in row.get("fix_where", ())]
    return [row["id"], text_of(row, "meaning"), severity_of(row, "low" if row["specific"] else ""), versions_of(row),
            check_of(row), "<br>".join(fixes)]


def tables(folder, head, render):
    lines = []
    for path in sorted((FILES / folder).glob("*.yml")):
        lines += ["### %s" % one_line(path.stem.replace("_", "-")), "", "| %s |" % " | ".join(head),
                  "|%s" % (" --- |" * len(head))]
        lines += ["| %s |" % " | ".join(render(row)) for row in yaml.load(path.read_text("utf-8"), Loader=LOADER)]
        lines.append("")
    return lines


def render_page():
    rest = ("severity", "versions", "check", "fix")
    return "\n".join([INTRODUCTION, AGENTS, *tables("log_agents", ("row", "effect and cause", *rest), agent_row),
                      ERRORS, *tables("log_errors", ("row", "cause", *rest), error_row)]).rstrip() + "\n"
