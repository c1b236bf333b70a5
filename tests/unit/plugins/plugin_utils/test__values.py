# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of variables: of the right type and wrong all the same, for every role."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _catalogue, _policy


@pytest.mark.parametrize(
    "name, value, words", [
        ("harden_conntrack_timeouts", {"tcp_established_timeout": 1},
         "harden_conntrack_timeouts: the timeout tcp_established_timeout is not known; did you mean "
         "tcp_timeout_established?"),
        ("harden_conntrack_timeouts", {"udp_timeout": "soon"},
         "harden_conntrack_timeouts.udp_timeout must be a whole number, not 'soon'"),
        ("harden_conntrack_timeouts", {"udp_timeout": None}, "harden_conntrack_timeouts.udp_timeout must not be empty"),
        ("harden_conntrack_timeouts", {"udp_timeout": 0},
         "harden_conntrack_timeouts.udp_timeout is 0; give 1 to 2147483 seconds"),
        ("harden_conntrack_timeouts", {7: 30},
         "harden_conntrack_timeouts: the timeout 7 is not known; known: tcp_timeout_close_wait"),
        ("harden_conntrack_max", 100,
         "harden_conntrack_max is 100; give 1024 to 2147483647 entries, or 0 for the computed size"),
        ("harden_conntrack_buckets", -1, "harden_conntrack_buckets is -1; give 1024"),
        ("harden_conntrack_peak", -1, "harden_conntrack_peak is -1; give 0 to"),
        ("harden_flush_hooks_only", ["opt/fw.sh"],
         "harden_flush_hooks_only[0] is 'opt/fw.sh'; give a whole path or the name of a unit"),
        ("harden_flush_hooks_only", ["/opt/fw.sh", "iptables"],
         "harden_flush_hooks_only[1] is 'iptables'; give a whole path"),
        ("harden_flush_hooks_restart_timeout", -5, "harden_flush_hooks_restart_timeout is -5; give 0 to 86400 seconds"),
        ("harden_iptables_backend_kubectl", [], "harden_iptables_backend_kubectl must not be empty"),
        ("harden_iptables_backend_kubectl", "kubectl get", "harden_iptables_backend_kubectl[0] is 'kubectl get'; give"),
        ("harden_iptables_backend_kubectl", ["/usr/bin/k3s kubectl"],
         "harden_iptables_backend_kubectl[0] is '/usr/bin/k3s kubectl'; give a program"),
        ("harden_iptables_backend_kubectl", [""], "harden_iptables_backend_kubectl[0] is ''; give a program"),
        ("harden_iptables_backend_kubectl", [None], "harden_iptables_backend_kubectl[0] is None; give a program"),
        ("harden_iptables_backend_kubectl", ["bin/kubectl"], "harden_iptables_backend_kubectl[0] is 'bin/kubectl'; "),
        ("harden_iptables_backend_kubectl", ["/usr/bin/"], "harden_iptables_backend_kubectl[0] is '/usr/bin/'; "),
        ("harden_iptables_backend_kubectl", ["--help"], "harden_iptables_backend_kubectl[0] is '--help'; "),
        ("harden_iptables_backend_node_name", "", "harden_iptables_backend_node_name must not be empty"),
        ("harden_iptables_backend_reboot_timeout", 0,
         "harden_iptables_backend_reboot_timeout is 0; give 1 to 86400 seconds"),
        ("harden_iptables_backend_rollback_seconds", 5,
         "harden_iptables_backend_rollback_seconds is 5; give 10 to 3600 seconds"),
        ("harden_kernel_modules_file", "../cron.d/x.conf",
         "harden_kernel_modules_file is '../cron.d/x.conf'; give a file name without a folder"),
        ("harden_kernel_modules_file", "modules", "harden_kernel_modules_file is 'modules'; give a file name"),
        ("harden_kernel_modules_names", ["ip vs"],
         "harden_kernel_modules_names[0] is 'ip vs'; give the name of a kernel module"),
        ("node_assess_root", "mnt/image",
         "node_assess_root is 'mnt/image'; give the whole path on the node, such as /mnt/image"),
        ("node_assess_kernel", "../6.1", "node_assess_kernel is '../6.1'; give the release of an installed kernel"),
        ("node_assess_settle", -1, "node_assess_settle is -1; give 0 to 86400 seconds"),
        ("node_assess_timeout", -1, "node_assess_timeout is -1; give 0 (no limit) to 86400 seconds"),
        ("node_assess_sections", ["KMD"], "node_assess_sections: the section KMD is not known; did you mean KMOD?"),
        ("node_assess_checks", "KMOD*,CHAN001",
         "node_assess_checks: the check CHAN001 is not known; did you mean CHAIN001?"),
        ("node_assess_skip", ["HOK*"], "node_assess_skip: the check HOK* is not known; did you mean HOOK*?"),
        ("node_assess_skip", ["*"], "node_assess_checks and node_assess_skip leave no check to run"),
        ("node_gate_classes", [], "node_gate_classes is empty, so no finding with a fix would block; name safe"),
        ("node_report_folder", "", "node_report_folder must not be empty"),
        ("node_report_folder", "a\0b", "node_report_folder is 'a\\x00b', which has a NUL or a character that"),
        ("node_assess_bundle", "\ud800", "node_assess_bundle is '\\ud800', which has a NUL or a character that"),
        ("node_assess_checks", ["\0"], "node_assess_checks[0] is '\\x00', which has a NUL"),
    ])
