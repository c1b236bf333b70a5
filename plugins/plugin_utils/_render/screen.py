# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The screen of one host: its verdict, and each cause in a few lines. PRIVATE to the collection."""

import re

# Lines of causes; further causes are counted.
_MOST_CAUSES = 4
# Stands for the name of the host in a line.
HOST = "\0"
_ALL = "details: -e node_report_details=all"


def cause_texts(report):
    """[(severity, sentence, [lines])] of the causes of a host, the one that users feel most first: what is wrong, what
    users feel, since when, the line that shows it, the fix and how to see that it worked. The last one counts what is
    not shown. HOST stands for the name of the host, so that equal causes of several hosts have equal lines."""
    found = [(cause["severity"], cause["sentence"], _lines(cause, report["host"]))
             for cause in report["causes"][:_MOST_CAUSES]]
    more = report["causes"][_MOST_CAUSES:]
    if more:
        checks = sorted({check for cause in more for check in (row["check"] for row in cause["explains"])})
        text = "%d more %s: %s (%s)" % (len(more), "cause" if len(more) == 1 else "causes", ", ".join(checks), _ALL)
        found.append((more[0]["severity"], text, [text]))
    return found


def with_hosts(text, hosts):
    """A line with the names of its hosts, as --limit takes them."""
    return text.replace(HOST, ",".join(hosts))


def without_host(text, host):
    """A line with HOST in place of the name of its host."""
    return re.sub(r"(?<![\w.-])%s(?![\w.-])" % re.escape(host), HOST, text)


def _lines(cause, host):
    checks = list(dict.fromkeys(check for check in (row["check"] for row in cause["explains"])))
    number = len(cause["explains"])
    explained = "%d %s explained by this: %s (%s)" % (
        number, "finding is" if number == 1 else "findings are", ", ".join(checks), _ALL)
    lines = [cause["sentence"]] + [
        word + without_host(text, host) for word, text in (
            ("", cause["effect"]), ("since: ", cause["since"]), ("evidence: ", cause["evidence"]),
            ("fix: ", cause["fix"]), ("then: ", cause["then"])) if text]
    return lines + [explained if cause["cause"] else "check: " + ", ".join(checks)]
