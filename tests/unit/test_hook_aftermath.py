# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a tree to findings: what a script does besides its flush, who calls it, and what it writes."""

import node_tree
import pytest
from case_rows import cases
from hook_nodes import DEBIAN, ELF, service
from node_tree import executable, link, merged
from test_hook_findings import judged

CRON = "etc/cron.daily/fw"


def findings(files, folder):
    """{check: finding} of a Debian node with these files; each check has one finding at most."""
    found = judged(node_tree.unpack(merged(DEBIAN, files), folder))
    assert len(found) == len({row["check"] for row in found}), found
    return {row["check"]: row for row in found}


def one(script, folder):
    """The finding of a script that cron runs."""
    found = findings({CRON: executable("#!/bin/sh\n" + script)}, folder)
    assert sorted(found) == ["HOOK001"]
    return found["HOOK001"]


@cases
def test_a_flush_that_is_saved_says_so(script, place, tmp_path):
    assert "The rule set without these rules is saved afterwards (%s)" % place in one(script, tmp_path)["reason"]


@cases
def test_a_flush_that_is_not_saved_says_nothing(script, tmp_path):
    assert "saved afterwards" not in one(script, tmp_path)["reason"]


def test_a_secret_in_the_name_of_the_file_is_not_shown(tmp_path):
    reason = one("P=hunter2\niptables -F\niptables-save > /srv/x$P\n", tmp_path)["reason"]
    assert "saved afterwards (a file)" in reason and "hunter2" not in reason


@cases
def test_look_alikes_are_silent(script, tmp_path):
    assert findings({CRON: executable("#!/bin/sh\n" + script)}, tmp_path) == {}


SERVICES, KUBELET = "kube-proxy rebuilds KUBE-SERVICES", "kubelet rebuilds KUBE-FIREWALL"


@cases
def test_a_restart_says_who_rebuilds_what_and_what_stays_lost(restart, rebuilt, lost, tmp_path):
    reason = one("for t in nat filter mangle; do iptables -t $t -F; done\n%s\n" % restart, tmp_path)["reason"]
    assert [each for each in (SERVICES, KUBELET) if each in reason] == rebuilt
    assert ("Stays lost:" in reason and lost in reason.partition("Stays lost:")[2]
            and "masquerade rules of the network plugin" in reason)
    assert (reason.partition("Stays lost:")[2].count("of kubelet") == (KUBELET not in rebuilt)
            and reason.rstrip().endswith("rules of others."))


def test_of_one_table_only_its_chains_are_named(tmp_path):
    reason = one("iptables -F\nsystemctl restart kubelet\n", tmp_path)["reason"]
    assert "kubelet rebuilds KUBE-FIREWALL. Stays lost: KUBE-FORWARD" in reason
    assert not [name for name in ("HOSTPORT", "masquerade", "KUBE-SVC", "HINT") if name in reason]


@cases
def test_no_restart_says_nothing(script, tmp_path):
    assert "Stays lost" not in one(script, tmp_path)["reason"]


@cases
def test_who_flushes_and_appends_has_to_become_idempotent(script, told, tmp_path):
    row = one(script, tmp_path)
    assert ("first make it idempotent" in row["remediation"]) == told


LIBRARY = executable("wipe() {\n  iptables -t nat -F\n}\nshow() {\n  iptables -S\n}\n")


def test_a_library_that_nothing_calls_is_info(tmp_path):
    found = findings({"usr/local/sbin/fw-lib.sh": LIBRARY}, tmp_path)
    assert [(check, row["severity"], row["subject"])
            for check, row in found.items()] == [("HOOK008", "info", "/usr/local/sbin/fw-lib.sh")]
    assert "no script of this node calls the function" in found["HOOK008"]["reason"]


CALLER = "#!/bin/sh\n. /usr/local/lib/site/net.sh\n%s\n"


@pytest.mark.parametrize(
    "files, check", [
        ({CRON: executable(CALLER % "wipe")}, "HOOK001"),
        ({"usr/local/sbin/reset": executable(CALLER % "wipe")}, "HOOK003"),
        (merged(service("site.service", "ExecStop=/opt/site", enabled=True), {"opt/site": executable(CALLER % "wipe")}),
         "HOOK002"), ({CRON: executable("#!/bin/sh\n. /usr/local/lib/site/all.sh\nwipe\n"),
                       "usr/local/lib/site/all.sh": ". /usr/local/lib/site/net.sh\n"}, "HOOK001"),
        ({CRON: executable("#!/bin/sh\n. /usr/local/lib/site/a.sh\n. /usr/local/lib/site/net.sh\nreset_all\n"),
          "usr/local/lib/site/a.sh": "reset_all() { wipe; }\n"}, "HOOK001"),
    ], ids=["cron", "by hand", "unit", "read in by another library", "called by another library"])
def test_a_library_is_found_through_its_callers(files, check, tmp_path):
    found = findings(merged(files, {"usr/local/lib/site/net.sh": LIBRARY}), tmp_path)
    assert [(one, row["subject"]) for one, row in found.items()] == [(check, "/usr/local/lib/site/net.sh")]


