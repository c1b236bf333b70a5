# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_flush_hooks: the services of distributions, where commands are found, and whether they are run."""

import pytest

import hook_nodes
import node_tree
from hook_nodes import AZURE, DEBIAN, service
from node_tree import executable, link, merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks import flush_hooks, trace
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks


def look(manifest, tmp_path, place="image", **options):
    return collect_flush_hooks(Host(node_tree.unpack(manifest, tmp_path)), {"place": place}, **options)


def rows(section, **fields):
    return [row for row in section["hooks"] if all(row[key] == value for key, value in fields.items())]


def offending(section):
    """Everything that a check would report."""
    return ([row["path"] for row in section["files"] if row["live"] is not False] + section["unordered"]
            + section["waiting"] + [row["path"] for row in section["saved_rule_sets"] if row["kubernetes"]
                                    or row["saved_by"]])


FLUSH = "#!/bin/sh\niptables -F\n"
SCRIPT = executable(FLUSH)


@pytest.mark.parametrize(
    "files, triggers, live", [
        ({"etc/cron.d/fw": "*/5 * * * * root iptables -F\n"}, ["timer"], True),
        ({"etc/cron.d/fw": "@reboot root iptables -F\n"}, ["boot"], True),
        ({"etc/cron.d/fw.bak": "*/5 * * * * root iptables -F\n"}, ["timer"], False),
        ({"etc/cron.daily/fw": SCRIPT}, ["timer"], True), ({"etc/cron.daily/fw.sh": SCRIPT}, ["timer"], False),
        ({"etc/cron.daily/fw": FLUSH}, ["timer"], False), ({"var/spool/cron/crontabs/root": "0 4 * * * iptables -F\n"},
                                                           ["timer"], True), ({"etc/rc.local": SCRIPT}, ["boot"], True),
        ({"etc/rc.local": FLUSH}, ["boot"], False), ({"etc/network/if-up.d/fw": SCRIPT}, ["boot", "event"], True),
        ({"etc/network/if-up.d/fw.sh": SCRIPT}, ["boot", "event"], False),
        ({"etc/network/interfaces": "auto eth0\niface eth0 inet dhcp\n  post-down iptables -F\n"}, ["event"], True),
        ({"etc/NetworkManager/dispatcher.d/fw": SCRIPT}, ["event"], False),
        ({"etc/udev/rules.d/9.rules": 'ACTION=="add", RUN+="/bin/sh -c \'iptables -F\'"\n'}, ["event"], True),
        ({"etc/udev/rules.d/9.rules": node_tree.MASKED,
          "usr/lib/udev/rules.d/9.rules": 'RUN+="/usr/sbin/iptables -F"\n'}, ["event"], False),
        ({"etc/logrotate.d/fw": "/var/log/x {\n postrotate\n  iptables -F\n endscript\n}\n"}, ["timer"], True),
        ({"etc/apt/apt.conf.d/99fw": 'DPkg::Post-Invoke { "iptables -F"; };\n'}, ["package_upgrade"], True),
        ({"etc/apt/apt.conf.d/99fw.save": 'DPkg::Post-Invoke { "iptables -F"; };\n'}, ["package_upgrade"], False),
        ({"etc/kernel/postinst.d/fw": SCRIPT}, ["package_upgrade"], True),
        ({"etc/init.d/fw": SCRIPT}, ["boot", "start", "stop"], False),
        ({"etc/init.d/fw": SCRIPT, "etc/rc2.d/S01fw": link("../init.d/fw")}, ["boot", "start", "stop"], True),
        ({"usr/bin/cloud-init": hook_nodes.ELF, "var/lib/cloud/scripts/per-boot/fw": SCRIPT}, ["boot"], True),
        ({"var/lib/cloud/scripts/per-boot/fw": SCRIPT}, ["boot"], False),
        ({"usr/bin/cloud-init": hook_nodes.ELF, "etc/cloud/cloud.cfg.d/9.cfg": "bootcmd:\n  - iptables -F\n"}, ["boot"],
         True), ({"usr/local/sbin/fw": SCRIPT}, ["by_hand"], None),
    ])
def test_places(files, triggers, live, tmp_path):
    found = [row for row in look(merged(DEBIAN, files), tmp_path)["hooks"] if row["unit"] != "nftables.service"]
    assert [(row["triggers"], row["live"]) for row in found] == [(triggers, live)]
    assert "/" + next(path for path in sorted(files) if path in found[0]["path"]) == found[0]["path"]


