# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kernel_modules: every requested module on every installed kernel."""

from ... import _errors, _module_data, _names, _versions
from ..._host.host import ABSENT, OK
from ..bounds import fitted_modules
from .look import Look

UNREAD_LIMIT = 20


def collect_kernel_modules(host, node, names=None, kernel=None):
    """The evidence dict. `node` is the section node_host of the same look; `names` are module names (BadInput where one
    is malformed or there are more than _names.NAMES_LIMIT); `kernel` is a release (BadInput if not installed)."""
    modules_checked = _names.checked(names if names else _module_data.DEFAULT_MODULES)
    if len(modules_checked) > _names.NAMES_LIMIT:
        raise _errors.BadInput("%d module names are given, but one call takes at most %d; use several calls"
                               % (len(modules_checked), _names.NAMES_LIMIT))
    look = Look(host, node, kernel)
    modules = [look.module(name) for name in sorted(modules_checked)]
    return fitted_modules(_section(look, modules))


def _section(look, modules):
    wide = look.policy.kernel_wide
    state, cause = _running_tree(look)
    unread = look.policy.unread + look.boot.unread + [line for kernel in look.kernels for line in kernel.unread]
    return {
        "schema": 1, "collected": look.collected,
        "supports_modules": look.running.supports_modules if look.running else None,
        "running_release": look.running_release, "judged_release": look.judged, "running_tree": state,
        "running_tree_cause": cause,
        "loading": {"load": _allowed(look, "load"), "autoload": _allowed(look, "autoload"),
                    "because": [{"by": block.by, "file": block.path, "text": block.text} for block in wide]},
        "kernels": [_kernel_row(look, kernel) for kernel in look.kernels], "kernels_left_out": look.left_out,
        "next_boot": look.next_boot, "boot_loader": look.boot.loader, "boot_service": look.boot.service,
        "modules": modules, "unreadable": unread[:UNREAD_LIMIT], "unreadable_count": len(unread)}


def _running_tree(look):
    """(state, why it is gone or None)."""
    if look.running_release is None:
        return None, None
    if look.by_release[look.running_release].tree:
        return "ok", None
    if not look.by_release[look.running_release].collected:
        return None, None
    if look.running.supports_modules is False:
        return "not_needed", None
    if look.collected["modules_directory"] not in (OK, ABSENT):
        return None, None
    # A kernel from outside of the node never had a directory here. A kernel that loaded modules had one, and the
    # package of a newer kernel replaces it.
    newer = [kernel.release for kernel in look.kernels
             if kernel.tree and _versions.order(kernel.release) > _versions.order(look.running_release)]
    if newer and look.running.loaded:
        return "gone", "an upgrade to %s removed them: this kernel loaded modules, and its directory is gone" % newer[0]
    return "gone", "whether they were ever installed is not known"


def _allowed(look, load_path):
    if not look.live:
        return None
    if (look.running.supports_modules is False
            or any(load_path in block.load_paths for block in look.policy.kernel_wide)):
        return "forbidden"
    return "allowed" if look.running.supports_modules and load_path not in look.policy.unknown_load_paths else "unknown"


def _kernel_row(look, kernel):
    path, whole = kernel.config
    return {"release": kernel.release, "running": kernel.running,
            "next_boot": kernel.release == look.next_boot["release"], "tree": kernel.tree, "index": kernel.index,
            "index_cause": kernel.index_cause, "config": path, "config_complete": whole if path else None}
