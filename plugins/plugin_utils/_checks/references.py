# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates the references of a catalogue entry when the entry is loaded, not when it fails on a node. PRIVATE to the
collection."""

import math
import re

from ...module_utils._errors import BadInput
from .. import _role_data
from .._answer import validate
from .._options import close_to, shown
from . import row_shapes

# A field of a text that findings fill in; with `!q` it is one word of a command, because a node made it.
QUOTED = "!q}"
FIELD = re.compile(r"\{([a-z_]+)(?:!q)?\}")
# Keys of an entry that are JMESPath.
EXPRESSIONS = ("select", "unknown", "left_out", "applies_when")
# Kinds whose offenders are rows of the select; the others make a row of their own.
_SELECTING = ("none_of", "none_outside", "each_at_most")
_DERIVED = "requirements"
_PREFIX = "node_policy_"
_POLICY_VALUE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+\Z")
_TYPES = {int: "a number", float: "a number", list: "a list"}

_LISTS = ("needs", "sources")
# `want` may be any value that the kind compares with.
_ANY = ("want",)
_TEXT_LIMIT = 4000


def refuse_wrong_types(where, entry):
    """Raises BadInput for a key of an entry, all of them known, whose value is not a text or a list of texts; the
    texts of `fix` may be null."""
    for key, value in entry.items():
        name = "%s: %s" % (where, key)
        if key == "fix":
            if not isinstance(value, dict):
                raise BadInput("%s must be a dictionary, not %s" % (name, shown(value)))
            for part, text in value.items():
                _refuse_no_text("%s.%s" % (name, part), text, may_be_null=True)
        elif key in _LISTS:
            if not isinstance(value, list) or not value:
                raise BadInput("%s must be a list of texts, not %s" % (name, shown(value)))
            for text in value:
                _refuse_no_text(name, text)
        elif key not in _ANY:
            _refuse_no_text(name, value)


def _refuse_no_text(name, text, may_be_null=False):
    if may_be_null and text in (None, ""):
        return
    if not isinstance(text, str) or not text.strip():
        raise BadInput("%s must be a text, not %s" % (name, shown(text)))
    if len(text) > _TEXT_LIMIT:
        raise BadInput("%s has %d characters; give at most %d" % (name, len(text), _TEXT_LIMIT))


def refuse_wrong_want(where, check, types):
    """Raises BadInput if `want` looks like the name of a policy value that does not exist, or if the kind cannot
    compare with its type; `types` are the types that the kind supports."""
    names = [name[len(_PREFIX):] for name in _role_data.defaults()]
    want = check.want
    if isinstance(want, str) and want in names:
        want = _role_data.defaults()[_PREFIX + want]
    elif isinstance(want, str) and _POLICY_VALUE.match(want):
        raise _unknown("%s: want names the policy value %s, which does not exist" % (where, want), want, names)
    if isinstance(want, float) and math.isnan(want):
        raise BadInput("%s: want is not a number" % where)  # No value is more or less than NaN, so all would pass.
    if types and (not isinstance(want, types) or isinstance(want, bool) and object not in types):
        raise BadInput("%s: want is %r, but kind %s compares with %s" % (
            where, check.want, check.kind, " or ".join(dict.fromkeys(_TYPES[each] for each in types))))


def refuse_wrong_opt_in(where, check):
    """Raises BadInput for a policy value that does not exist or is not true or false."""
    switches = [name[len(_PREFIX):] for name, value in _role_data.defaults().items() if isinstance(value, bool)]
    if check.opt_in and check.opt_in not in switches:
        raise _unknown("%s: opt_in names the policy value %s, which is not one of true or false"
                       % (where, check.opt_in), check.opt_in, switches)


def refuse_wrong_needs(where, check):
    """Raises BadInput for a section or a source that no module documents in its RETURN."""
    sections = validate.documented_sections()
    for need in check.needs:
        section, dot, source = need.partition(".")
        if section not in sections and need != _DERIVED:
            raise _unknown("%s: needs names %s, but no module returns a section %s" % (where, need, section), section,
                           [*sections, _DERIVED])
        if dot:
            known = [*sections[section].contains["collected"].sampled, *sections[section].contains]
            if source not in known:
                raise _unknown("%s: needs names %s, but RETURN of %s documents no %s" % (where, need, section, source),
                               source, known)


def refuse_wrong_fields(where, entry, wants, made):
    """Raises BadInput for a field in a text of the entry that no row of its select has. If the fields of the rows are
    not known, every field is allowed. `made` are the fields of the rows that the kind makes itself."""
    fields = row_shapes.fields_of(entry["select"]) if entry["kind"] in _SELECTING else made
    if fields is None:
        return
    known = (fields or {"subject", "value"}) | ({"want"} if wants else set())
    texts = [(name, text) for name, text in entry.items() if isinstance(text, str) and name not in EXPRESSIONS]
    texts.append(("fix.manual", str(entry["fix"]["manual"])))
    for name, text in texts:
        for field in FIELD.findall(text):
            if field not in known:
                raise _unknown("%s: %s has the field {%s}, which no row of select has" % (where, name, field), field,
                               known, "{%s}")


def _unknown(sentence, name, known, form="%s"):
    near = close_to(name, known)
    return BadInput("%s%s; there is: %s"
                    % (
                        sentence, "; did you mean %s?" % (form % near) if near else "",
                        ", ".join(form % each for each in sorted(set(known)))))
