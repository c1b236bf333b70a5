# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking hooks out and putting them back, on trees; and every case of the corpus."""

import json
import os
import re
import subprocess

from case_rows import cases
import hook_corpus
import hook_nodes
import node_tree
import pytest
from hook_changes import AZURE, DROP_IN, SCRIPT, actions, content, read, run, undo
from node_tree import executable, link, merged, mode

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.hooks.record import FOLDER, RECORD

CORPUS = [pytest.param(case, id="%s: %s" % (name, case["name"])) for name, case in hook_corpus.load()]


@pytest.mark.parametrize("case", CORPUS)
def test_every_case_of_the_corpus(tmp_path, case):
    node_tree.unpack(hook_corpus.tree_of(case), tmp_path)
    before = content(tmp_path)
    announced = run(tmp_path, check=True)
    assert content(tmp_path) == before
    assert run(tmp_path) == announced and not announced.get("failed"), announced.get("msg")
    after = content(tmp_path)
    changed = sorted(path for path in after if after[path] != before.get(path) and not path.startswith(FOLDER[1:]))
    assert sorted(set(announced["files"]) - {RECORD}) == ["/" + path for path in changed]
    assert changed == [] or case.get("hooks") or case.get("saved")
    for path in changed:
        assert path not in before or after[path][0] == before[path][0]
        _parses_as_before(before.get(path, (0, b""))[1], after[path][1])
    again = run(tmp_path)
    # A hook that stays has a reason in `msg`; a disarmed hook is not found again, or runs only at boot (`ordered`).
    assert not again["changed"] and all(row["msg"] and row["action"] in (None, "ordered")
                                        for row in again["hooks"]), again
    assert not undo(tmp_path).get("failed")
    assert content(tmp_path) == before
    assert not undo(tmp_path)["changed"]


def _parses_as_before(before, after):
    shell = re.match(rb"#!.*\b(bash|sh)\b", before)
    if shell:
        program = shell.group(1).decode()
        said = [subprocess.run([program, "-n"], input=text, stderr=subprocess.PIPE, check=False).returncode
                for text in (before, after)]
        assert said[0] == said[1]


AFTER = {
    # It keeps its save and loses its restart.
    SCRIPT: "#!/bin/bash\nset -e\niptables-save > /root/backup.rules\nlogger done\n",
    "etc/cron.d/firewall": "SECRET=hunter2\n*/5 * * * * root test -f /run/x && :; logger x\n",
    # It loses the chains of Kubernetes alone.
    "etc/systemd/scripts/ip4save": "*filter\n:INPUT DROP [0:0]\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n",
    DROP_IN % "iptables.service": (
        "[Unit]\nBefore=kubelet.service\nRefuseManualStart=yes\nRefuseManualStop=yes\n[Service]\nExecStart=\n"
        "ExecStart=/usr/sbin/iptables-restore --noflush /etc/systemd/scripts/ip4save\n"
        "ExecStart=/usr/sbin/ip6tables-restore --noflush /etc/systemd/scripts/ip6save\nExecStop=\n")}


def test_each_file_loses_what_flushes_and_a_packaged_unit_gets_a_drop_in(azure):
    result = run(azure)
    assert set(result["files"]) == {RECORD, *("/" + path for path in AFTER)}
    for path, after in AFTER.items():
        text = read(azure, path)
        assert (text.split("\n", 1)[1] if path.endswith(".conf") else text) == after
    assert actions(result)["/%s:4" % SCRIPT] == "removed"
    assert {row["action"] for row in result["hooks"] if row["unit"] == "iptables.service"} == {"drop_in"}


def test_saved_rules_stay_where_they_are_not_to_be_cleaned(azure):
    run(azure, clean_saved=False)
    assert "KUBE-FORWARD" in read(azure, "etc/systemd/scripts/ip4save")


