# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kube-proxy that has lost its rules: no module is called, its restart is a turn (turns.of_restart). PRIVATE to the
collection."""

from .work import NOTHING, Work

ROLE = "harden_kube_proxy"
STALE = ()
undo = refusals = None


def work(_facts: dict, _settings: dict, _up_to: str | None = None) -> Work:
    """No Work."""
    return NOTHING
