# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether nf_tables is in the running kernel, so that a query loads no module."""

from ..._host.host import ABSENT, DENIED, OK, UNPARSED
from ..._parse.kernel.module_files import parse_proc_modules


def nf_tables_status(host, node):
    """ok (it is in the kernel), absent (nor is any of its rules), or why that is not known: denied, unparsed."""
    listed = host.read_text("/proc/modules")
    if listed.status == ABSENT and host.presence("/proc/sys/kernel/modprobe") == ABSENT:
        return OK  # A kernel without CONFIG_MODULES cannot load anything.
    loaded, _unread = parse_proc_modules(listed.text)
    if "nf_tables" in loaded:
        return OK
    release = node["kernel_release"]
    if not listed.ok or not release:
        return DENIED if listed.status == DENIED else UNPARSED
    # Only this case needs the code that reads how kernels were built, so it is compiled here.
    from ..host.kernels import Kernel
    from ..modules import state
    verdict = state.resolve(Kernel(host, release, True), "nf_tables", state.RunningKernel(host, loaded, True), {})
    if verdict.state == state.BUILTIN:
        return OK
    return UNPARSED if verdict.state == state.UNKNOWN else ABSENT
