# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kube-proxy that has lost its rules: no module is called, its restart is a turn (turns.of_restart). PRIVATE to the
collection."""

from .work import NOTHING

ROLE = "harden_kube_proxy"
STALE = ()
undo = refusals = None


def work(_facts, _settings, _up_to=None):
    """No Work."""
    return NOTHING
