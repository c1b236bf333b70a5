# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers and items of the evidence that nodes are compared by: of a look, bounded, and none where a part could not be
read."""

import copy
import random

import pytest
from case_rows import cases
from healthy import healthy
from kube_audit import seed

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import outliers, rollup
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

POLICY = policies.default_policy()
EVIDENCE = healthy(POLICY.module_names)


def changed(section, **changes):
    return dict(EVIDENCE, **{section: dict(copy.deepcopy(EVIDENCE[section]), **changes)})


def test_they_are_what_the_module_documents():
    documented = validate.documented("assess")["ansible_facts"].contains["node_assess_numbers"].contains
    assert list(rollup.numbers_of({})) == list(documented) and set(rollup.numbers_of({}).values()) == {None}


@pytest.mark.parametrize("section, source, names", [
    ("node_conntrack", "table", ("conntrack_entries", "conntrack_limit")),
    ("node_iptables_chains", "nft_ipv6", ("iptables_rules", "iptables_kube_rules", "service_addresses")),
    ("node_xtables_lock", "locks", ("xtables_lock_waiters", "xtables_lock_wait_seconds"))])
@pytest.mark.parametrize("state", ["denied", "unparsed", "timeout"])
def test_a_part_that_could_not_be_read_is_no_number(section, source, names, state):
    collected = dict(EVIDENCE[section]["collected"], **{source: state})
    found = rollup.numbers_of(changed(section, collected=collected))
    assert [found[name] for name in names] == [None] * len(names)
    assert all(rollup.numbers_of(EVIDENCE)[name] is not None for name in names)


def test_the_longest_wait_and_the_family_that_is_furthest_behind():
    rows = [{"age_seconds": 3.5}, {"age_seconds": None}, {"age_seconds": 41.3}]
    found = rollup.numbers_of(changed("node_xtables_lock", waiters=rows, waiter_count=9))
    assert (found["xtables_lock_waiters"], found["xtables_lock_wait_seconds"]) == (9, 41.3)
    rows = [{"synced_seconds_ago": 10.0, "waiting_seconds": None}, {"synced_seconds_ago": None, "waiting_seconds": 7.0}]
    found = rollup.numbers_of(changed("node_kube_proxy", sync=rows))
    assert (found["kube_proxy_sync_age_seconds"], found["kube_proxy_change_wait_seconds"]) == (10.0, 7.0)
    assert rollup.numbers_of(changed("node_kube_proxy", sync=[]))["kube_proxy_sync_age_seconds"] is None


def test_a_later_look_at_one_section_keeps_the_numbers_of_the_others():
    checks = assess.chosen_checks(None)
    first = assess.exported(EVIDENCE, POLICY, checks, None)
    later = assess.exported({"node_conntrack": dict(EVIDENCE["node_conntrack"], max=262144),
                             "node_host": EVIDENCE["node_host"]}, POLICY, assess.chosen_checks(["CTRACK"]),
                            first["node_assess_findings"], numbers=first["node_assess_numbers"])
    assert later["node_assess_numbers"] == dict(first["node_assess_numbers"], conntrack_limit=262144)


NAMES = policies.default_policy().module_names
HOOK = {"path": "/etc/cron.d/firewall", "line": 4, "command": "iptables -t nat -F", "live": True}
FILE = {"path": "/etc/cni/net.d/10-x.conflist", "status": "ok", "used": True, "problem": None, "network": "pods",
        "plugins": ["bridge", "portmap"]}


def items(kind, modules=None, names=NAMES, **sections):
    evidence = healthy(names, modules, {"node_" + name: changes for name, changes in sections.items()})
    fact = next(each.fact for each in outliers.KINDS if each.name == kind)
    return outliers.items_of(outliers.facts_of(evidence)[fact])


def test_loaded_modules_of_those_that_every_node_is_asked_for():
    others = dict.fromkeys(set(NAMES) - {"ip_vs"}, "loadable")
    assert items("modules", dict(others, xt_mark="builtin")) == {"ip_vs": "loaded"}
    assert len(items("modules")) == len(NAMES), "all of them fit"
    assert items("modules", {"*": "loadable"}, NAMES + ["of_one_group"]) == items("modules", {"*": "loadable"}) == {}


@cases
def test_what_could_not_be_looked_at_is_not_known(kind, sections):
    assert items(kind) is not None and items(kind, **sections) is None


def test_a_module_whose_state_is_unknown():
    assert items("modules", {"ip_vs": "unknown"}) is None


def test_sysctls_that_the_kernel_sizes_by_the_machine_are_compared_only_where_a_file_sets_them():
    small, big = (items("sysctls", conntrack={"of_keys": {"net.netfilter.nf_conntrack_max": {"now": size}}})
                  for size in (65536, 262144))
    assert small == big and small["net.ipv4.ip_forward"] == "1"
    fixed = {"now": 65536, "assigned": 65536}
    found = items("sysctls", conntrack={"of_keys": {"net.netfilter.nf_conntrack_max": fixed}})
    assert found["net.netfilter.nf_conntrack_max"] == "65536"


def test_hooks_are_live_commands_by_file_and_a_moved_line_is_no_difference():
    hooks = [HOOK, dict(HOOK, command="iptables -F", line=9), dict(HOOK, line=12),
             dict(HOOK, path="/root/by-hand", live=None), dict(HOOK, path="/root/off", live=False)]
    found = items("hooks", flush_hooks={"hooks": hooks})
    assert found == {"/etc/cron.d/firewall": "iptables -F; iptables -t nat -F"}
    assert items("hooks", flush_hooks={"hooks": [dict(row, line=1) for row in reversed(hooks)]}) == found


@pytest.mark.parametrize("changes, words", [
    ({}, "network pods, plugins bridge portmap"), ({"used": False}, "not used, network pods, plugins bridge portmap"),
    ({"problem": "it is truncated"}, "refused by the runtime"), ({"status": "unparsed"}, "refused by the runtime")])
def test_cni_files(changes, words):
    assert items("cni_files", cni={"files": [dict(FILE, **changes)]}) == {FILE["path"]: words}


def test_a_text_is_bounded_holds_hostile_names_and_tells_of_what_it_leaves_out():
    source = random.Random(seed())
    for _round in range(30):
        paths = ["".join(source.choice("ab\n\t\x1b\u202e/") for _char in range(source.choice((3, 300))))
                 for _hook in range(source.randrange(240))]
        hooks = [dict(HOOK, path=path, command="x" * source.randrange(300)) for path in paths]
        evidence = healthy(NAMES, None, {"node_flush_hooks": {"hooks": hooks}})
        text = outliers.facts_of(evidence)["node_assess_hooks"]
        found = outliers.items_of(text)
        assert len(text) <= validate.MOST_TEXT and text.replace("\n", "").replace("\t", "").isprintable()
        assert len(found) == len(set(paths)) or "items left out" in found and len(found) <= 121
    assert outliers.items_of(None) is None and outliers.items_of("") == {}
    assert outliers.items_of("no tab\n\tx") == {"": "x"}


def without(value, source):
    """`value` with some scalars that are null, as a node may answer them."""
    if isinstance(value, dict):
        return {key: without(item, source) for key, item in value.items()}
    if isinstance(value, list):
        return [item if isinstance(item, str) else without(item, source) for item in value]
    return None if source.random() < 0.2 else value


def test_a_node_that_answers_null_costs_nothing():
    source = random.Random(seed())
    evidence = healthy(NAMES, None, {"node_flush_hooks": {"hooks": [HOOK] * 3}})
    for _round in range(30):
        texts = outliers.facts_of({name: without(section, source) for name, section in evidence.items()})
        assert all(text is None or outliers.items_of(text) is not None for text in texts.values())
    assert outliers.facts_of({}) == {}