@pytest.mark.parametrize("place, sem, live", [("image", False, True), ("live", True, False), ("live", False, None)])
def test_what_runs_once_for_an_instance(place, sem, live, tmp_path):
    files = {"usr/bin/cloud-init": hook_nodes.ELF,
             "var/lib/cloud/instance/user-data.txt": "#cloud-config\nruncmd:\n  - iptables -F\n"}
    if sem:
        files["var/lib/cloud/instance/sem/config_runcmd"] = ""
    found = rows(look(merged(hook_nodes.SYSTEMD, files), tmp_path, place), kind="cloud_init")
    assert [(row["triggers"], row["live"]) for row in found] == [(["boot"], live)]


@pytest.mark.parametrize("path, text, reasons",
                         [
                             ("etc/cloud/cloud.cfg.d/9.cfg", "a: 1\nbootcmd: !x [iptables -F]\n",
                              ["could not be read: line 2: a tag is not known"]),
                             ("var/lib/cloud/instance/user-data.txt", "#cloud-config\nx: [\nruncmd: [a]\n",
                              ["could not be read: line 2: a bracket is not closed"]),
                             ("var/lib/cloud/instance/user-data.txt", "#cloud-config\nruncmd: [iptables, -F]\n", []),
                             ("var/lib/cloud/instance/user-data.txt",
                              '#cloud-config-archive\n- "unclosed\n  runcmd: [iptables -F]\n',
                              ["could not be read: line 2: a quote is not closed"]),
                             ("var/lib/cloud/instance/user-data.txt",
                              "#cloud-config-archive\n- |\n  #cloud-config\n  runcmd: !x [iptables -F]\n",
                              ["could not be read: the part at line 3: line 2: a tag is not known"]),
                             ("etc/cloud/cloud.cfg.d/9.cfg", '"run\\u0063md": !x [iptables -F]\n',
                              ["could not be read: line 1: a tag is not known"]),
                             # It does not matter in a key without commands, or in a file without its #cloud-config.
                             ("etc/cloud/cloud.cfg.d/9.cfg", "a: !x [iptables -F]\n", []),
                             ("var/lib/cloud/instance/user-data.txt", "runcmd: !x [iptables -F]\n", []),
                         ])
def test_a_configuration_of_cloud_init_that_cannot_be_read(path, text, reasons, tmp_path):
    section = look(merged(hook_nodes.SYSTEMD, {"usr/bin/cloud-init": hook_nodes.ELF, path: text}), tmp_path)
    found = section["scanned"]["skipped"]
    assert [(row["source"], row["path"]) for row in found] == [("cloud_init", "/" + path)] * len(reasons)
    assert section["collected"]["cloud_init"] == ("unparsed" if reasons else "ok")
    assert [row["reason"].replace("/" + path + " ", "") for row in found] == reasons


def test_a_script_is_followed_to_its_end(tmp_path):
    files = {"etc/cron.d/fw": "*/5 * * * * root /opt/a.sh\n", "opt/a.sh": executable("#!/bin/sh\n. /opt/lib/b\n"),
             "opt/lib/b": "sh /opt/c.sh\n/opt/a.sh\n", "opt/c.sh": "true\niptables -F\n"}
    found = rows(look(merged(DEBIAN, files), tmp_path), path="/opt/c.sh")
    assert [(row["line"], row["triggers"], row["live"], row["through"], row["kind"]) for row in found] == [
        (2, ["timer"], True, ["/opt/lib/b:1", "/opt/a.sh:2", "/etc/cron.d/fw:1"], "script")]


def test_two_ways_to_one_command_are_one_row(tmp_path):
    files = merged({"etc/cron.d/fw": "*/5 * * * * root /usr/local/sbin/fw\n", "usr/local/sbin/fw": SCRIPT},
                   service("fw.service", "ExecStart=/usr/local/sbin/fw"))
    found = rows(look(merged(DEBIAN, files), tmp_path), path="/usr/local/sbin/fw")
    assert [(row["triggers"], row["live"], row["owner"], row["fix"], len(row["through"])) for row in found] == [
        (["start", "restart", "timer"], True, "administrator", "remove_command", 2)]


