# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that set sysctls at boot, and files of others that would override them.

Predicts sysctl values: runs the collector on the tree with the planned files in it.
"""

import os
import re
from collections import OrderedDict

from ... import _errors
from ..._conntrack.keys import BUCKETS, FORWARD, FORWARD_6, KEYS, MAX, MODULES, dotted
from ..._conntrack.predict import rounded_buckets
from ..._host import write
from ..._host.other_hosts import PlannedHost
from ..._look.conntrack.conntrack import collect_conntrack
from ..._look.conntrack.sysctl_boot import values_of
from ..._look.kube.kube_proxy import collect_kube_proxy
from ..._look.kube.kubelet import collect_kubelet
from ..._look.modules.kernel_modules import collect_kernel_modules
from ..modules import plan as modules_plan

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


# Conflicting lines are commented out one by one; no real key is set by more lines than this.
_LINES_LIMIT = 16


class Prediction:
    """`section(texts)` is the section node_conntrack of the tree with `texts` {path: text or None} in it."""

    def __init__(self, host, node):
        self._host, self.node = host, node
        self._kube_proxy = collect_kube_proxy(host, node)
        self._kubelet = None

    def section(self, texts):
        return collect_conntrack(PlannedHost(self._host, texts), self.node, self._kube_proxy, self._kubelet_version)

    def _kubelet_version(self):
        if self._kubelet is None:
            self._kubelet = collect_kubelet(self._host, self.node)
        return self._kubelet["version"]


class Persisting:
    """The files that make `wanted` {key: value} hold at boot: `texts` {path: text or None}, and `after`, the section
    with these files. Each row of `rows` {key: row} gets whether its value holds, and the reason where it does not."""

    def __init__(self, host, prediction, wanted, rows, options):
        self._host, self._prediction, self._wanted, self._rows = host, prediction, wanted, rows
        self._files = Files(modules_plan.checked_file_name(options["file"]))
        self._values = dict(kept_values(host, self._files), **wanted)
        self._modules = options["modules"] + kept_modules(host, self._files)
        self._others = OrderedDict()
        rows = collect_kernel_modules(host, prediction.node, list(MODULES))["modules"]
        self._builtin = [row["name"] for row in rows if row["at_boot"] == "builtin"]
        self._look(False)
        if options["comment_out_conflicts"]:
            self._let_others_yield()
        # The option is written only where the line for the limit certainly takes effect.
        if MAX in self._values and self._row(MAX)["at_boot"] == self._values[MAX] and self._is_ours(MAX):
            self._look(True)
        for key in in_order(wanted):
            self._report(key, options["comment_out_conflicts"])

    def _look(self, with_option):
        own = own_texts(self._files, self._values, self._modules, self._builtin, with_option)
        self.texts = OrderedDict((path, own.get(path)) for path in self._files.all)
        self.texts.update(self._others)
        self.after = self._prediction.section(self.texts)

    def _row(self, key):
        return next(row for row in self.after["sysctls"] if row["key"] == dotted(key))

    def _is_ours(self, key):
        return (self._row(key)["assigned_by"] or "").startswith(self._files.sysctl + ":")

    def _holds(self, key):
        """Whether a boot sets the wanted value; None where that is not known. More entries or buckets are fine."""
        value, wanted = self._row(key)["at_boot"], self._wanted[key]
        if not isinstance(value, int):
            return None if value is None else False
        if key == MAX:
            return value == 0 or value >= wanted
        return value >= rounded_buckets(wanted) if key == BUCKETS else value == wanted

    def _let_others_yield(self):
        for _turn in range(_LINES_LIMIT):
            places = [line_of(self._row(key)["at_boot_by"]) for key in in_order(self._wanted)
                      if self._holds(key) is False]
            places = [place for place in places if place and place[0] != self._files.sysctl]
            if not places:
                return
            try:
                path, text = yielding(self._host, places[0][0], places[0][1], self._others)
            except _errors.ChangeFailed as error:
                for key in in_order(self._wanted):
                    if self._holds(key) is False and line_of(self._row(key)["at_boot_by"]) == places[0]:
                        self._rows[key].update(failed=True, msg=str(error))
                return
            self._others[path] = text
            self._look(False)

    def _report(self, key, comment_out):
        row, predicted = self._rows[key], self._row(key)
        at_boot, with_proxy = predicted["at_boot"], predicted["after_kube_proxy"]
        row.update(persisted=self._is_ours(key), at_boot=at_boot, after_kube_proxy=with_proxy)
        holds = self._holds(key)
        if holds is False and not row["failed"]:
            hint = "change it there"
            if line_of(predicted["at_boot_by"]) and not comment_out:
                hint = "comment_out_conflicts: true comments that line out"
            row.update(failed=True, msg="it is %s after the next boot (%s); %s" % (at_boot, predicted["reason"], hint))
        elif holds is None:
            row["msg"] = "its value after the next boot is not known: %s" % predicted["reason"]
        elif predicted["kube_proxy_decides"] and with_proxy != at_boot:
            row["msg"] = "%s overrides it and sets it to %s" % (
                predicted["owner"], "an unknown value" if with_proxy is None else with_proxy)


def file_texts(host, texts):
    """[(path, text before, text after)] of the files that change."""
    rows = [(path, write.read_exactly(host, path), after) for path, after in texts.items()]
    return [row for row in rows if row[1] != row[2]]
