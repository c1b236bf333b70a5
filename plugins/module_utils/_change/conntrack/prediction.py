# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Predicts sysctl values: runs the collector on the tree with the planned files in it."""

from collections import OrderedDict

from ... import _errors
from ..._conntrack.predict import rounded_buckets
from ..._conntrack.keys import BUCKETS, MAX, MODULES, dotted
from ..._host import write
from ..._host.other_hosts import PlannedHost
from ..._look.conntrack.conntrack import collect_conntrack
from ..._look.kube.kube_proxy import collect_kube_proxy
from ..._look.kube.kubelet import collect_kubelet
from ..._look.modules.kernel_modules import collect_kernel_modules
from ..modules import plan as modules_plan
from .files import Files, in_order, kept_modules, kept_values, line_of, own_texts, yielding

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
