# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the variables by which a user groups the hosts. PRIVATE to the collection."""

import re

from ansible.errors import AnsibleError

from ...module_utils._errors import BadInput
from .._options import close_to
from .._plain import plain
from .._render.text import escaped
from .traits import TRAITS

# Hosts are always grouped by these.
_ALWAYS = ("groups", *(key for _name, key in TRAITS))
_MOST = 10
_LONGEST = 100
_CAUSE = 300
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def checked_names(names: "list | None") -> list:
    """The variables among `names`, each once. Raises BadInput."""
    for name in names or ():
        if not _NAME.match(name):
            raise BadInput("group_by: %r is not the name of a variable" % name[:_LONGEST])
    chosen = list(dict.fromkeys(name for name in names or () if name not in _ALWAYS))
    if len(chosen) > _MOST:
        raise BadInput("group_by names %d variables, but at most %d are taken" % (len(chosen), _MOST))
    return chosen


def values_of(variables: list, hosts, others, hostvars) -> dict:
    """`{host: {variable: text}}` of `hosts`, without variables that are not set for it. Raises BadInput for a value
    that is no scalar, and for a variable that is set neither for one of `hosts` nor for one of `others`."""
    found = {host: _set_for(host, variables, hostvars[host]) for host in (hosts if variables else ())}
    for name in variables:
        if not any(name in values for values in found.values()) and not any(
                hostvars[host].get(name) is not None for host in others):
            known = {str(key) for host in [*hosts, *others][:1] for key in hostvars[host]}
            near = close_to(name, known, cutoff=0.7)
            raise BadInput("group_by: the variable %s is set for no host of this play%s"
                           % (name, "; did you mean %s?" % near if near else ""))
    return found


def _set_for(host, variables, known):
    values = {name: _value_of(host, name, known) for name in variables}
    return {name: value for name, value in values.items() if value is not None}


def _value_of(host, name, known):
    try:
        value = plain(known.get(name))
    except AnsibleError as error:
        raise BadInput("group_by: %s of host %s cannot be templated: %s"
                       % (name, host, escaped(str(error))[:_CAUSE])) from None
    if isinstance(value, bool):
        value = str(value).lower()
    if value is None or value == "":
        return None
    if not isinstance(value, (str, int, float)):
        raise BadInput("group_by: %s of host %s is a %s, but must be a text, a number, or true or false"
                       % (name, host, "list" if isinstance(value, list) else "dictionary"))
    text = str(value)
    if len(text) > _LONGEST:
        raise BadInput("group_by: %s of host %s has %d characters, but at most %d are taken"
                       % (name, host, len(text), _LONGEST))
    return text