def test_restarting_a_service_is_what_its_unit_does(tmp_path):
    files = {"etc/cron.weekly/maintain": executable("#!/bin/sh\niptables-save > /root/rules\nsystemctl restart "
                                                    "iptables\n")}
    found = rows(look(merged(AZURE, files, hook_nodes.CRON_DEBIAN), tmp_path), sort="service")
    assert [(row["path"], row["line"], row["service"], row["verb"], row["triggers"], row["live"]) for row in found] == [
        ("/etc/cron.weekly/maintain", 3, "iptables.service", "restart", ["timer"], True)]
    assert found[0]["tables"] == ["filter", "mangle", "nat"] and found[0]["families"] == ["ipv4", "ipv6"]
    found = rows(look(merged(DEBIAN, files), tmp_path / "without"), sort="service")
    assert [(row["live"], row["live_because"], row["confidence"])
            for row in found] == [(False, "iptables.service does not exist", "possible")]


def test_stopping_a_service_that_is_off_does_nothing(tmp_path):
    files = {"etc/cron.weekly/off": executable("#!/bin/sh\nsystemctl stop nftables\n"),
             "etc/cron.weekly/on": executable("#!/bin/sh\nsystemctl start nftables\n")}
    found = rows(look(merged(DEBIAN, files), tmp_path), sort="service")
    assert {(row["path"], row["live"]) for row in found} == {("/etc/cron.weekly/off", False),
                                                             ("/etc/cron.weekly/on", True)}


def test_a_timer_starts_a_unit(tmp_path):
    files = merged(service("fw.service", "Type=oneshot", "ExecStart=/bin/sh -c 'iptables -F'",
                           "ExecStopPost=/bin/sh -c 'iptables -X'"),
                   hook_nodes.unit("fw.timer", "[Timer]", "OnCalendar=daily"),
                   {"etc/systemd/system/timers.target.wants/fw.timer": link("/usr/lib/systemd/system/fw.timer"),
                    hook_nodes.UNITS + "timers.target": "[Unit]\n",
                    hook_nodes.UNITS + "basic.target": "[Unit]\nWants=timers.target\n"})
    found = rows(look(merged(DEBIAN, files), tmp_path), unit="fw.service")
    assert {(row["sort"], tuple(row["triggers"]), row["live"]) for row in found} == {
        ("flush", ("start", "restart", "timer"), True), ("delete", ("start", "stop", "restart", "timer"), True)}


def test_a_drop_in_takes_the_danger_away(tmp_path):
    drop_in = {"etc/systemd/system/iptables.service.d/90-kube.conf": "[Service]\nExecStart=\nExecStart=/bin/true\n"
                                                                     "ExecStop=\n"}
    assert look(merged(AZURE, drop_in), tmp_path)["hooks"] == []


def test_a_drop_in_brings_it(tmp_path):
    drop_in = {"etc/systemd/system/kubelet.service.d/fw.conf": "[Service]\nExecStartPre=/usr/sbin/iptables -t nat -F\n"}
    found = rows(look(merged(DEBIAN, drop_in), tmp_path), unit="kubelet.service")
    assert [(row["path"], row["line"], row["tables"], row["triggers"], row["owner"], row["fix"]) for row in found] == [
        ("/etc/systemd/system/kubelet.service.d/fw.conf", 2, ["nat"], ["boot", "start", "restart"], "administrator",
         "drop_in")]


def test_masked_is_not_live(tmp_path):
    section = look(merged(AZURE, {"etc/systemd/system/iptables.service": node_tree.MASKED}), tmp_path)
    assert section["hooks"] == []


def test_variables_of_a_unit(tmp_path):
    files = service("fw.service", "Environment=TABLE=nat WHAT=-F", "ExecStart=/usr/sbin/iptables -t ${TABLE} $WHAT",
                    enabled=True)
    assert [row["tables"] for row in rows(look(merged(DEBIAN, files), tmp_path), unit="fw.service")] == [["nat"]]


def test_the_same_file_is_told_once(tmp_path):
    files = {"etc/cron.d/fw": "*/5 * * * * root iptables -F\n", "var/spool/cron": node_tree.DIRECTORY,
             "etc/rc.d/rc.local": SCRIPT, "etc/rc.local": link("rc.d/rc.local")}
    assert [row["path"]
            for row in rows(look(merged(DEBIAN, files), tmp_path), kind="rc_local")] == ["/etc/rc.d/rc.local"]


