# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins: total for every evidence that fits the documentation, used, and with reads that exist."""

import copy
import dataclasses

import pytest
from cases import table

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.run import case_of
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue, references, user_checks
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.expressions import paths_of
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.row_shapes import refuse_unknown_keys
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._joins.table import JOINS, joins_of, reads_of
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._needs import node_needs

CHECKS = catalogue.catalogue().values()


def uses(check):
    return {path.split(".")[1] for name in references.EXPRESSIONS for path in paths_of(getattr(check, name) or "")
            if path.startswith("joins.")}


def test_every_join_is_used():
    assert {name for check in CHECKS for name in uses(check)} == set(JOINS)


@pytest.mark.parametrize("name", sorted(JOINS))
def test_a_join_reads_what_modules_document(name):
    for path in JOINS[name][1]:
        refuse_unknown_keys(name, "reads", path)


def test_a_path_is_its_own_and_a_join_is_what_it_reads():
    assert reads_of("node_host.place") == ("node_host.place",)
    assert reads_of("joins.kube_proxy_mode") == ("node_kube_proxy.effective_mode", "node_kube_proxy.mode")


def test_nothing_was_collected():
    rows = joins_of({"node_host": None})
    assert not any(rows[name] for name in JOINS if name not in ("bridge_doubts", "growth_doubt", "kube_proxy_rules"))


def nulled(section, name):
    """Copies of a section with one value each replaced by null, as far as its documentation allows that."""
    def places(part):
        for key in list(part) if isinstance(part, dict) else range(len(part)):
            value, part[key] = part[key], None
            yield
            part[key] = value
            if isinstance(value, (dict, list)):
                yield from places(value)
    changed = copy.deepcopy(section)
    for _place in places(changed):
        try:
            yield validate.checked_section(name, changed)
        except validate.Misfit:
            pass


@pytest.mark.parametrize("check", [check for check in CHECKS if uses(check)], ids=lambda check: check.id)
def test_no_null_raises(check):
    for row in table(check.id):
        evidence, policy = case_of(row)
        evidence["requirements"] = node_needs.resolve(evidence, policy)
        names = {path.partition(".")[0] for join in uses(check) for path in JOINS[join][1]} | {"node_kube_proxy"}
        for name in sorted(names & set(evidence)):
            for section in nulled(evidence[name], name):
                joined = dict(evidence, **{name: section})
                for join in uses(check):
                    JOINS[join][0](joined)


def test_checks_of_users_read_no_join():
    check = dataclasses.replace(catalogue.catalogue()["CHAIN001"], file="site.yml")
    with pytest.raises(BadInput, match="reads joins, which needs does not name"):
        user_checks._refuse_wrong_expressions("site.yml", check)
