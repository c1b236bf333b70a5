# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which checks run: sections, ids and patterns together, and what chooses nothing."""

import dataclasses

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import selection as _selection

ALL = list(catalogue.catalogue())
OTHERS = [name for name in ALL if name != "KMOD010"]


def ids(**selection):
    return [check.id for check in _selection.chosen_checks(**selection)]


@cases
def test_chosen(selection, expected):
    assert ids(**selection) == expected


@cases
def test_what_no_check_matches_is_refused(pattern, words):
    with pytest.raises(BadInput) as caught:
        _selection.refuse_unknown_checks("x", ["KMOD*", pattern])
    assert str(caught.value).startswith(words)


def test_a_section_that_is_not_known_is_refused():
    with pytest.raises(BadInput, match="x: the section KMD is not known; did you mean KMOD"):
        _selection.refuse_unknown_sections("x", ["HOOK", "KMD"])


def of_user(name, *needs):
    return dataclasses.replace(next(iter(catalogue.catalogue().values())), id=name, needs=needs, file="site.yml")


def test_checks_of_the_user_are_judged_again_with_what_they_rest_on():
    users = [of_user("SITE-A001", "node_conntrack.table"), of_user("SITE-B001", "node_kubelet"),
             of_user("SITE-C001", "node_conntrack"), of_user("SITE-D001", "node_host.place")]
    known = dict(catalogue.catalogue(), **{check.id: check for check in users})
    chosen = [known["CTRACK001"]]
    findings = [{"check": name} for name in ("SITE-A001", "SITE-B001", "SITE-D001", "KMOD001")]
    assert [check.id for check in _selection.with_users(chosen, known, findings)] == ["CTRACK001", "SITE-A001"]
    # Chosen already, judged by no finding of this run.
    assert _selection.with_users([*chosen, users[0]], known, findings) == [*chosen, users[0]]
    assert _selection.with_users(chosen, known, None) == chosen
