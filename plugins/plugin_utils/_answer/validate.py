# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates the answer of a node: only plain values of the documented types pass, within bounds. PRIVATE to the
collection.

A node may be compromised, so its answer is validated against the schema before any code reads it. Keys that are not
documented are dropped: no code reads them. A value of another type, a documented key that is missing, or a text beyond
the bounds cannot come from this collection's module, so the whole section is dropped. Characters that move the cursor
or change the writing direction are escaped here, so that every program that prints the text, for example Ansible with
-v, prints only text.

The return values of the modules of this collection, as their own RETURN documents them: the schema against which
answers of nodes are validated.
"""

import ast
import functools
import math
import pathlib
import re
from collections.abc import Mapping
from typing import NamedTuple

import yaml

from .._render.text import escaped_lines
from .._role_data import LOADER

_MODULES = pathlib.Path(__file__).resolve().parents[2] / "modules"
# The description of a section that another module documents completely.
_ELSEWHERE = re.compile(r"See RV\(kubenode\.netfilter\.(\w+)#module:([\w.]+)\)\.\Z")


class Shape(NamedTuple):
    """One documented value.

    `type` is str, int, float, bool, dict, list or raw, `always` is whether it is never left out. `contains` has the
    Shape of each key of a dict, None for a dict with free keys. `element` is the Shape of each element of a list.
    `nullable` is whether the value may be null (not known): always for a scalar; for a list or dict only if its
    description has the word null. `sampled` are the keys in the sample of a dict.
    """

    type: str
    always: bool
    contains: "dict[str, Shape] | None"
    element: "Shape | None"
    nullable: bool
    sampled: tuple[str, ...] = ()


@functools.lru_cache(maxsize=None)
def documented(module: str) -> dict[str, Shape]:
    """`{key: Shape}` of all that `module` (its short name, such as `node_facts`) returns."""
    tree = ast.parse((_MODULES / (module + ".py")).read_text(encoding="utf-8"))
    text = next(node.value.value for node in tree.body
                if isinstance(node, ast.Assign) and node.targets[0].id == "RETURN")
    return {key: _shape(entry) for key, entry in yaml.load(text, Loader=LOADER).items()}


@functools.lru_cache(maxsize=None)
def documented_sections() -> dict[str, Shape]:
    """`{node_<section>: Shape}` of the evidence, as `node_facts` returns it."""
    return documented("node_facts")["ansible_facts"].contains


def _shape(entry):
    always = entry.get("returned") == "always"
    description = " ".join([entry["description"]] if isinstance(entry["description"], str) else entry["description"])
    found = _ELSEWHERE.match(description)
    if found:
        return _at(found.group(1), found.group(2).split("."))._replace(always=always)
    contains = {key: _shape(part) for key, part in entry["contains"].items()} if "contains" in entry else None
    nullable = entry["type"] not in ("dict", "list") or "null" in description
    if entry["type"] != "list":
        return Shape(entry["type"], always, contains, None, nullable,
                     tuple(entry["sample"]) if isinstance(entry.get("sample"), dict) else ())
    element = entry.get("elements", "raw")
    # A list in a list has texts; RETURN has no word for its elements.
    inner = Shape("str", True, None, None, False) if element == "list" else None
    return Shape("list", always, None, Shape(element, True, contains, inner, False), nullable)


def _at(module, path):
    shapes = documented(module)
    for key in path[:-1]:
        shapes = shapes[key].contains
    return shapes[path[-1]]


SCHEMA = 1
# All sections of a host stay below 64 KB of JSON; an answer of four times that size is damaged or malicious. The texts
# of collectors have 300 characters and some words around them, and a path has at most 4096; the longest list has a row
# for each requested kernel module.
MOST_CHARACTERS = 256 * 1024
MOST_TEXT = 4096
MOST_ELEMENTS = 2000
MOST_KEYS = 500
# Counters of the kernel are unsigned 64-bit numbers.
_MOST_INT = 2 ** 64

_WORDS = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false",
          "dict": "a dictionary", "list": "a list"}
_TEXT = Shape("str", True, None, None, False)
_SCALARS = Shape("list", True, None, Shape("scalar", True, None, None, False), False)


class Misfit(Exception):
    """A value that does not fit its documentation. The text names the place and the reason, and contains no part of the
    value."""

    def __init__(self, why, where=""):
        super().__init__(why, where)
        self.why, self.where = why, where

    def __str__(self):
        return "%s %s" % (self.where, self.why)

    def below(self, name):
        """The same, seen from one level above."""
        return Misfit(self.why, name + ("" if self.where.startswith("[") or not self.where else ".") + self.where)


class Room:
    """How many characters an answer may still take, and how long one text may be."""

    def __init__(self, characters=MOST_CHARACTERS, text=MOST_TEXT):
        self.characters, self.text, self.all = characters, text, characters

    def take(self, characters: int) -> None:
        self.characters -= characters
        if self.characters < 0:
            raise Misfit("is larger than the %d KB that an answer may have" % (self.all // 1024))


def checked_sections(facts):
    """`(sections, problems)` of the `ansible_facts` in a node's answer, which may be any object.

    `sections` is `{node_<section>: evidence}` with the known sections that are present and fit, as new plain values.
    `problems` is `{node_<section>: one sentence}` for known sections that are present and do not fit. All other keys of
    `facts` are dropped.
    """
    sections, problems, room = {}, {}, Room()
    for name in documented_sections() if isinstance(facts, Mapping) else ():
        if name in facts:
            left = room.characters
            try:
                sections[name] = checked_section(name, facts[name], room)
            except Misfit as misfit:
                problems[name] = "the node's answer does not fit the documentation: %s" % misfit
                room.characters = left
    return sections, problems


def checked_section(name: str, value, room: Room | None = None) -> dict:
    """One section as a new plain value. Raises Misfit."""
    try:
        section = fitted(value, documented_sections()[name]._replace(nullable=False), room or Room())
        if section["schema"] != SCHEMA:
            raise Misfit("is not %d, the version that this collection reads" % SCHEMA, "schema")
        return section
    except Misfit as misfit:
        raise misfit.below(name) from None


def fitted(value, shape, room):
    """`value` rebuilt as `shape` (a _schema.Shape) documents it. Raises Misfit. The cost depends on the part that is
    kept, not on the size of `value`."""
    if value is None:
        if not shape.nullable:
            raise Misfit("is null")
        room.take(6)
        return None
    return _FITTED[shape.type](value, shape, room)


def _text(value, shape, room):
    if not isinstance(value, str):
        raise _not_of(shape.type)
    if len(value) > room.text:
        raise Misfit("is longer than %d characters" % room.text)
    room.take(len(value) + 4)
    if value.isascii():
        if value.isprintable():
            return str.__str__(value)  # True for most texts; escaped_lines() would return the same.
    else:
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise Misfit("contains a surrogate, which is not a character") from None
    # Ansible marks texts with subclasses of str; see _plain.
    return escaped_lines(str.__str__(value))


def _bool(value, shape, room):
    if not isinstance(value, bool):
        raise _not_of(shape.type)
    room.take(6)
    return value


def _int(value, shape, room):
    if isinstance(value, bool) or not isinstance(value, int):
        raise _not_of(shape.type)
    if not -_MOST_INT < value < _MOST_INT:
        raise Misfit("is a number larger than 64 bits")
    room.take(8)
    return int.__int__(value)


def _float(value, shape, room):
    if not isinstance(value, float):
        return _int(value, shape, room)
    if not math.isfinite(value):
        raise Misfit("is not a finite number")
    room.take(8)
    return float.__float__(value)


def _list(value, shape, room):
    if not isinstance(value, (list, tuple)):
        raise _not_of("list")
    if len(value) > MOST_ELEMENTS:
        raise Misfit("has more than %d elements" % MOST_ELEMENTS)
    room.take(4)
    kept = []
    for index, item in enumerate(value):
        try:
            kept.append(fitted(item, shape.element, room))
        except Misfit as misfit:
            raise misfit.below("[%d]" % index) from None
    return kept


def _dict(value, shape, room):
    if not isinstance(value, dict):
        raise _not_of("dict")
    room.take(4)
    if shape.contains is None:
        return _free_dict(value, room)
    kept = {}
    for key, part in shape.contains.items():
        try:
            if key in value:
                room.take(len(key) + 4)
                kept[key] = fitted(value[key], part, room)
            elif part.always:
                raise Misfit("is missing")
        except Misfit as misfit:
            raise misfit.below(key) from None
    return kept


def _free_dict(value, room):
    """A dictionary whose keys are names from the node, such as files; each value is a scalar or a list of scalars."""
    if len(value) > MOST_KEYS:
        raise Misfit("has more than %d keys" % MOST_KEYS)
    kept = {}
    for key, item in value.items():
        try:
            kept[_text(key, _TEXT, room)] = None if item is None else _scalars(item, room)
        except Misfit as misfit:
            raise misfit.below("(a key)") from None
    return kept


def _raw(value, _shape, room):
    """A value that is documented as `raw`: a scalar, or a list or dictionary of scalars."""
    if isinstance(value, dict):
        return _free_dict(value, room)
    return _scalars(value, room)


def _scalars(value, room):
    if isinstance(value, (list, tuple)):
        return _list(value, _SCALARS, room)
    return _scalar(value, _SCALARS.element, room)


def _scalar(value, shape, room):
    if isinstance(value, bool):
        return _bool(value, shape, room)
    if isinstance(value, (int, float)):
        return _float(value, shape, room)
    if isinstance(value, str):
        return _text(value, shape, room)
    raise Misfit("must be a text, a number, or true or false")


def _not_of(kind):
    return Misfit("must be %s" % _WORDS[kind])


_FITTED = {"str": _text, "bool": _bool, "int": _int, "float": _float, "list": _list, "dict": _dict, "raw": _raw,
           "scalar": _scalar}