def test_a_restart_of_a_unit_that_only_this_site_has_goes(tmp_path):
    lines = ("Type=oneshot", "RemainAfterExit=yes", "ExecStart=/bin/true", "ExecStop=/opt/fw/stop")
    own = merged(hook_nodes.service("site-firewall.service", *lines, enabled=True),
                 {"opt/fw/stop": executable("#!/bin/sh\niptables -t nat -F\n"), SCRIPT: executable(
                     "#!/bin/sh\nlogger a; sudo systemctl restart site-firewall\nsystemctl restart other\nlogger b\n")})
    node_tree.unpack(merged(AZURE, own), tmp_path)
    run(tmp_path)
    assert read(tmp_path, SCRIPT) == "#!/bin/sh\nlogger a\nsystemctl restart other\nlogger b\n"
    assert read(tmp_path, "opt/fw/stop") == "#!/bin/sh\n:\n"


@cases
def test_of_several_units_that_a_command_names_one_goes(tmp_path, command, after):
    node_tree.unpack(merged(AZURE, {SCRIPT: executable("#!/bin/sh\n%s\n" % command)}), tmp_path)
    run(tmp_path)
    assert read(tmp_path, SCRIPT) == "#!/bin/sh\n%s\n" % after


def test_secrets_beside_a_command_stay_on_the_node(tmp_path):
    text = ("#!/bin/sh\nexport API_TOKEN=hunter2\ncurl -H 'Authorization: Bearer hunter3' x; iptables -F; curl -u "
            "me:hunter4 y\nlogger --token hunter5\n")
    node_tree.unpack(merged(AZURE, {SCRIPT: executable(text)}), tmp_path)
    for result in (run(tmp_path, check=True), run(tmp_path), undo(tmp_path)):
        assert result["changed"] and not re.search("hunter[0-9]", str(result))


@cases
def test_line_endings_and_odd_bytes_stay(tmp_path, text, after):
    text, after = text.encode("latin-1"), after.encode("latin-1")
    node_tree.unpack(merged(AZURE, {SCRIPT: executable(text)}), tmp_path)
    run(tmp_path)
    assert (tmp_path / SCRIPT).read_bytes() == after
    undo(tmp_path)
    assert (tmp_path / SCRIPT).read_bytes() == text


