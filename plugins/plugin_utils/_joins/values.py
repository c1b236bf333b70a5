# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading evidence for joins: no comparison with a value that is missing (None) holds. PRIVATE to the collection."""


def section(evidence, name):
    """A section of the evidence; {} without it, because `needs` of the check decides whether that is allowed."""
    found = evidence.get(name)
    return found if isinstance(found, dict) else {}


def rows_of(evidence, name, key):
    """The rows in a key of a section; [] for null, where the check reads other values, too."""
    return section(evidence, name).get(key) or []


def above(value, limit):
    return value is not None and limit is not None and value > limit


def doubt(subject, evidence, **more):
    """A row of `unknown`."""
    return dict(more, subject=subject, evidence=evidence)
