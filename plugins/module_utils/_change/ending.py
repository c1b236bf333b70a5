# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a module that changes the node ends. PRIVATE to the collection."""

from .. import _errors


def end(module, change):
    """End a module with what `change(params, check_mode)` returns, or with what it raises."""
    try:
        module.exit_json(**change(module.params, module.check_mode))
    except (_errors.BadInput, _errors.ChangeFailed) as error:
        module.fail_json(**error.result())