def test_mode_owner_and_attributes_stay(tmp_path):
    node_tree.unpack(merged(AZURE, {SCRIPT: mode(0o2751, "#!/bin/sh\niptables -F\necho\n")}), tmp_path)
    path = str(tmp_path / SCRIPT)
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
        os.chmod(path, 0o2751)
    # user, a named user, group, mask, others
    entries = "01000700ffffffff 020004000100000004000500ffffffff 10000500ffffffff 20000100ffffffff"
    attributes = {"user.label": b"kept",
                  "system.posix_acl_access": bytes.fromhex("02000000" + entries.replace(" ", ""))}
    kept = {}
    for name, value in attributes.items():
        try:
            os.setxattr(path, name, value)
            kept[name] = os.getxattr(path, name)
        except OSError:
            pass  # This file system does not support the attribute.
    before = os.stat(path)
    for change in (run, undo):
        assert change(tmp_path)["changed"]
        if change is run:
            known = json.loads(read(tmp_path, RECORD[1:]))["changed"]["/" + SCRIPT]["before"]
            assert (known["uid"], known["gid"]) == (before.st_uid, before.st_gid)
            assert {name: bytes.fromhex(value) for name, value in known["xattrs"].items()} == kept
        now = os.stat(path)
        assert (now.st_mode, now.st_uid, now.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
        assert {name: os.getxattr(path, name) for name in kept} == kept


@cases
def test_a_restore_at_boot_stays_and_one_by_a_timer_goes(tmp_path, triggers, after):
    table = {"etc/cron.d/firewall": "%s iptables-restore < /etc/site.rules\n" % triggers,
             "etc/site.rules": "*filter\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n"}
    node_tree.unpack(merged(AZURE, table), tmp_path)
    run(tmp_path)
    assert read(tmp_path, "etc/cron.d/firewall") == "%s %s\n" % (triggers, after)


def test_a_unit_is_masked_on_request(azure):
    assert "/etc/systemd/system/iptables.service" in run(azure, start="mask")["files"]
    assert os.readlink(str(azure / "etc/systemd/system/iptables.service")) == "/dev/null"
    assert not os.path.exists(str(azure / (DROP_IN % "iptables.service")))


def test_a_unit_of_the_administrator_cannot_be_masked_and_gets_the_drop_in(tmp_path):
    own = merged(hook_nodes.service("site.service", "Type=oneshot", "ExecStart=/usr/sbin/iptables-restore "
                                                                    "/etc/site.rules", folder="etc/systemd/system/"),
                 {hook_nodes.WANTS + "site.service": link("/etc/systemd/system/site.service"),
                  "etc/site.rules": "*filter\n-A INPUT -i lo\nCOMMIT\n"})
    node_tree.unpack(merged(AZURE, own), tmp_path)
    result = run(tmp_path, start="mask", only=["site.service"])
    assert "cannot be masked" in result["hooks"][0]["msg"]
    assert "ExecStart=/usr/sbin/iptables-restore --noflush /etc/site.rules\n" in read(tmp_path,
                                                                                      DROP_IN % "site.service")


@cases
def test_of_a_stop_only_what_flushes_goes(tmp_path, command, after):
    unit = hook_nodes.service("site.service", "ExecStart=/usr/bin/site", "ExecStop=/usr/bin/logger first",
                              "ExecStop=" + command, "ExecStopPost=/bin/true", enabled=True)
    node_tree.unpack(merged(AZURE, unit, {"usr/bin/site": executable()}), tmp_path)
    run(tmp_path, only=["site.service"])
    text = read(tmp_path, DROP_IN % "site.service")
    assert text.split("\n", 1)[1] == "[Service]\nExecStop=\nExecStop=/usr/bin/logger first\n" + ("ExecStop=%s\n" % after
                                                                                                 if after else "")


def test_a_start_that_cannot_be_changed_is_left_to_the_boot_before_kubelet(tmp_path):
    node_tree.unpack(merged(hook_nodes.DEBIAN,
                            {hook_nodes.WANTS + "nftables.service": link("/usr/lib/systemd/system/nftables.service")}),
                     tmp_path)
    result = run(tmp_path)
    assert actions(result)["/etc/nftables.conf:3"] == "ordered" and "start: mask" in result["hooks"][0]["msg"]
    text = read(tmp_path, DROP_IN % "nftables.service")
    assert ("RefuseManualStart=yes\nRefuseManualStop=yes\n" in text and "ExecReload=\nExecStop=\n" in text
            and "ExecStart" not in text)


def test_a_service_that_flushes_beside_its_work_may_still_be_restarted(tmp_path):
    text = ("[Service]\nExecStartPre=/sbin/iptables -F\nExecStartPre=/usr/share/fw/clean\n"
            "ExecStartPost=/sbin/iptables-restore /etc/site.rules\n")
    node_tree.unpack(merged(AZURE,
                            {
                                "etc/systemd/system/kubelet.service.d/20-fw.conf": text,
                                "usr/share/fw/clean": executable("#!/bin/sh\niptables -t nat -F\n"),
                                "etc/site.rules": "*filter\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n"}), tmp_path)
    result = run(tmp_path, only=["kubelet.service"])
    assert read(tmp_path, DROP_IN % "kubelet.service").split("\n", 1)[1] == (
        "[Service]\nExecStartPost=\nExecStartPost=/sbin/iptables-restore --noflush /etc/site.rules\n"
        "ExecStartPre=\nExecStartPre=/usr/share/fw/clean\n")
    said = {row["path"]: row for row in result["hooks"]}
    assert said["/usr/share/fw/clean"]["action"] is None and "ExecStartPre" in said["/usr/share/fw/clean"]["msg"]


def test_a_second_danger_in_a_unit_is_added_to_its_drop_in(azure):
    before = content(azure)
    run(azure)
    first = read(azure, DROP_IN % "iptables.service")
    more = azure / "etc/systemd/system/iptables.service.d/more.conf"
    more.write_text("[Service]\nExecStopPost=/usr/sbin/iptables -t mangle -F\n")
    assert run(azure)["changed"]
    assert read(azure, DROP_IN % "iptables.service") == first + "ExecStopPost=\n"
    undo(azure)
    more.unlink()
    more.parent.rmdir()
    assert content(azure) == before


def test_only_what_is_named_is_worked_on(azure):
    assert [row["path"] for row in run(azure, check=True, only=["/etc/cron.d"])["hooks"]] == ["/etc/cron.d/firewall"]
    assert [row["line"] for row in run(azure, check=True, only=["/%s:4" % SCRIPT])["hooks"]] == [4]
    assert run(azure, check=True, only=["/nowhere"])["hooks"] == []
    run(azure)
    assert undo(azure, only=["iptables.service"])["files"] == ["/" + DROP_IN % "iptables.service", RECORD]
    assert "logger done" in read(azure, SCRIPT) and "restart" not in read(azure, SCRIPT)
    undo(azure)
    assert "restart" in read(azure, SCRIPT)


@pytest.mark.parametrize("name", ["iptables", "", "opt/fw.sh", " iptables.service"])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_name_that_can_mean_nothing_is_refused(name, state, azure):
    with pytest.raises(_errors.BadInput, match="is neither an absolute path nor the name of a unit"):
        run(azure, state=state, only=["/etc/cron.d", name])


def test_a_file_that_nobody_runs_is_changed_only_when_it_is_named(tmp_path):
    node_tree.unpack(merged(AZURE, {"etc/rc.local": mode(0o644, "#!/bin/sh\niptables -F\nexit 0\n")}), tmp_path)
    assert "/etc/rc.local" not in run(tmp_path, check=True)["files"]
    assert "/etc/rc.local" in run(tmp_path, check=True, only=["/etc/rc.local"])["files"]


def test_a_file_behind_two_links_is_edited_once(tmp_path):
    text = "#!/bin/sh\niptables -F\necho\n"
    node_tree.unpack(merged(AZURE, {"etc/rc.d/rc.local": executable(text), "etc/rc.local": link("rc.d/rc.local")}),
                     tmp_path)
    before = content(tmp_path)
    assert run(tmp_path)["files"].count("/etc/rc.d/rc.local") == 1
    assert os.path.islink(str(tmp_path / "etc/rc.local")) and read(tmp_path, "etc/rc.local") == "#!/bin/sh\necho\n"
    undo(tmp_path)
    assert content(tmp_path) == before


def test_a_cycle_is_not_written(tmp_path):
    late = {
        "usr/lib/systemd/system/iptables.service": (
            "[Unit]\nAfter=kubelet.service\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
            "ExecStart=/etc/systemd/scripts/iptables\n"
            "ExecStop=/etc/systemd/scripts/iptables.stop\n[Install]\nWantedBy=multi-user.target\n")}
    node_tree.unpack(merged(AZURE, late), tmp_path)
    result = run(tmp_path)
    assert (result["failed"]
            and "iptables.service cannot be ordered before kubelet.service: an ordering cycle" in result["msg"])
    text = read(tmp_path, DROP_IN % "iptables.service")
    assert "Before=" not in text and "ExecStop=\n" in text


def test_a_drop_in_that_is_read_later_is_in_the_way(tmp_path):
    node_tree.unpack(merged(AZURE, {"etc/systemd/system/iptables.service.d/zzz.conf": "[Unit]\nDescription=x\n"}),
                     tmp_path)
    result = run(tmp_path, only=["iptables.service"])
    assert not result["changed"] and all("zzz.conf is read after" in row["msg"] for row in result["hooks"])


def test_a_command_that_loads_what_flushes_stays_with_a_reason(tmp_path):
    """Removing the command would also remove the rules of the owner of that file."""
    script = executable("#!/bin/sh\nnft -f /etc/site.nft\n")
    node_tree.unpack(merged(hook_nodes.SYSTEMD, {"usr/local/sbin/load.sh": script,
                                                 "etc/site.nft": "flush ruleset\ntable inet site {\n}\n"}), tmp_path)
    result = run(tmp_path)
    assert not result["changed"]
    assert [row["msg"] for row in result["hooks"] if row["path"] == "/usr/local/sbin/load.sh"] == [
        "the file that it loads has both the flush and the site's own rules; remove the flush from that file"]
