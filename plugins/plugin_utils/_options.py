# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates role variables against the types in their argument_specs. PRIVATE to the collection.

Ansible validates argument_specs in a task step of its own, which costs every host a round; the assess action does it
here, for all roles of the collection at once, before any connection. The error is one sentence with the place and the
problem.
"""

import difflib
import re

from ..module_utils._errors import BadInput

_TRUE = ("yes", "on", "true", "1", "y", "t")
# A lone surrogate from U+DC80 to U+DCFF is a byte of a file name that is not UTF-8.
_UNUSABLE = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
_FALSE = ("no", "off", "false", "0", "n", "f")


def close_to(name, known, cutoff=0.6):
    """The known name the user most likely meant, or None."""
    found = difflib.get_close_matches(str(name), sorted(known), n=1, cutoff=cutoff)
    return found[0] if found else None


def unknown_name(what, name, known, listed=None, prefix=""):
    """BadInput for an unknown name. It suggests the nearest known name or, if no name is near, lists `listed`, which is
    `known` by default. Names that all begin with `prefix` are compared without it."""
    rest, known_of = str(name)[len(prefix):], {each[len(prefix):]: each for each in known}
    # Ids of checks are in capitals, so a name in small letters is compared in capitals, too.
    near = close_to(rest, known_of) or close_to(rest.upper(), known_of)
    return BadInput("%s %s is not known%s"
                    % (
                        what, name, "; did you mean %s?" % known_of[near]
                        if near else "; known: %s" % ", ".join(sorted(known if listed is None else listed))))


def arguments(action, given, options):
    """The arguments of a task of `action`, as plain values, in the types that `options` ask for. Raises BadInput."""
    for name in given:
        if name not in options:
            raise unknown_name("The option", name, options)
    return checked(action, given, {"type": "dict", "options": options})


def checked(name, value, spec):
    """`value` in the type `spec` asks for (type, elements, choices, options as in argument_specs). Raises BadInput."""
    if value is None:
        if spec.get("required"):
            raise BadInput("%s must not be empty" % name)
        return None
    kind = spec.get("type", "str")
    value = _CASTS[kind](name, value, spec)
    choices = spec.get("choices")
    if choices and kind != "list":
        _choose(name, value, choices)
    if kind == "dict" and spec.get("options"):
        value = _checked_row(name, value, spec["options"])
    return value


def _choose(name, value, choices):
    if value not in choices:
        near = close_to(str(value), [str(choice) for choice in choices])
        raise BadInput("%s is %s, but must be one of: %s%s"
                       % (
                           name, shown(value), ", ".join(str(choice) for choice in choices),
                           "; did you mean %s?" % near if near else ""))


def _listed(names):
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _checked_row(name, row, options):
    for key in row:
        if key not in options:
            raise unknown_name("%s: the key" % name, key, options)
    missing = [key for key, spec in options.items() if spec.get("required") and row.get(key) in (None, "")]
    if missing and all(row.get(key) == "" for key in missing):
        raise BadInput("%s: %s must not be empty" % (name, _listed(missing)))
    if missing:
        raise BadInput("%s lacks %s" % (name, _listed(missing)))
    return {key: checked("%s.%s" % (name, key), item, options[key]) for key, item in row.items()}


def _cast_str(name, value, _spec):
    if isinstance(value, float):
        raise BadInput("%s is the number %s, in which a zero at the end is lost; write it in quotes" % (name, value))
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadInput("%s must be a text, not %s" % (name, shown(value)))
    text = str(value)
    # No file, command or report can hold these: Python raises wherever one is opened, run or written.
    if _UNUSABLE.search(text):
        raise BadInput("%s is %s, which has a NUL or a character that is not valid Unicode" % (name, shown(text)))
    return text


def _cast_int(name, value, _spec):
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.match(r"\s*-?[0-9]+\s*\Z", value):
        return int(value)
    raise BadInput("%s must be a whole number, not %s" % (name, shown(value)))


def _cast_bool(name, value, _spec):
    if isinstance(value, bool):
        return value
    # -e name=yes and inventories in INI hand over text.
    text = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise BadInput("%s must be true or false, not %s" % (name, shown(value)))


def _cast_list(name, value, spec):
    if isinstance(value, str) and spec.get("elements") == "str":
        # -e name=a,b as Ansible's own lists take it.
        value = [item.strip() for item in value.split(",") if item.strip()]
    if not isinstance(value, (list, tuple)):
        raise BadInput("%s must be a list, not %s" % (name, shown(value)))
    element = {"type": spec.get("elements", "raw"), "choices": spec.get("choices"), "options": spec.get("options")}
    return [checked("%s[%d]" % (name, index), item, element) for index, item in enumerate(value)]


def _cast_dict(name, value, _spec):
    if not isinstance(value, dict):
        raise BadInput("%s must be a dictionary, not %s" % (name, shown(value)))
    return value


def _cast_raw(_name, value, _spec):
    return value


def shown(value) -> str:
    """A wrong value as a sentence names it, at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_CASTS = {"str": _cast_str, "path": _cast_str, "int": _cast_int, "bool": _cast_bool, "list": _cast_list,
          "dict": _cast_dict, "raw": _cast_raw}
