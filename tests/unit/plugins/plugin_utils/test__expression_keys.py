# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys and functions of expressions that cannot be there; what may be there is let pass."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _catalogue, _entry
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._expression_keys import (refuse_unknown_keys,
                                                                                          sections_read)


def test_no_expression_of_the_collection_is_refused():
    expressions = [(check.id, name, getattr(check, name)) for check in _catalogue.catalogue().values()
                   for name in _entry.EXPRESSIONS if getattr(check, name)]
    assert len(expressions) > 300
    for check_id, name, expression in expressions:
        refuse_unknown_keys(check_id, name, expression)


@pytest.mark.parametrize("expression, sentence", [
    ("node_cni.mtu.uplnk_mtu",
     "reads node_cni.mtu.uplnk_mtu, which no row and no RETURN has; did you mean uplink_mtu?"),
    ("node_cin.mtu", "reads node_cin, but there is no such section; did you mean node_cni?"),
    ("node_cni.files[?pth=='x'].path", "reads pth, which no row and no RETURN has; did you mean path?"),
    ("node_cni.files[0].pth", "reads pth, "),
    ("node_cni.files[].{subject: pth}", "reads pth, "),
    ("node_cni.files[].{subject: path} | [?name=='x']",
     "reads name, which no row and no RETURN has; there is: subject"),
    ("sort_by(node_cni.files, &pth)", "reads pth, "),
    ("length(node_cni.fils)", "reads node_cni.fils, "),
    ("node_cni.files[*].pth || node_host.ipv6", "reads pth, "),
    ("!node_host.ipv6 && node_host.ipv5 == `4`", "reads node_host.ipv5, "),
    ("node_cni.files[1:].pth", "reads pth, "),
    ("lenght(node_cni.files)", "uses the function lenght, which does not exist; did you mean length?"),
    ("length()", "calls length with 0 arguments, but it takes 1"),
    ("node_cni.files[?contains(path)]", "calls contains with 1 arguments, but it takes 2"),
    ("[merge()]", "calls merge with 0 arguments, but it takes at least 1"),
    ("sort_by(node_cni.files, `1`)", "calls sort_by, whose argument 2 must be an expression with &"),
    ("length(&path)", "calls length, whose argument 1 must not be an expression with &"),
    ("node_host.ipv6 == false", "reads false, but there is no such section; there is: node_cni, "),
])
def test_what_cannot_be_there_is_refused(expression, sentence):
    with pytest.raises(BadInput) as refused:
        refuse_unknown_keys("X", "select", expression)
    assert str(refused.value).startswith("X: select " + sentence), str(refused.value)


@pytest.mark.parametrize("expression", [
    "node_host.ipv6 && null", "requirements.anything.at.all[?there]",
    "node_cni.files[].merge(@, {a: path}) | [?a].path", "[{a: node_host.ipv6}] | [?a]",
    "node_kube_proxy.conntrack.whatever", "not_null(node_host.bundle, `{}`).x",
    "map(&path, node_cni.files)", "node_cni.files[?contains(path, 'x')] | [0].path", "keys(node_cni)",
])
def test_what_may_be_there_is_let_pass(expression):
    refuse_unknown_keys("X", "select", expression)


def test_the_sections_that_an_expression_reads():
    assert sections_read("node_cni.files[?path == node_host.root] || requirements.x") == {"node_cni", "node_host"}
    assert sections_read("'node_cni'") == set()
