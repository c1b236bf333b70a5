# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts of shells in pasted texts, and the commands behind them. PRIVATE to the collection.

Samples:
    root@node-1:~# lsmod            Debian; `[root@node-1 ~]#` Red Hat, `root@node-1 [ ~ ]#` Photon, `node-1:~ #` SUSE
    core@node-1 ~ $ lsmod           Flatcar; `node-1 ~ #` its root
    bash-5.1# lsmod                 containers; `/ #` Alpine
    node-1:~ admin$ lsmod           macOS
    PS C:\\> kubectl logs x          Windows
"""

import re

# Each part is bounded and ends at its first mark, so a long line of marks takes no long time.
PROMPT = (r"(?:(?:\([\w.-]{1,40}\) ?)?(?:"
          r"[^\s@\[]{1,64}@[^\s#$%>]{1,200}(?: \[ [^\]]{1,100} \]| [^\s#$%>]{1,200})? ?[#$%>]"
          r"|\[[^\s@]{1,64}@\S{1,200} [^\]]{0,200}\] ?[#$%]"
          r"|(?:ba|da|k|z)?sh-[\d.]{1,9}[#$]"
          r"|[\w.-]{1,64}:[~/\w][^\s#$]{0,200}(?: [\w.-]{1,40})? ?[#$]"
          r"|(?:[\w.-]{1,64} ?)?[~/][\w./-]{0,100} ?[#$])"
          "|[\u279c\u276f])")
# A number sign alone also begins headings and comments, and `>` quotations.
_MARK = (r"\$ {1,3}(?=[a-z./])|[\w.-]{0,64}[#$%>] (?=(?:sudo )?(?:ip6?tables|nft|kubectl|oc|journalctl|dmesg|sysctl|lsmod|"
         r"modprobe|ipset|ipvsadm|conntrack|cat|curl|crictl|docker|uname|update-alternatives"
         r"|ip (?:-\S{1,9} ){0,3}(?:a|addr|address|l|link|n|neigh|r|route|rule)|ss -\w|wg show|ifconfig|route -n)\b)")
_COMMAND = re.compile(r"\s{0,8}(?:%s(?:\s|\Z)|(?:PS )?[A-Z]:\\[^>]{0,200}>|%s)" % (PROMPT, _MARK))
# A line of a log may stand between two fences in its own line.
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)(?:[^\s`]{0,30}|[^`]{0,60})\Z")
# Commands that print one file as it is, and heredocs, which show the text that goes into one.
_PATH = r"(/[\w./@+:-]{1,300})"
_NO_COMMENTS = r"""e?grep (?:-E )?-E?vE? (?:\^#|'[^']{0,30}#[^']{0,30}'|"[^"]{0,30}#[^"]{0,30}")"""
_SHOWN = re.compile(r"(?:sudo (?:-\S+ )*)?(?:(?:cat|less|more) {0}\Z|cat ?<<.{{0,100}}?(?:tee (?:-a )?|>>? ?){0}\Z"
                    r"|(?:cat ?>>? ?|tee (?:-a )?){0} ?<<|{1} {0}\Z)".format(_PATH, _NO_COMMENTS))
# What a shell prints of a program that a signal ended.
_CRASHED = re.compile(r"(?:Segmentation fault|Aborted|Bus error|Illegal instruction)(?: \(core dumped\))?\s*\Z")
_RELEASE = re.compile(r"uname -r\Z")
_CRONTAB = re.compile(r"(sudo )?crontab (?:-u ?([\w.-]{1,32}) )?-l\Z")


def is_border(line):
    """Whether another text begins with this line: it is a prompt of a shell or a fence of Markdown."""
    return bool(_FENCE.match(line) or _COMMAND.match(line))


def command_of(line):
    """The command behind the prompt of a border, or an empty text for a fence."""
    found = _COMMAND.match(line)
    return line[found.end():].strip() if found else ""


def prompt_of(line):
    """The prompt of a border, or an empty text for a fence."""
    found = _COMMAND.match(line)
    return found.group(0).strip() if found else ""


def is_crash(line):
    """Whether a line is all that a shell prints of a command that crashed; only its prompt has the command."""
    return bool(_CRASHED.match(line))


def file_of(command):
    """The path of the one file whose content a command shows, or an empty text."""
    if _RELEASE.match(command):
        return "/proc/sys/kernel/osrelease"
    table = _CRONTAB.match(command)
    if table:
        return "/var/spool/cron/crontabs/" + (table.group(2) or "root")
    found = _SHOWN.match(command)
    return next(filter(None, found.groups())) if found else ""
