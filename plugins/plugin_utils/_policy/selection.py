# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which checks run: by section, by id and by pattern. PRIVATE to the collection."""

import fnmatch

from ...module_utils._errors import BadInput
from .._checks import catalogue
from .._options import unknown_name


def chosen_checks(sections=None, checks=None, skip=None, known=None):
    """The checks of the `sections` (all where none is given) that match one of `checks` (all where none is given) and
    none of `skip`. `known` are all checks by id, here and below; without it those of the collection."""
    return [check for check in _known(known).values() if (not sections or check.section in sections)
            and (not checks or _matches(check.id, checks)) and not _matches(check.id, skip or ())]


def with_users(chosen, known, findings):
    """The `chosen` checks, and the user's checks among `known` that have `findings` in this run and need a section that
    one of `chosen` needs: a fix may have changed their result."""
    judged, sections = {row["check"] for row in findings or ()}, _sections_of(chosen)
    users = [check for check in known.values() if check.file and check.id in judged and check not in chosen]
    return chosen + [check for check in users if sections & _sections_of([check])]


def _sections_of(checks):
    return {need.partition(".")[0] for check in checks for need in check.needs} - {"node_host"}


def _matches(check_id, patterns):
    return any(fnmatch.fnmatchcase(check_id, pattern) for pattern in patterns)


def _known(known):
    return catalogue.catalogue() if known is None else known


def known_sections(known: dict | None = None) -> list[str]:
    """The letters that check ids begin with."""
    return sorted({check.section for check in _known(known).values()})


def refuse_unknown_sections(where, sections, known=None):
    """Raises BadInput for letters that no check id begins with; `where` names the option or variable."""
    for section in sections:
        if section not in known_sections(known):
            raise unknown_name("%s: the section" % where, section, known_sections(known))


def refuse_unknown_checks(where, patterns, known=None):
    """Raises BadInput for an id or a pattern that no check matches."""
    for pattern in patterns:
        if not any(_matches(check_id, [str(pattern)]) for check_id in _known(known)):
            sections = [section + "*" for section in known_sections(known)]
            raise unknown_name("%s: the check" % where, pattern, sections + list(_known(known)), listed=sections)


def refuse_no_check(where, chosen):
    """Raises BadInput for a selection that leaves nothing: a node that no check looked at must not look healthy."""
    if not chosen:
        raise BadInput("%s leave no check to run" % where)
