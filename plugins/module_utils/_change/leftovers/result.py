# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of the module iptables_leftovers. PRIVATE to the collection."""


def empty_result():
    """What the module returns where nothing was found, removed or confirmed."""
    return {
        "backend": None, "backend_because": "", "refused": None, "left": [], "removed": [], "sampled": None,
        "rollback": {"token": None, "seconds": None, "pid": None, "state": None, "path": None}, "confirmed": False,
        "conflicts": []}
