# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the node is cordoned according to the API server. PRIVATE to the collection."""

import json
from collections.abc import Mapping

from ...module_utils._errors import BadInput
from .migration import part_of


def cordon_doubt(result, node):
    """Why the answer to `kubectl get node NAME -o json` does not show that the node is cordoned, as a sentence; empty
    if it does."""
    if not isinstance(result, Mapping):
        raise BadInput("needs a registered result, not %s" % type(result).__name__)
    if result.get("unreachable") or result.get("rc") is None:
        return "the API server could not be asked for the node %s: %s" % (node, _line(result.get("msg")) or "no answer")
    if result["rc"] != 0:
        return "the API server gave no answer for the node %s: %s" % (node, _line(result.get("stderr")
                                                                                  or result.get("msg")) or "no answer")
    try:
        answer = json.loads(str(result.get("stdout") or ""))
    except (ValueError, RecursionError):
        return "the answer of the API server for the node %s is not valid JSON" % node
    if not isinstance(answer, dict) or answer.get("kind") != "Node" or part_of(answer, "metadata").get("name") != node:
        return "the answer of the API server is not for the node %s" % node
    if part_of(answer, "spec").get("unschedulable") is not True:
        return "the node %s is not cordoned" % node
    return ""


def _line(text):
    """The first line of a program's output."""
    lines = str(text or "").strip().splitlines()
    return lines[0][:200] if lines else ""
