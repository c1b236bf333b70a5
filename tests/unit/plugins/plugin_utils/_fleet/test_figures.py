# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of the evidence: those of a look, and none where a part could not be read."""

import copy

import pytest
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import schema
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import figures
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

POLICY = policies.default_policy()
EVIDENCE = healthy(POLICY.module_names)


def changed(section, **changes):
    return dict(EVIDENCE, **{section: dict(copy.deepcopy(EVIDENCE[section]), **changes)})


def test_they_are_what_the_module_documents():
    documented = schema.documented("assess")["ansible_facts"].contains["node_assess_numbers"].contains
    assert list(figures.numbers_of({})) == list(documented) and set(figures.numbers_of({}).values()) == {None}


@pytest.mark.parametrize("section, source, names", [
    ("node_conntrack", "table", ("conntrack_entries", "conntrack_limit")),
    ("node_iptables_chains", "nft_ipv6", ("iptables_rules", "iptables_kube_rules", "service_addresses")),
    ("node_xtables_lock", "locks", ("xtables_lock_waiters", "xtables_lock_wait_seconds"))])
@pytest.mark.parametrize("state", ["denied", "unparsed", "timeout"])
def test_a_part_that_could_not_be_read_is_no_number(section, source, names, state):
    collected = dict(EVIDENCE[section]["collected"], **{source: state})
    found = figures.numbers_of(changed(section, collected=collected))
    assert [found[name] for name in names] == [None] * len(names)
    assert all(figures.numbers_of(EVIDENCE)[name] is not None for name in names)


def test_the_longest_wait_and_the_family_that_is_furthest_behind():
    rows = [{"age_seconds": 3.5}, {"age_seconds": None}, {"age_seconds": 41.3}]
    found = figures.numbers_of(changed("node_xtables_lock", waiters=rows, waiter_count=9))
    assert (found["xtables_lock_waiters"], found["xtables_lock_wait_seconds"]) == (9, 41.3)
    rows = [{"synced_seconds_ago": 10.0, "waiting_seconds": None}, {"synced_seconds_ago": None, "waiting_seconds": 7.0}]
    found = figures.numbers_of(changed("node_kube_proxy", sync=rows))
    assert (found["kube_proxy_sync_age_seconds"], found["kube_proxy_change_wait_seconds"]) == (10.0, 7.0)
    assert figures.numbers_of(changed("node_kube_proxy", sync=[]))["kube_proxy_sync_age_seconds"] is None


def test_a_later_look_at_one_section_keeps_the_numbers_of_the_others():
    checks = assess.chosen_checks(None)
    first = assess.exported(EVIDENCE, POLICY, checks, None)
    later = assess.exported({"node_conntrack": dict(EVIDENCE["node_conntrack"], max=262144),
                             "node_host": EVIDENCE["node_host"]}, POLICY, assess.chosen_checks(["CTRACK"]),
                            first["node_assess_findings"], numbers=first["node_assess_numbers"])
    assert later["node_assess_numbers"] == dict(first["node_assess_numbers"], conntrack_limit=262144)
