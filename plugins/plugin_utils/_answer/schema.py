# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The return values of the modules of this collection, as their own RETURN documents them: the schema against which
answers of nodes are validated. PRIVATE to the collection."""

import ast
import functools
import pathlib
import re
from typing import NamedTuple

import yaml

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
def sections() -> dict[str, Shape]:
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
