# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that set sysctls at boot, and files of others that would override them."""

import os
import re
from collections import OrderedDict

from ... import _errors
from ..._conntrack.keys import BUCKETS, FORWARD, FORWARD_6, KEYS, MAX, MODULES, dotted
from ..._host import write
from ..._look.conntrack.sysctl_boot import values_of

SYSCTL_DIRECTORY = "/etc/sysctl.d"
HEADER = ("# %s this node's netfilter needs. Written by kubenode.netfilter.conntrack; its state absent takes them "
          "back.\n")
MARK = "# kubenode.netfilter yields: "
# How a prediction names a line that is read before kube-proxy starts: of sysctl.d, or of a file of ufw.
_LINE_OF_FILE = re.compile(r"(?:ufw \((?P<ufw>/.+):(?P<ufw_line>\d+)\)|(?P<file>/.+):(?P<line>\d+))\Z")
# Turning forwarding on resets other keys (Linux net/ipv4/devinet.c inet_forward_change()), so it comes first.
_ORDER = [FORWARD, FORWARD_6] + [key.key for key in KEYS if key.key not in (FORWARD, FORWARD_6)]
_MODULE_OF = {key.key: key.module for key in KEYS}


class Files:
    """Paths of our own files, each of which sorts after those of others."""

    def __init__(self, name):
        self.sysctl = "%s/%s" % (SYSCTL_DIRECTORY, name)
        self.modules = "/etc/modules-load.d/" + name
        self.options = "/etc/modprobe.d/" + name

    @property
    def all(self):
        return (self.sysctl, self.modules, self.options)


def kept_values(host, files):
    """The values that our own file sets so far: {key: value}, numbers only."""
    return {key: int(value) for key, value in values_of(host, files.sysctl).items()
            if re.match(r"[0-9]{1,10}\Z", value)}


def kept_modules(host, files):
    """Modules that our own file lists so far."""
    return [line for line in host.read_text(files.modules).text.split("\n") if line in MODULES]


def in_order(keys):
    """Keys in the order in which they are set."""
    return [key for key in _ORDER if key in keys]


def own_texts(files, values, modules, builtin, with_option):
    """{path: text} of our own files for `values` {key: number} and `modules`, in addition to the modules that the keys
    need. `builtin`: modules that need no list and take no option. `with_option`: whether the module option hashsize
    sets the buckets too. That is right only where the line for the limit certainly takes effect: the option alone sets
    the limit to eight times the buckets. So the option is written last."""
    needed = sorted((set(modules) | {_MODULE_OF[key] for key in values if _MODULE_OF[key]}) - set(builtin))
    texts = OrderedDict()
    if values:
        texts[files.sysctl] = HEADER % "Sysctls" + "".join("%s = %d\n" % (dotted(key), values[key])
                                                           for key in in_order(values))
    if needed:
        texts[files.modules] = HEADER % "Modules with sysctls that" + "".join(name + "\n" for name in needed)
    if with_option and MAX in values and BUCKETS in values and "nf_conntrack" not in builtin:
        texts[files.options] = HEADER % "Buckets" + "options nf_conntrack hashsize=%d\n" % values[BUCKETS]
    return texts


def line_of(by):
    """(path, line) of the line that decides a key before kube-proxy starts, None where its file may not be changed."""
    found = _LINE_OF_FILE.match(by or "")
    if not found:
        return None
    return (found.group("ufw"),
            int(found.group("ufw_line"))) if found.group("ufw") else (found.group("file"), int(found.group("line")))


def yielding(host, path, line, texts):
    """(path of the file to write, its text) with that line commented out; `texts` are files as planned so far. A file
    below /etc is edited. A package's file in sysctl.d is hidden by an edited copy of the same name in /etc/sysctl.d
    (sysctl.d(5)). Raises ChangeFailed."""
    real = host.tree_path(path) or path
    target = real
    if not real.startswith("/etc/"):
        if "/sysctl.d/" not in path or host.read_link(path) is not None:
            raise _errors.ChangeFailed("%s is a link to a file outside of /etc; change that file by hand" % path)
        target = "%s/%s" % (SYSCTL_DIRECTORY, os.path.basename(path))
    text = texts[target] if target in texts else write.read_exactly(host, real)
    # systemd ends lines at these too (src/basic/fileio.c read_line_full()), so only others have its line numbers.
    if text is None or "\0" in text or "\r" in text.replace("\r\n", "\n"):
        raise _errors.ChangeFailed("%s has line ends other than newline; change its line %d by hand" % (path, line))
    lines = text.split("\n")
    if not 1 <= line <= len(lines) or lines[line - 1].startswith("#"):
        raise _errors.ChangeFailed("%s was changed during this run; run it again" % path)
    lines[line - 1] = MARK + lines[line - 1]
    return target, "\n".join(lines)
