# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From findings about the conntrack table to the options of the module conntrack, and from its result to the refusals
that findings show."""

import pytest
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import conntrack, select
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix.outcomes import FAILED, Refusal
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

MAX, ESTABLISHED = "net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_tcp_timeout_established"
FORWARD, BRIDGE = "net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables"
SETTINGS = policies.role_settings("harden_conntrack", {}, lambda _name, value: value)
UFW = {"overruled": True, "owner": "ufw (/etc/ufw/sysctl.conf:3)", "kube_proxy_decides": False}
LATE = {"assigned": 524288, "assigned_by": "/etc/sysctl.d/90.conf:1", "late": True, "overruled": True}


def facts(changes=None, earlier=0, **policy):
    policy = policies.policy_of({"node_policy_" + name: value for name, value in policy.items()})
    evidence = healthy(policy.module_names, None, changes)
    return assess.exported(evidence, policy, assess.chosen_checks(["CTRACK"]), None, earlier={"peak": earlier})


def asked(known, given=None):
    """The options that depend on the findings."""
    options = conntrack.work(known, dict(SETTINGS, **(given or {}))).options
    return {name: options[name] for name in ("max", "buckets", "timeouts", "sysctls", "modules") if name in options}


def wanted(changes=None, given=None, **others):
    return asked(facts(changes, **others), given)


def keys(**rows):
    return {"node_conntrack": {"of_keys": {{"forward": FORWARD, "bridge": BRIDGE, "max": MAX,
                                            "established": ESTABLISHED}[name]: row for name, row in rows.items()}}}


@cases
def test_the_options_that_findings_and_the_user_ask_for(changes, more, options):
    given, policy = more.get("given"), more.get("policy", {})
    assert wanted(changes, given, earlier=more.get("earlier", 0), **policy) == options


def test_an_earlier_peak_is_told_in_the_finding_and_kept():
    known = facts(earlier=200000)
    finding = next(row for row in known["node_assess_findings"] if row["check"] == "CTRACK004")
    assert finding["status"] == "fail" and "an earlier report has it" in finding["reason"]
    assert known["node_assess_conntrack"]["peak"] == 200000 and facts()["node_assess_conntrack"]["peak"] == 20480


def test_a_list_that_the_role_of_modules_writes_is_left_to_it():
    policy = policies.default_policy()
    evidence = healthy(policy.module_names, None, keys(max=LATE))
    row = next(row for row in evidence["node_kernel_modules"]["modules"] if row["name"] == "nf_conntrack")
    row.update(persisted=False, persisted_by=[], at_boot="on_demand")
    known = assess.exported(evidence, policy, assess.chosen_checks(None), None)
    assert any(row["check"].startswith("KMOD") and row["status"] == "fail" for row in known["node_assess_findings"])
    assert asked(known) == {}


def test_a_host_that_was_not_reached():
    assert asked({}) == {}
    policy = policies.default_policy()
    lost = assess.exported({}, policy, assess.chosen_checks(None), None, (), "unreachable", {"peak": 70000})
    assert lost["node_assess_conntrack"]["peak"] == 70000 and asked(lost) == {}


def test_a_look_at_other_sections_leaves_what_is_known():
    policy = policies.default_policy()
    known = facts({"node_conntrack": {"max": 65536}})
    others = {name: value for name, value in healthy(policy.module_names).items() if name != "node_conntrack"}
    again = assess.exported(others, policy, assess.chosen_checks(["KMOD"]), known["node_assess_findings"])
    assert asked(dict(known, **again))["max"] == 131072


@pytest.mark.parametrize("given, message", [
    ({"max": -1}, "harden_conntrack_max is -1; give 0 to"), ({"peak": 1 << 31}, "harden_conntrack_peak is")])
def test_bad_input(given, message):
    with pytest.raises(BadInput, match=message):
        wanted(None, given)


def test_findings_of_before_the_modules_were_loaded_do_not_count():
    known = facts(keys(bridge={"missing": True, "now": None}))
    assert not select.assessed(known, "CTRACK"), "the module is loaded, so the key is there by now"
    assert select.assessed(known) and select.assessed(facts(), "CTRACK")
    late = keys(max={"assigned": 524288, "late": True})
    assert not select.assessed(facts(late), "CTRACK")
    unloaded = facts(keys(bridge={"missing": True, "now": None}))
    row = next(row for row in unloaded["node_kernel_modules"]["modules"] if row["name"] == "br_netfilter")
    row["state"] = "loadable"
    assert select.assessed(unloaded, "CTRACK")


def test_a_failure_is_told_for_every_subject_that_findings_use_for_it():
    rows = [{"key": MAX, "failed": True, "msg": "no"}, {"key": FORWARD, "failed": False, "msg": "told"},
            {"key": BRIDGE, "failed": True, "msg": "not here"}]
    assert conntrack.refusals({"settings": rows}, []) == [
        Refusal(BRIDGE, FAILED, "not here"), Refusal(MAX, FAILED, "no"), Refusal("nf_conntrack_max", FAILED, "no"),
        Refusal("the table", FAILED, "no")]
    refused = conntrack.refusals({"failed": True, "msg": "read-only. Nothing was changed"}, [])
    assert {"the table", FORWARD} <= {refusal.subject for refusal in refused}
    assert conntrack.refusals({"changed": True}, []) == []


def test_a_class_includes_what_is_guarded():
    rivals = keys(forward=dict(UFW, after_kube_proxy=1))
    known = facts(rivals)
    assert (conntrack.work(known, SETTINGS, "safe").options == {}
            and conntrack.work(known, SETTINGS, "guarded").options["sysctls"] == [FORWARD])
