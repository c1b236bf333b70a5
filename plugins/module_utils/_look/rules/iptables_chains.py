# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_iptables_chains: problems of the rules, and the Services they route.

Only the reader of rules is imported here; the rest is imported while a big rule set is read (rule_sets.compile_rest()).
"""

import time

from ... import _errors
from .rule_sets import many_objects, read_files, rules_of

DEFAULTS = {"src": None, "proxy_mode": None, "kubernetes_version": None, "window_seconds": 0, "deep": False,
            "max_offenders": 5, "max_services": 20}
_BOUNDS = {"window_seconds": (0, 300), "max_offenders": (1, 50), "max_services": (0, 500)}
_FILES_LIMIT = 20


def collect_iptables_chains(host, node, options=None, kube_proxy=None, kubelet=None):
    """The evidence dict. `options` as those of the module; `kube_proxy` and `kubelet` are their sections where they
    were collected already. Raises BadInput."""
    options = dict(DEFAULTS, **(options or {}))
    _check(options)
    begun = time.monotonic()
    with many_objects():
        rules = read_files(host, options["src"]) if options["src"] is not None else rules_of(host, node)
        from .section import section_of
        section = section_of(host, node, rules, options, kube_proxy, kubelet)
    section["footprint"] = {"own_peak_bytes": host.own_peak_bytes(), "helpers_peak_bytes": rules.helpers_peak_bytes,
                            "seconds": round(time.monotonic() - begun, 3)}
    return section


def _check(options):
    for name in sorted(_BOUNDS):
        least, most = _BOUNDS[name]
        if not least <= options[name] <= most:
            raise _errors.BadInput("%s %d is out of bounds; give a number from %d to %d"
                                   % (name, options[name], least, most))
    if options["src"] is not None and options["window_seconds"]:
        raise _errors.BadInput("window_seconds reads the node twice, but the counters of the files in src do not "
                               "change; leave out one of them")
    if options["src"] is not None and not 1 <= len(options["src"]) <= _FILES_LIMIT:
        raise _errors.BadInput("src names %d files; give from 1 to %d dumps, or leave it out to read the rules of the "
                               "node" % (len(options["src"]), _FILES_LIMIT))