def test_a_wrong_value_of_a_role_is_refused(name, value, words):
    with pytest.raises(BadInput) as caught:
        _policy.check_role_variables({name: value})
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    "variables", [
        {"harden_conntrack_timeouts": {"tcp_timeout_established": "86400", "nf_conntrack_udp_timeout": 30,
                                       "net.netfilter.nf_conntrack_tcp_timeout_time_wait": 60}},
        {"harden_conntrack_max": 0, "harden_conntrack_buckets": 1024, "harden_conntrack_timeouts": None},
        {"harden_flush_hooks_only": ["/etc/cron.d", "/opt/fw.sh:3", "getty@tty1.service"],
         "harden_flush_hooks_restart_timeout": 0},
        {"node_assess_root": "", "node_assess_kernel": "", "node_assess_timeout": 0},
        {"node_assess_root": "/", "node_assess_kernel": "6.1.0-49-amd64"},
        {"node_assess_checks": "KMOD*,CHAIN00?", "node_assess_skip": ["KMOD010"]},
        {"harden_kernel_modules_names": ["br-netfilter", "net-pf-16-proto-16-family-IPVS"],
         "harden_kernel_modules_file": "50-site.conf"},
    ])
def test_what_is_meant_is_taken(variables):
    _policy.check_role_variables(variables)


def test_every_dictionary_that_a_user_sets_has_its_keys_checked():
    """Either the argument_specs list the keys, or a check of the value does."""
    free = {name for role in _policy.tunable_roles() + ["node_policy"]
            for name, spec in _policy.options_of(role).items() if spec["type"] == "dict" and not spec.get("options")}
    assert free == {"harden_conntrack_timeouts", "node_policy_severities"}
    for name in free:
        with pytest.raises(BadInput, match="%s: the .* zzz is not known" % name):
            _policy.policy_of({name: {"zzz": 1}}) if name.startswith(_policy.PREFIX) else _policy.check_role_variables(
                {name: {"zzz": 1}})


def test_every_check_that_can_be_named_can_be_tuned():
    ids = list(_catalogue.catalogue())
    policy = _policy.policy_of({"node_policy_severities": dict.fromkeys(ids, "info"),
                                "node_policy_disabled_checks": [{"check": name, "reason": "r"} for name in ids]})
    assert set(policy.severities) == set(policy.disabled) == set(ids)
