# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Input and output of the commands of a script: pipes, redirections, its own files. PRIVATE to the collection."""

import collections
import posixpath
import re

from .launchers import of_file, run_crontab
from .rule_files import COPY, LOADERS, harmful_rules, loader_of
from .sysctls import RUNNING, Sysctls, harmful
from .values import FEWER_RULES, FILE, MARK, MARKS, NOTHING_KNOWN, RULES, TEXT_LIMIT
from .words import MODULE

FILES_LIMIT = 100       # that the script writes itself
_READS = ("<", "<<", "<<-", "<<<", "<>")
_WRITES = (">", ">>", ">|", "&>", "&>>")
# What one command writes into a file; `end` is the length of the file after it.
_Part = collections.namedtuple("_Part", "span text end")
# man modprobe.d, man sysctl.d.
_MODPROBE = re.compile(r"/(?:etc|run|usr/local/lib|usr/lib|lib)/modprobe\.d/[^/]+\.conf\Z")
_SYSCTL = re.compile(r"/(?:(?:etc|run|usr/local/lib|usr/lib|lib)/sysctl\.d/[^/]+\.conf|etc/sysctl\.conf)\Z")
# Commands that run nothing instead of loading the module.
_NOTHING = re.compile(r"(?:(?:/usr)?/s?bin/(?:true|false)|true|false|:|exit\b.*)\s*\Z")


class Streams:
    """`stdin`: (the input of a command, the span of its pipeline or None). `capture`: the printed texts, or None.

    `files`: {path: text} of the files that the script itself wrote. `budget`: how many characters may still be printed,
    written or read as scripts. `elsewhere` and `maybe`: how deep the walk is in commands of another root, and in
    conditions.
    """

    def __init__(self, findings, values, budget):
        self.findings, self.values, self.budget = findings, values, budget
        self.stdin, self.capture, self.files = (NOTHING_KNOWN, None), None, {}
        self.elsewhere = self.maybe = 0
        # {path: [_Part]} of the files of rules that the script writes, and the units that it enables.
        self._rule_files, self.enabled = {}, set()
        self.sysctls = Sysctls()

    def redirected(self, node, walk):
        kept, paths = (self.stdin, self.capture), []
        for redirect in node.redirects:
            if redirect.operator in _READS and redirect.descriptor in ("", "0"):
                self.stdin = (self._read(redirect), None)
                continue
            path = self.values.texts_of(redirect.word)[0]
            if redirect.operator in _WRITES and redirect.descriptor in ("", "1"):
                paths.append((path, redirect.operator.endswith(">>")))
                self.capture = []
        ended = walk(node)
        if paths:
            self.write(node, paths[-1][0], "".join(self.capture), paths[-1][1])
        self.stdin, self.capture = kept
        return ended

    def _read(self, redirect):
        if redirect.operator in ("<", "<>"):
            return self.text_of_file(self.values.texts_of(redirect.word)[0])
        if redirect.operator == "<<<":
            return "\n".join(self.values.texts_of(redirect.word)) + "\n"
        text = self.findings.here_text(redirect)
        if redirect.operator == "<<-":
            text = "\n".join(line.lstrip("\t") for line in text.split("\n"))
        if redirect.word.quoted or not ("$" in text or "`" in text or "\\" in text):
            return text
        return self.values.text_of(self.findings.here_parts(redirect), {})

    def text_of_file(self, path):
        if path in ("-", "/dev/stdin", "/proc/self/fd/0"):
            return self.stdin[0]
        return self.files[path] if path in self.files else of_file(path)

    def write(self, node, path, text, appends=False):
        """The script writes a file; the text is kept in case the script, or cron, reads or runs it later."""
        if path.startswith(("/etc/cron", "/var/spool/cron")):
            run_crontab(self, node, text, path)
        if (RULES in text or FEWER_RULES in text) and not path.startswith("/dev/"):
            # The value of a variable is not shown: it may be a secret.
            shown = MARKS.sub(r"$\1", path)
            if self.findings.sequence.writes(shown if shown in self.findings.text else "a file"):
                # The removed rules are not in the file; saved() of aftermath.py reports it.
                text = text.replace(RULES, FEWER_RULES)
        if loader_of(path) and not self.elsewhere:
            self._note_rules(self.findings.span(node), path, text, appends)
        if path.startswith(RUNNING + "/") and not self.elsewhere:
            self.sysctls.take(self.findings.span(node), path[len(RUNNING) + 1:], text.strip())
        settings = harmful_settings(path, text)
        if settings:
            self.effect(node, "settings", tables=settings, file=self._shown(path))
        if path.startswith("/dev/") or MARK in path or len(self.files) >= FILES_LIMIT:
            return
        text = (self.files.get(path, "") if appends else "") + text
        self.files[path] = text if len(text) <= TEXT_LIMIT else NOTHING_KNOWN

    def _note_rules(self, span, path, text, appends):
        """A command that may not run adds to what the file may hold; a function may write a long text many times."""
        if path not in self._rule_files and len(self._rule_files) >= FILES_LIMIT:
            self.findings.declared = False
            return
        parts = self._rule_files.setdefault(path, [])
        if not appends and not self.maybe:
            del parts[:]
        left = TEXT_LIMIT - (parts[-1].end if parts else 0)
        if len(text) > left:
            self.findings.declared, text = False, text[:left]
        if text:
            parts.append(_Part(span, text, TEXT_LIMIT - left + len(text)))

    def end_rule_files(self):
        """Record what the script leaves in files that a service loads and in sysctls, at the command that writes it."""
        self.sysctls.end(self.findings.effect)
        for path, parts in sorted(self._rule_files.items()):
            text = "".join(part.text for part in parts)
            verb = "enable" if loader_of(path) in self.enabled else None
            found = harmful_rules(MARKS.sub("?", text)) + ((COPY,) if RULES in text else ())
            if found:
                span = next((part.span for part in parts if RULES in part.text or harmful_rules(part.text)),
                            parts[0].span)
                self.findings.effect(None, "settings", tables=found, file=self._shown(path), verb=verb, span=span)
            for part in parts:
                for source in FILE.findall(part.text):
                    self.findings.effect(None, "copy", tables=(source,), file=self._shown(path), verb=verb,
                                         span=part.span)

    def _shown(self, path):
        """A path without names that the text does not hold: they may be secret values, as in /etc/sysctl.d/$x.conf."""
        if path in self.findings.text or path in LOADERS:
            return path
        names = [name if name in self.findings.text else "?" + posixpath.splitext(name)[1] for name in path.split("/")]
        return "/".join(names)

    def prints(self, text):
        if self.capture is not None and text:
            self.budget -= len(text)
            if len(text) > TEXT_LIMIT or self.budget < 0:
                self.findings.declared, text = False, NOTHING_KNOWN
            self.capture.append(text if text.endswith("\n") else text + "\n")


# Settings that a script writes into modprobe.d and sysctl.d and that disable the node's netfilter.
def harmful_settings(path, text):
    """The lines, in short form, that block a module of netfilter or turn off a sysctl that Services need."""
    if _MODPROBE.match(path):
        from .._parse.kernel.module_files import parse_modprobe_conf
        return tuple("%s %s" % (each.keyword, each.name) for each in parse_modprobe_conf(text)[0]
                     if MODULE.match(each.name) and (
                         each.keyword == "blacklist" or each.keyword == "install" and _NOTHING.match(each.rest)))
    if _SYSCTL.match(path):
        return harmful(text)
    return ()
