# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the running kernel has nf_tables in memory, so that asking it loads nothing. PRIVATE to the collection."""

from .. import _host
from .._parse.proc_modules import parse_proc_modules


def nf_tables_status(host, node):
    """ok (it is there), absent (it is not, so no rule of it is either), or why that cannot be told: denied, unparsed."""
    listed = host.read_text("/proc/modules")
    if listed.status == _host.ABSENT and host.presence("/proc/sys/kernel/modprobe") == _host.ABSENT:
        return _host.OK  # A kernel without CONFIG_MODULES can load nothing, whatever it is asked.
    loaded, _unread = parse_proc_modules(listed.text)
    if "nf_tables" in loaded:
        return _host.OK
    release = node["kernel_release"]
    if not listed.ok or not release:
        return _host.DENIED if listed.status == _host.DENIED else _host.UNPARSED
    # Only here is it worth to compile what knows how kernels were built.
    from . import _module_state
    from ._kernels import Kernel
    verdict = _module_state.resolve(Kernel(host, release, True), "nf_tables", _module_state.RunningKernel(host, loaded, True), {})
    if verdict.state == _module_state.BUILTIN:
        return _host.OK
    return _host.UNPARSED if verdict.state == _module_state.UNKNOWN else _host.ABSENT