@pytest.mark.parametrize("folder", ["relative", "/", "/proc", "//", "/sys/"])
def test_directories_that_cannot_be_searched(folder, tmp_path):
    with pytest.raises(BadInput, match="cannot be searched"):
        look(DEBIAN, tmp_path, directories=[folder])


def test_what_ends_a_cluster_is_told_as_that_and_not_edited(tmp_path):
    killer = executable("#!/bin/sh\niptables-save | grep -v KUBE- | iptables-restore\niptables -F\n")
    found = look(merged(hook_nodes.SYSTEMD, {"usr/local/bin/k3s-killall.sh": killer}), tmp_path)["hooks"]
    assert [(row["line"], row["sort"], row["purpose"], row["fix"])
            for row in found] == [(2, "restore", "teardown", None), (3, "flush", "teardown", None)]


def test_other_languages_are_named(tmp_path):
    section = look(merged(DEBIAN, {"usr/local/sbin/fw": executable("#!/usr/bin/env php\n<?php system('iptables "
                                                                   "-F');\n")}), tmp_path)
    assert section["scanned"]["other_languages"] == ["/usr/local/sbin/fw"] and offending(section) == []


def test_a_directory_without_end_hides_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(flush_hooks.host_walk.Walk.__init__, "__defaults__", (50, 1 << 20, 20.0, lambda path: True))
    files = {"srv/%d" % number: "text" for number in range(60)}
    section = look(merged(hook_nodes.SYSTEMD, files, {"etc/rc.local": SCRIPT}), tmp_path, directories=["/srv"])
    assert section["collected"]["directories"] == "timeout" and section["collected"]["rc_local"] == "ok"
    assert [row["kind"] for row in section["hooks"]] == ["rc_local"]


def test_a_unit_that_starts_a_unit_that_flushes(tmp_path):
    files = merged(service("site-reset.service", "ExecStart=/usr/sbin/iptables -F"),
                   service("nightly.service", "ExecStart=/usr/bin/systemctl start site-reset", enabled=True))
    found = rows(look(merged(DEBIAN, files), tmp_path), sort="service")
    assert [(row["unit"], row["service"], row["triggers"], row["live"], row["tables"]) for row in found] == [
        ("nightly.service", "site-reset.service", ["boot", "start", "restart"], True, ["filter"])]


def test_a_script_that_only_a_disabled_unit_starts_is_still_there_to_be_run(tmp_path):
    files = merged(service("fw.service", "ExecStart=/usr/local/sbin/fw"), {"usr/local/sbin/fw": SCRIPT})
    assert [(row["triggers"], row["live"])
            for row in rows(look(merged(DEBIAN, files), tmp_path), path="/usr/local/sbin/fw")] == [
                (["start", "restart", "by_hand"], None)]


EVALS = executable("#!/bin/sh\n" + "eval true\n" * 60000 + "iptables -F\n")


@pytest.mark.parametrize("files, source",
                         [
                             (service("fw.service", "ExecStart=/opt/fw", enabled=True), "systemd"),
                             ({"etc/cron.d/fw": "* * * * * root /opt/fw\n"}, "cron"),
                             ({"usr/local/sbin/fw": link("/opt/fw")}, "directories")])
def test_a_script_that_is_not_followed_to_its_end_is_not_known(files, source, tmp_path):
    section = look(merged(DEBIAN, files, {"opt/fw": EVALS}), tmp_path)
    assert section["scanned"]["skipped"] == [
        {"source": source, "path": "/opt/fw", "reason": "/opt/fw was not followed further than 50000 statements"}]
    assert section["collected"][source] == "unparsed" and "/opt/fw" not in [row["path"] for row in section["files"]]


def test_scripts_together_have_a_limit_too(tmp_path, monkeypatch):
    monkeypatch.setattr(trace, "ALL_STATEMENTS_LIMIT", 150)
    scripts = {"usr/local/sbin/s%d" % number: executable("#!/bin/sh\n" + "true\n" * 60 + "iptables -F\n# %d\n" % number)
               for number in range(9)}
    section = look(merged(DEBIAN, scripts), tmp_path)
    assert len([row for row in section["files"]
                if row["path"].startswith("/usr/local")]) == 2 and section["scanned"]["skipped_count"] == 7
