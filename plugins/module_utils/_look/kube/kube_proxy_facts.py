# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kube_proxy with the options of its own module. PRIVATE to the collection."""

from ... import _errors
from .kube_proxy import collect_kube_proxy

WINDOW_SECONDS_MAX = 300


def collect_kube_proxy_facts(host, node, window_seconds=0, paths=None):
    """The evidence dict of a node, or of files `{source: path}`. Raises BadInput."""
    if not 0 <= window_seconds <= WINDOW_SECONDS_MAX:
        raise _errors.BadInput("window_seconds is %d; give 0 (no window) to %d" % (window_seconds, WINDOW_SECONDS_MAX))
    if paths and window_seconds:
        raise _errors.BadInput("window_seconds reads the node twice, but files do not change; leave out one of them")
    if paths:
        from .kube_proxy_files import fill_from_files
        # The node of the files is not the host that reads them.
        section = dict(collect_kube_proxy(host, dict(node, place="image")), running=None)
        fill_from_files(host, section, paths)
        return section
    section = collect_kube_proxy(host, node, window_seconds)
    if section["pid"]:
        from .kube_proxy_rules import compare_with_kernel
        compare_with_kernel(host, node, section)
    return section
