# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which checks run: by section, by id and by pattern. PRIVATE to the collection."""

import fnmatch

from ..module_utils._errors import BadInput
from . import _catalogue
from ._options import unknown_name


def chosen_checks(sections=None, checks=None, skip=None):
    """The checks of the `sections` (all where none is given) that match one of `checks` (all where none is given) and
    none of `skip`."""
    return [check for check in _catalogue.catalogue().values() if (not sections or check.section in sections)
            and (not checks or _matches(check.id, checks)) and not _matches(check.id, skip or ())]


def _matches(check_id, patterns):
    return any(fnmatch.fnmatchcase(check_id, pattern) for pattern in patterns)


def known_sections():
    """The letters that check ids begin with."""
    return sorted({check.section for check in _catalogue.catalogue().values()})


def refuse_unknown_sections(where, sections):
    """Raises BadInput for letters that no check id begins with; `where` names the option or variable."""
    for section in sections:
        if section not in known_sections():
            raise unknown_name("%s: the section" % where, section, known_sections())


def refuse_unknown_checks(where, patterns):
    """Raises BadInput for an id or a pattern that no check matches."""
    for pattern in patterns:
        if not any(_matches(check_id, [str(pattern)]) for check_id in _catalogue.catalogue()):
            sections = [section + "*" for section in known_sections()]
            raise unknown_name("%s: the check" % where, pattern, sections + list(_catalogue.catalogue()),
                               listed=sections)


def refuse_no_check(where, chosen):
    """Raises BadInput for a selection that leaves nothing: a node that no check looked at must not look healthy."""
    if not chosen:
        raise BadInput("%s leave no check to run" % where)
