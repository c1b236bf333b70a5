# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys and functions of expressions that cannot be there; what may be there is let pass."""

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue, references
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.expression_keys import (refuse_unknown_keys,
                                                                                                 sections_read)


def test_no_expression_of_the_collection_is_refused():
    expressions = [(check.id, name, getattr(check, name)) for check in catalogue.catalogue().values()
                   for name in references.EXPRESSIONS if getattr(check, name)]
    assert len(expressions) > 300
    for check_id, name, expression in expressions:
        refuse_unknown_keys(check_id, name, expression)


@cases
def test_what_cannot_be_there_is_refused(expression, sentence):
    with pytest.raises(BadInput) as refused:
        refuse_unknown_keys("X", "select", expression)
    assert str(refused.value).startswith("X: select " + sentence), str(refused.value)


@cases
def test_what_may_be_there_is_let_pass(expression):
    refuse_unknown_keys("X", "select", expression)


def test_the_sections_that_an_expression_reads():
    assert sections_read("node_cni.files[?path == node_host.root] || requirements.x") == {"node_cni", "node_host"}
    assert sections_read("'node_cni'") == set()
