# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which section is cut where all sections together become too large."""

import json

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.bounds import ALL_LIMIT, OTHERS_LIMIT, fitted

CHAINS = {"digest": "d" * 64, "observations": ["o" * 200] * (OTHERS_LIMIT // 200 + 1)}
SMALL = {"because": "b" * 100}


def modules(number):
    """A section of kernel modules of some 700 bytes a row."""
    row = {"evidence": "e" * 60, "at_boot_cause": "c" * 60, "persisted_by": ["p" * 200],
           "kernels": [{"state": "loaded", "evidence": "e" * 200}],
           "blocks": [{"effect": "blocks", "for": ["load"], "text": "t" * 100}]}
    return {"unreadable": [], "modules": [dict(row, name="module_%02d" % index) for index in range(number)]}


def test_a_section_that_is_large_by_itself_cuts_no_other():
    assert len(json.dumps(CHAINS)) > OTHERS_LIMIT
    assert fitted({"node_iptables_chains": CHAINS,
                   "node_ipvs": SMALL}) == {"node_iptables_chains": CHAINS, "node_ipvs": SMALL}


def test_too_many_others_are_cut():
    number = OTHERS_LIMIT // 100
    assert fitted({"node_ipvs": ["b" * 100] * number}) == {"node_ipvs": ["b" * 40] * number}


def test_a_value_that_no_answer_may_have_costs_only_itself():
    odd = {"up": float("inf"), "none": float("nan"), "large": 10 ** 400, "b\udcff": ["c\udcff", -2 ** 64, 1.5, True, 7]}
    found = {"up": None, "none": None, "large": None, "b?": ["c?", None, 1.5, True, 7]}
    for section in ("node_ipvs", "node_conntrack", "node_logs"):
        assert fitted({section: odd}) == {section: found}


@pytest.mark.parametrize("number", [30, 90])
def test_modules_give_way_to_the_chains(number):
    alone = fitted({"node_kernel_modules": modules(number)})
    both = fitted({"node_kernel_modules": modules(number), "node_iptables_chains": CHAINS})
    assert both["node_iptables_chains"] == CHAINS
    assert [row["name"] for row in both["node_kernel_modules"]["modules"]] == [
        row["name"] for row in alone["node_kernel_modules"]["modules"]]
    assert len(json.dumps(both)) <= ALL_LIMIT
    assert (both["node_kernel_modules"] == alone["node_kernel_modules"]) == (number == 30)
