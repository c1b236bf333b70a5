# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes the text that logs, mails and terminals add around rules. PRIVATE to the collection.

Samples:
    2026-11-22T10:00:00.123Z stderr F -A KUBE-SERVICES -d 10.96.0.1/32 -j KUBE-SVC-NPX46M4PTMTKRN6Y
    I1122 10:00:00.123456       1 proxier.go:1500] "Restoring" rules="*nat\\n:KUBE-SERVICES - [0:0]\\nCOMMIT\\n"
    > *filter
Prefixes: CRI logs, journald, klog, quoting. `\\n` and `#012` are line ends of loggers (klog, JSON, rsyslog).
"""

import re

_RULES = (r"(?:\*(?:filter|nat|mangle|raw|security)\b|:[!-~]{1,64} (?:-|[A-Z]{1,20}) "
          r"\[\d{1,20}:\d{1,20}\]|(?:\[\d{1,20}:\d{1,20}\] )?-A \S{1,64} -"
          r"|-P \S{1,64} [A-Z]|-N \S|Chain \S{1,64} \(|table ip6? \S{1,64} \{)")
_PREFIX = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?(?: std(?:out|err) [FP])? |[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ "
    r"[^\s:]+: |[IWEF]\d{4} [\d:.]+ +\d+ \S+:\d+\] |> ?|\| )+")
_START = re.compile(_RULES)
_ESCAPED = re.compile(r"\\{1,4}(?:r\\{1,4})?n|#012")
_MANY = re.compile(r"(?:\\n|#012)\s*%s" % _RULES)
_PLAIN = ((re.compile(r'\\{1,4}"'), '"'), (re.compile(r"\\{1,4}t|#011"), "\t"))
# A fence of Markdown, or a tag of HTML alone in its line.
_FENCE = re.compile(r"\s*(?:```|~~~|</?(?:details|summary|pre|code|p|br|blockquote)\b[^<>]{0,99}>\s*\Z)")


def unwrapped(text):
    """(lines, whether some of them are rules from a log); a log may hold only a part of the kernel's rules."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines, embedded = [], False
    for line in text.split("\n"):
        if _MANY.search(line):
            lines += _unescaped(line)
            embedded = True
        else:
            lines.append(line)
    ends = [found.end() if found else 0 for found in map(_PREFIX.match, lines)]
    if any(end and _START.match(line, end) for line, end in zip(lines, ends)):
        lines = [line[end:] for line, end in zip(lines, ends)]
    return [line for line in lines if not _FENCE.match(line)], embedded


def _unescaped(line):
    """The lines of a text that a logger wrote as one line, from the first rule on."""
    start = _START.search(line)
    line = line[start.start():] if start else line
    for form, plain in _PLAIN:
        line = form.sub(plain, line)
    parts = [part.strip() for part in _ESCAPED.split(line)]
    return [part for part in parts if part and part.strip('"')]
