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
def test_what_a_script_does_besides_its_flush(script, says, silent, tmp_path):
    row = one(script, tmp_path)
    text = row["reason"] + row["remediation"]
    assert [words for words in says if words not in text] == [words for words in silent if words in text] == []


@cases
def test_look_alikes_are_silent(script, tmp_path):
    assert findings({CRON: executable("#!/bin/sh\n" + script)}, tmp_path) == {}


SERVICES, KUBELET = "kube-proxy rebuilds KUBE-SERVICES", "kubelet rebuilds KUBE-FIREWALL"


@cases
def test_a_restart_says_who_rebuilds_what_and_what_stays_lost(restart, rebuilt, lost, tmp_path):
    reason = one("for t in nat filter mangle; do iptables -t $t -F; done\n%s\n" % restart, tmp_path)["reason"]
    assert [each for each in (SERVICES, KUBELET) if each in reason] == rebuilt
    left = reason.partition("Stays lost:")[2]
    assert lost in left and "masquerade rules of the network plugin" in left
    assert left.count("of kubelet") == (KUBELET not in rebuilt) and left.rstrip().endswith("rules of others.")


LIBRARY = executable("wipe() {\n  iptables -t nat -F\n}\nshow() {\n  iptables -S\n}\n")


def test_a_library_that_nothing_calls_is_info(tmp_path):
    found = findings({"usr/local/sbin/fw-lib.sh": LIBRARY}, tmp_path)
    assert [(check, row["severity"], row["subject"])
            for check, row in found.items()] == [("HOOK008", "info", "/usr/local/sbin/fw-lib.sh")]
    assert "no script of this node calls the function" in found["HOOK008"]["reason"]


CALLER = "#!/bin/sh\n. /usr/local/lib/site/net.sh\n%s\n"


@pytest.mark.parametrize("files, check", [
    ({CRON: executable(CALLER % "wipe")}, "HOOK001"),
    ({"usr/local/sbin/reset": executable(CALLER % "wipe")}, "HOOK003"),
    (merged(service("site.service", "ExecStop=/opt/site", enabled=True), {"opt/site": executable(CALLER % "wipe")}),
     "HOOK002"),
    ({CRON: executable("#!/bin/sh\n. /usr/local/lib/site/all.sh\nwipe\n"),
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


@pytest.mark.parametrize("name, check, severity", [
    ("k3s-killall.sh", "HOOK008", "info"), ("rke2-killall.sh", "HOOK008", "info"), ("clean-up.sh", "HOOK003", "low")])
def test_a_script_that_ends_a_distribution_is_info_and_another_name_is_another_script(name, check, severity, tmp_path):
    (row,) = judged(node_tree.unpack(merged(DEBIAN, {"usr/local/bin/" + name: KILL}), tmp_path))
    assert (row["check"], row["severity"], row["subject"]) == (check, severity, "/usr/local/bin/" + name)
    assert ("removes Kubernetes from the node" in row["reason"]) == (check == "HOOK008")


def test_one_that_cron_runs_is_a_hook_and_is_not_to_be_edited(tmp_path):
    found = findings({"usr/local/bin/k3s-killall.sh": KILL,
                      CRON: executable("#!/bin/sh\n/usr/local/bin/k3s-killall.sh\n")}, tmp_path)
    assert [(check, row["subject"]) for check, row in found.items()] == [("HOOK001", "/usr/local/bin/k3s-killall.sh")]
    remediation = found["HOOK001"]["remediation"]
    assert "disable what starts it, and do not change the script" in remediation
    assert remediation.startswith("Remove the line that starts /usr/local/bin/k3s-killall.sh (/%s:2" % CRON)


@cases
def test_a_script_is_read_for_what_it_writes(script, said, tmp_path):
    found = findings({CRON: executable("#!/bin/sh\n" + script)}, tmp_path)
    assert sorted(found) == ["HOOK009"] and found["HOOK009"]["subject"] == "/" + CRON
    assert said in found["HOOK009"]["observed"]
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


# OpenRC runs one function of an init script at a boot and another at a stop.
AT_STOP = "start() {\n    iptables-restore --noflush < /etc/site.rules\n}\nstop() {\n    iptables -F\n}\n"
AT_START = "start_pre() {\n    iptables -F\n}\nstart() { :; }\nstop() { :; }\n"


@pytest.mark.parametrize("script, started, expected", [
    (AT_STOP, True, ["HOOK002"]), (AT_START, True, ["HOOK001"]), (AT_STOP, False, [])])
def test_what_openrc_does_at_a_stop_is_no_boot(script, started, expected, tmp_path):
    runlevel = {"etc/runlevels/default/fw": link("/etc/init.d/fw")} if started else {}
    found = findings({"usr/sbin/openrc": ELF, "etc/init.d/fw": executable("#!/sbin/openrc-run\n" + script), **runlevel},
                     tmp_path)
    assert sorted(found) == expected
    assert expected != ["HOOK002"] or "triggered by stop" in found["HOOK002"]["observed"]
