# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Items that nodes are compared by: of real evidence, bounded, and null where a node could not be looked at."""

import random

import pytest
from case_rows import cases
from healthy import healthy
from kube_audit import seed

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import items as _items
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

NAMES = policies.default_policy().module_names
HOOK = {"path": "/etc/cron.d/firewall", "line": 4, "command": "iptables -t nat -F", "live": True}
FILE = {"path": "/etc/cni/net.d/10-x.conflist", "status": "ok", "used": True, "problem": None, "network": "pods",
        "plugins": ["bridge", "portmap"]}


def items(kind, modules=None, names=NAMES, **sections):
    evidence = healthy(names, modules, {"node_" + name: changes for name, changes in sections.items()})
    fact = next(each.fact for each in _items.KINDS if each.name == kind)
    return _items.items_of(_items.facts_of(evidence)[fact])


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
        text = _items.facts_of(evidence)["node_assess_hooks"]
        found = _items.items_of(text)
        assert len(text) <= validate.MOST_TEXT and text.replace("\n", "").replace("\t", "").isprintable()
        assert len(found) == len(set(paths)) or "items left out" in found and len(found) <= 121
    assert _items.items_of(None) is None and _items.items_of("") == {} and _items.items_of("no tab\n\tx") == {"": "x"}


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
        texts = _items.facts_of({name: without(section, source) for name, section in evidence.items()})
        assert all(text is None or _items.items_of(text) is not None for text in texts.values())
    assert _items.facts_of({}) == {}