@pytest.mark.parametrize("call", ["show", "wipe_not", "# wipe", "echo wipe"])
def test_a_library_of_which_another_function_is_called_is_silent(call, tmp_path):
    assert findings({CRON: executable(CALLER % call), "usr/local/lib/site/net.sh": LIBRARY}, tmp_path) == {}


FLUSH = {"opt/flush": executable("#!/bin/sh\niptables -F\n"), "opt/net.sh": LIBRARY}


@cases
def test_what_a_caller_does_afterwards_counts(script, said, tmp_path):
    found = findings(merged(FLUSH, {CRON: executable("#!/bin/sh\n" + script)}), tmp_path)
    assert sorted(found) == ["HOOK001"] and ("afterwards" in found["HOOK001"]["reason"].lower()) == said


# What such scripts do, in words of this project: services and mounts go, then the rules that Kubernetes brought.
KILL = executable("""#!/bin/sh
for unit in /etc/systemd/system/NAME*.service; do
    systemctl stop "$(basename "$unit")"
done
ip link delete cni0
for tool in iptables ip6tables; do
    $tool-save | grep -v KUBE- | grep -v CNI- | grep -iv flannel | $tool-restore
done
""")


@pytest.mark.parametrize("name", ["k3s-killall.sh", "rke2-killall.sh"])
def test_a_script_that_ends_a_distribution_is_info_and_no_hook_of_another_check(name, tmp_path):
    found = findings({"usr/local/bin/" + name: KILL}, tmp_path)
    assert [(check, row["severity"], row["subject"])
            for check, row in found.items()] == [("HOOK008", "info", "/usr/local/bin/" + name)]
    assert "removes Kubernetes from the node" in found["HOOK008"]["reason"]


def test_one_that_cron_runs_is_a_hook_and_is_not_to_be_edited(tmp_path):
    found = findings({"usr/local/bin/k3s-killall.sh": KILL,
                      CRON: executable("#!/bin/sh\n/usr/local/bin/k3s-killall.sh\n")}, tmp_path)
    assert [(check, row["subject"]) for check, row in found.items()] == [("HOOK001", "/usr/local/bin/k3s-killall.sh")]
    remediation = found["HOOK001"]["remediation"]
    assert "disable what starts it, and do not change the script" in remediation
    assert remediation.startswith("Remove the line that starts /usr/local/bin/k3s-killall.sh (/%s:2" % CRON)


def test_another_name_is_another_script(tmp_path):
    assert sorted(findings({"usr/local/bin/clean-up.sh": KILL}, tmp_path)) == ["HOOK003"]


@cases
def test_a_script_is_read_for_what_it_writes(script, said, tmp_path):
    found = findings({CRON: executable("#!/bin/sh\n" + script)}, tmp_path)
    assert (sorted(found) == ["HOOK009"] and said in found["HOOK009"]["observed"]
            and found["HOOK009"]["subject"] == "/" + CRON)
    found = findings({"usr/local/sbin/harden": executable("#!/bin/sh\n" + script)}, tmp_path / "by-hand")
    assert [(check, row["severity"]) for check, row in found.items()] == [("HOOK010", "low")]


def test_a_secret_in_the_name_of_a_written_file_is_not_shown(tmp_path):
    script = "P=hunter2\necho net.ipv4.ip_forward=0 > /etc/sysctl.d/$P.conf\n"
    row = findings({CRON: executable("#!/bin/sh\n" + script)}, tmp_path)["HOOK009"]
    assert "into /etc/sysctl.d/?.conf" in row["observed"] and "hunter2" not in str(row)


def test_saved_tables_of_nft_get_advice_for_nft(tmp_path):
    script = "nft list ruleset > /etc/nftables.conf\nsystemctl enable nftables\n"
    row = findings({CRON: executable("#!/bin/sh\n" + script)}, tmp_path)["HOOK009"]
    assert "nft list table inet NAME" in row["remediation"] and "iptables-save" not in row["remediation"]


@cases
def test_other_settings_are_silent(script, tmp_path):
    assert findings({CRON: executable("#!/bin/sh\n" + script)}, tmp_path) == {}


# OpenRC runs one function of an init script at a boot and another at a stop.
OPENRC = {
    "usr/sbin/openrc": ELF, "etc/runlevels/default/fw": link("/etc/init.d/fw"), "etc/init.d/fw": executable("""#!/sbin/openrc-run
start() {
    ebegin "Loading rules"
    iptables-restore --noflush < /etc/site.rules
}
stop() {
    iptables -F
    ip6tables -F
}
""")}


def test_what_openrc_does_at_a_stop_is_no_boot(tmp_path):
    found = findings(OPENRC, tmp_path)
    assert [(check, row["subject"]) for check, row in found.items()] == [("HOOK002", "/etc/init.d/fw")]
    assert "triggered by stop" in found["HOOK002"]["observed"]


def test_what_openrc_does_at_a_start_is_one(tmp_path):
    script = executable("#!/sbin/openrc-run\nstart_pre() {\n    iptables -F\n}\nstart() { :; }\nstop() { :; }\n")
    assert sorted(findings(merged(OPENRC, {"etc/init.d/fw": script}), tmp_path)) == ["HOOK001"]


def test_a_script_of_openrc_that_nothing_starts_is_silent(tmp_path):
    assert findings({path: content for path, content in OPENRC.items() if "runlevels" not in path}, tmp_path) == {}
