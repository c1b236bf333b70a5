# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RETURN of the modules as a schema: whole, to the leaf, and the same for a section whichever module is asked."""

import pathlib

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import schema
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess

MODULES = sorted(path.stem for path in pathlib.Path(schema.__file__).parents[2].joinpath("modules").glob("*.py"))
TYPES = {"str", "int", "float", "bool", "dict", "list", "raw"}


def shapes(shape):
    yield shape
    for part in (shape.contains or {}).values():
        yield from shapes(part)
    if shape.element is not None:
        yield from shapes(shape.element)


@pytest.mark.parametrize("module", MODULES)
def test_every_return_is_a_schema(module):
    found = schema.documented(module)
    assert found and {part.type for shape in found.values() for part in shapes(shape)} <= TYPES


def test_sections():
    assert sorted(schema.sections()) == sorted("node_" + subset for subset in assess.SUBSETS)
    for name, shape in schema.sections().items():
        assert {"schema", "collected"} <= set(shape.contains), name
        assert all(part.always for part in shape.contains.values()), name


def test_a_section_is_the_same_by_its_own_module():
    own = schema.documented("xtables_lock_facts")["ansible_facts"].contains["node_xtables_lock"]
    assert own.contains == schema.sections()["node_xtables_lock"].contains
    row = schema.sections()["node_conntrack"].contains["sysctls"].element.contains
    assert (row["key"].type, row["now"].type, row["late"].type) == ("str", "raw", "bool")
