# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module kube_proxy_restart as options and a function. PRIVATE to the collection."""

from ..._look import tree
from .restart import plan_of, restart

OPTIONS = tree.TREE_OPTIONS


def change(params, check_mode):
    """The result of the module for options that are valid; raises BadInput and ChangeFailed."""
    host, node = tree.open_asked(params)
    plan = plan_of(host, node["place"] if host.root == "/" else None)
    if plan.method and not check_mode:
        restart(host, plan)
    return {"changed": plan.method is not None, "method": plan.method, "unit": plan.unit,
            "pid": plan.process.pid if plan.process else None, "refused": plan.refused}
