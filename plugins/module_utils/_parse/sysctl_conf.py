# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of sysctl.d. PRIVATE to the collection.

Sample:
    # comment, as ; is
    net.netfilter.nf_conntrack_max = 262144
    -net/ipv4/conf/eth0.100/rp_filter = 2
    net.ipv4.conf.*.rp_filter = 2
    -net.ipv4.conf.lo.rp_filter
Grammar: systemd src/sysctl/sysctl.c parse_file(), src/shared/sysctl-util.c sysctl_normalize().
"""

import fnmatch
import re
from collections import namedtuple

# key: path below /proc/sys, possibly a pattern; value: None for a line that only excludes a key from patterns; line:
# counted from 1.
Setting = namedtuple("Setting", "key value line")

_BLANKS = " \t\r\n"
_LINE_END = re.compile(r"\r\n|[\n\r\0]")
_SEPARATOR = re.compile(r"[./]")
_PATTERN = re.compile(r"[*?\[]")
_SWAPPED = {ord("."): "/", ord("/"): "."}


def parse_sysctl_conf(text):
    """[Setting] in the order of the file; an invalid line is skipped, as systemd-sysctl does with a warning."""
    settings = []
    for number, line in enumerate(_LINE_END.split(text), 1):
        line = line.strip(_BLANKS)
        if not line or line[0] in "#;" or ("=" not in line and line[0] != "-"):
            continue
        key, equals, value = (line[1:] if line[0] == "-" else line).partition("=")
        settings.append(Setting(path_of(key.strip(_BLANKS)), value.strip(_BLANKS) if equals else None, number))
    return settings


def path_of(key):
    """The key as a path: its first separator decides which of the two notations it uses."""
    first = _SEPARATOR.search(key)
    if first and first.group() == ".":
        key = key.translate(_SWAPPED)
    return "/".join(part for part in key.split("/") if part not in ("", "."))


def is_pattern(key):
    return _PATTERN.search(key) is not None


def fits(pattern, key):
    """Whether a pattern matches a key: part by part, because in glob(3) * does not match a slash."""
    patterns, parts = pattern.replace("[^", "[!").split("/"), key.split("/")
    return len(patterns) == len(parts) and all(fnmatch.fnmatchcase(part, wanted)
                                               for part, wanted in zip(parts, patterns))
