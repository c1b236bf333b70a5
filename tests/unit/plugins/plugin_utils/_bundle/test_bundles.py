# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Support bundles of every kind, and what a hostile one may not do. Rules are those of a real kube-proxy; no process
and no node is asked."""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

import bundles
import pytest
import whole_nodes
import yaml
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils import _names
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.other_hosts import BundleHost
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.component_config import (
    parse_kube_proxy_config,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_ip_vs import parse_ipset_list
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle import (
    archive, bundles as _bundle, convert as _bundle_texts, proxy_config, tree as _bundle_tree,
)

FORMS = pathlib.Path(__file__).resolve().parents[4] / "fixtures" / "forms"


def sample(name):
    return gzip.decompress((FORMS / (name + ".gz")).read_bytes()).decode()


SAVE = sample("save.txt")
TEXTS = yaml.safe_load((FORMS.parent / "bundle_texts.yml").read_text(encoding="utf-8"))
LSMOD, CONFIG, SYSCTL, DMESG, JOURNAL, COUNTERS, DISPLAY, IPVS, PROXY, UNIT, SCRIPT = TEXTS.values()
CUT = SAVE[:30000]
# A number with more digits than Python converts.
LONG = "1" * 5000
# The rules and the listing have a Service without endpoints, which is reported and is no fault of the node.
NO_FAULT = {"CHAIN032", "IPVS009"}


def failing_of(found):
    return {check: rows for check, rows in bundles.told(found, "fail").items() if check not in NO_FAULT}


def judged(tmp_path, files, **policy):
    found, evidence = bundles.judged(bundles.folder(tmp_path / "bundle", files), **policy)
    return failing_of(found), bundles.told(found, "unknown"), bundles.told(found, "pass"), evidence


@cases
def test_what_is_not_held_is_unknown_once(tmp_path, files, failing):
    failed, unknown, passed, evidence = judged(tmp_path, files)
    assert set(failed) == failing
    # Counters of one look have no verdict. A module with an install line may be built in.
    doubts = {"ct.txt": "CTRACK019", "cis.conf": "KMOD002"}
    assert set(unknown) == {"BUNDLE001", *(doubts[name] for name in doubts if name in files)}
    assert evidence["node_host"]["place"] == "bundle"
    # Nothing of which the bundle holds nothing is right.
    for section, name in (("CHAIN", "save.txt"), ("XLOCK", None), ("HOOK", "fw.sh")):
        assert name in files or not [check for check in passed if check.startswith(section)]


@pytest.mark.parametrize("name", ["save.txt", "nft.txt"])
def test_a_healthy_dump_passes_in_every_form(tmp_path, name):
    failed, _unknown, passed, evidence = judged(tmp_path, {name: sample(name)})
    assert not failed and evidence["node_iptables_chains"]["mode"] == "iptables"
    assert ("CHAIN001" in passed) is (name == "save.txt")


def test_a_dump_as_powershell_redirects_it(tmp_path):
    lines = [line for line in SAVE.splitlines()
             if not (line.startswith("-A PREROUTING ") and line.endswith("-j KUBE-SERVICES"))]
    (tmp_path / "dump.txt").write_bytes("\r\n".join(lines + [""]).encode("utf-16"))
    found, _evidence = bundles.judged(tmp_path / "dump.txt", kubernetes_version="1.36")
    assert failing_of(found).keys() == {"CHAIN001"}


@pytest.mark.parametrize("name",
                         ["kube-proxy-1.36.3-nft.txt", "kube-proxy-1.36.3-nft.json", "kube-proxy-1.36.3-nft-a.txt"])
def test_nftables_mode(tmp_path, name):
    failed, _unknown, passed, evidence = judged(tmp_path, {name: sample(name)})
    assert not failed and "CHAIN001" in passed and evidence["node_iptables_chains"]["mode"] == "nftables"
    cut = sample(name)[:len(sample(name)) // 3]
    failed, unknown, passed, _evidence = judged(tmp_path / "cut", {name: cut})
    assert not failed and set(unknown) == {"BUNDLE001"} and "CHAIN001" not in passed


def test_rules_that_are_there_in_several_forms_count_once(tmp_path):
    text = SAVE.replace("-A FORWARD", "-A FORWARD -s 10.128.0.0/14 -j DROP\n-A FORWARD", 1)
    files = {"save": text, "save-c": text, "cut": text[:30000], "nft": sample("nft.txt"), "L": sample("Lv.txt"),
             "S": sample("S-nat.txt")}
    failed, _unknown, _passed, evidence = judged(tmp_path, files)
    assert set(failed) == {"CHAIN015"} and evidence["node_iptables_chains"]["observed"] == {
        "unexpected_drop": 1, "without_endpoints": 4}
    assert (evidence["node_iptables_chains"]["rules"], evidence["node_iptables_chains"]["unread"]) == (336, [])


def test_scripts_and_units(tmp_path):
    failed, unknown, passed, evidence = judged(tmp_path, {"fw.sh": SCRIPT, "fw.service": UNIT})
    assert not failed and "HOOK002" in unknown and "HOOK001" not in passed
    assert [row["path"] for row in evidence["node_flush_hooks"]["hooks"]] == ["/usr/local/sbin/fw.sh"]


def test_lsmod_counters_backend_and_mode(tmp_path):
    files = {"lsmod.txt": LSMOD, "ct.txt": COUNTERS, "alternatives.txt": DISPLAY, "config.yaml": PROXY,
             "save.txt": SAVE}
    evidence = judged(tmp_path, files)[3]
    rows = {row["name"]: row["state"] for row in evidence["node_kernel_modules"]["modules"]}
    assert (rows["nf_conntrack"], rows["ip_vs"]) == ("loaded", "unknown")
    assert evidence["node_conntrack"]["lost"] == {"dropped": 7, "evicted": 3, "since": "boot",
                                                  "since_uptime_seconds": 0}
    assert evidence["node_iptables_backend"]["backend"] == "legacy" and evidence["node_kube_proxy"]["mode"] == "ipvs"


@cases
def test_a_configuration_of_kube_proxy_in_any_form_of_yaml(text, mode, status, tmp_path):
    section = judged(tmp_path, {"config.txt": text, "save.txt": SAVE})[3]["node_kube_proxy"]
    assert (section["mode"], section["collected"]["config"]) == (mode, status)


SOS = {"sosreport-n1/sos_commands/firewall_tables/iptables_-t_filter_-nvL": sample("Lv.txt"),
       "sosreport-n1/sos_commands/firewall_tables/iptables_-t_nat_-nvL": sample("Lv-nat.txt"),
       "sosreport-n1/sos_commands/kernel/lsmod": LSMOD, "sosreport-n1/sos_commands/kernel/sysctl_-a": SYSCTL,
       "sosreport-n1/sos_commands/kernel/dmesg": DMESG, "sosreport-n1/boot/config-6.1.0-49-amd64": CONFIG,
       "sosreport-n1/etc/sysctl.d/99-x.conf": "net.ipv4.ip_forward = 0\n", "sosreport-n1/etc/shadow": "root:x\n"}
GATHER = {"must-gather.local.1/quay-io/nodes/worker-a/" + name.rsplit("/", 1)[-1]: text for name, text in SOS.items()}


@pytest.mark.parametrize("files", [SOS, GATHER], ids=["sos", "must-gather"])
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_archives(tmp_path, mode, files):
    found, evidence = bundles.judged(bundles.archive(tmp_path / "bundle.tar", files, mode))
    assert {"CTRACK001", "CTRACK003",
            "KMOD001"} <= set(bundles.told(found, "fail")) and evidence["node_iptables_chains"]["rules"] == 335
    assert set(bundles.told(found, "unknown")) == {"BUNDLE001"}
    assert evidence["node_host"]["kernel_release"] == "6.1.0-49-amd64"


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the program zstd is not installed")
def test_zstd(tmp_path):
    path = bundles.archive(tmp_path / "bundle.tar", SOS, "w")
    subprocess.run(["zstd", "-q", str(path)], check=True)
    assert bundles.judged(str(path) + ".zst")[1]["node_iptables_chains"]["rules"] == 335


def test_zstd_without_the_program(tmp_path, monkeypatch):
    (tmp_path / "bundle.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 100)
    monkeypatch.setattr(archive.shutil, "which", lambda name: None)
    with pytest.raises(BadInput, match="packed with zstd, and the program zstd is not installed here"):
        bundles.judged(tmp_path / "bundle.tar.zst")


def test_a_single_dump_packed_or_not(tmp_path):
    (tmp_path / "save.txt.gz").write_bytes(gzip.compress(SAVE.encode()))
    (tmp_path / "save.txt").write_text(SAVE)
    for name in ("save.txt.gz", "save.txt"):
        assert bundles.judged(tmp_path / name)[1]["node_iptables_chains"]["rules"] == 335


@pytest.mark.parametrize(
    "make, message", [
        (lambda path: path / "none", "does not exist"),
        (lambda path: "/dev/null", "neither a folder nor a regular file"),
        (lambda path: bundles.folder(path, {"a.txt": "hello\n"}), "has no file of a known form"),
        (lambda path: bundles.folder(path, {"x": b"PK\3\4\0"}) / "x", "is a zip archive; unpack it"),
        (lambda path: bundles.folder(path, {"nodes/a/lsmod": LSMOD, "nodes/b/lsmod": LSMOD}), "contains several nodes"),
        (lambda path: bundles.folder(path, {"x.tar.gz": b"\x1f\x8b" + b"\0" * 30}) / "x.tar.gz",
         "has no file of a known form|could not be read"),
    ])
def test_what_is_no_bundle_is_one_sentence(tmp_path, make, message):
    with pytest.raises(BadInput, match=message) as raised:
        bundles.judged(make(tmp_path))
    assert "\n" not in str(raised.value)


def test_the_log_collector_of_eks(tmp_path):
    listing = sample("Lv-nat.txt")
    files = {"networking/iptables-nat.txt": listing + "=======\nTotal Number of Rules: 99\n",
             "cni/10-aws.conflist": '{"cniVersion": "0.4.0", "name": "aws-cni", "plugins": [{"type": "aws-cni"}]}'}
    evidence = judged(tmp_path / "eks", files)[3]
    assert evidence["node_cni"]["plugins"] == ["aws-cni"]
    alone = judged(tmp_path / "alone", {"networking/iptables-nat.txt": listing})[3]
    assert evidence["node_iptables_chains"]["unread"] == alone["node_iptables_chains"]["unread"]


def test_archives_in_a_bundle_and_binary_journals_are_named(tmp_path):
    files = {"lsmod": LSMOD, "logs.zip": b"PK\3\4\0", "var/log/journal/1/system.journal": b"LPKSHHRH\0",
             "usr/lib/firmware/a.bin.xz": b"\xfd7zXZ\0"}
    rows = [row["subject"] for row in judged(tmp_path, files)[3]["node_host"]["bundle"]["lacks"]
            if "binary journals are not read" in row["evidence"]]
    assert rows == ["logs.zip, var/log/journal/1/system.journal"]


def member(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_a_hostile_archive_writes_nothing_outside(tmp_path):
    """Links out of the tree, files through links, devices and absolute paths: whatever an archive names, the layout
    chooses the path."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.conf").write_text("net.ipv4.ip_forward = 0\n")
    hostile = [
        member("etc/sysctl.d", tarfile.SYMTYPE, str(outside)),
        member("etc/modprobe.d/x.conf", tarfile.SYMTYPE, str(outside / "secret.conf")),
        member("../../etc/sysctl.d/y.conf", tarfile.SYMTYPE, "../../../../../" + str(outside / "secret.conf")),
        member("etc/systemd/system/dev", tarfile.CHRTYPE), member("etc/systemd/system/fifo", tarfile.FIFOTYPE),
        member("etc/alternatives/iptables", tarfile.LNKTYPE, "/etc/shadow")]
    path = bundles.archive(tmp_path / "bundle.tar.gz",
                           {
                               "lsmod": LSMOD, "etc/sysctl.d/evil.conf": "net.ipv4.ip_forward = 1\n",
                               "/etc/cron.d/evil": "* * * * * root true\n",
                               "../" * 12 + str(outside)[1:] + "/etc/sysctl.d/evil2.conf": "x = 1\n",
                               "alternatives.txt": "../../.kubenode-bundle/record.json - auto mode\n  link currently "
                                                   "points to %s/nft\n" % outside}, members=hostile)
    with tempfile.TemporaryDirectory() as folder:
        _bundle_tree.lay_out(str(path), folder)
        made = {str(pathlib.Path(place, name)) for place, _folders, names in os.walk(folder) for name in names}
        assert (sorted(os.listdir(outside)) == ["secret.conf"]
                and (outside / "secret.conf").read_text() == "net.ipv4.ip_forward = 0\n")
        assert all(name.startswith(folder + "/") for name in made) and not os.path.islink(folder + "/etc/sysctl.d")
        assert {os.readlink(name) for name in made if name.endswith(("/dev", "/fifo"))} == {_names.BUNDLE_UNREAD}
        assert os.path.isfile(folder + "/.kubenode-bundle/record.json")
        assert not os.path.islink(folder + "/.kubenode-bundle/record.json")
    evidence = bundles.judged(path)[1]
    by = {row["key"]: row["assigned_by"] for row in evidence["node_conntrack"]["sysctls"]}
    assert by["net.ipv4.ip_forward"] == "/etc/sysctl.d/evil.conf:1"


def test_the_tree_is_private_and_goes_away(tmp_path):
    with _bundle.opened(str(bundles.folder(tmp_path, {"lsmod": LSMOD}))) as tree:
        assert os.stat(tree["root"]).st_mode & 0o077 == 0 and os.path.isfile(tree["root"] + "/proc/modules")
    assert not os.path.exists(tree["root"])


@cases
def test_what_a_bundle_is_not_judged_with(arguments, transport, message):
    with pytest.raises(BadInput, match=message):
        _bundle.check(arguments, transport)


@pytest.mark.parametrize("text", ["", "x\n", "-A -t x:y -s rr\n-a -t x:y -r z:1\n", "-A -t 10.0.0.1:99999999 -s rr\n",
                                  "cpu=0 drop=\n", "create a\n", "\0\n", "a - auto mode\n", "-A -f \u00b2 -s rr\n",
                                  "1: lo: <UP> mtu 1\n    inet6 ::::1/64 scope host\n", '"__name__": "kubeproxy_x"\n',
                                  "cpu=0 drop=%s\n-A -f %s -s rr\n" % (LONG, LONG), "Name: a\nMembers:\n",
                                  "Prot LocalAddress:Port Scheduler Flags\nFWM  %s rr\n" % LONG])
@pytest.mark.parametrize("convert", [_bundle_texts.proc_modules, _bundle_texts.nf_conntrack_stat, _bundle_texts.sysctls,
                                     _bundle_texts.ip_vs, _bundle_texts.ipset_list, _bundle_texts.kernel_log,
                                     _bundle_texts.alternatives, _bundle_texts.alternatives_state,
                                     _bundle_texts.FILES["addresses"], _bundle_texts.FILES["routes"],
                                     _bundle_texts.metrics, _bundle_texts.healthz,
                                     _bundle_texts.checked_config, proxy_config.config_of_flags,
                                     proxy_config.config_of_configz, _bundle_texts.conntrack_of_metrics])
def test_texts_that_say_nothing(convert, text):
    convert(text)


@pytest.mark.parametrize("shown", [
    {"Mode": "ipvs", "ClusterCIDR": "10.0.0.0/16", "Conntrack": {"MaxPerCore": 0, "Min": 9},
     "IPVS": {"Scheduler": "rr"}},
    {"mode": "ipvs", "detectLocal": {"clusterCIDRs": ["10.0.0.0/16"]}, "ipvs": {"scheduler": "rr"},
     "linux": {"conntrack": {"maxPerCore": 0, "min": 9}}}])
def test_configz_is_the_configuration_with_which_kube_proxy_runs(shown):
    text = "HTTP/1.1 200 OK\n\n%s\n$ " % json.dumps({"kubeproxy.config.k8s.io": shown})
    fields = parse_kube_proxy_config(proxy_config.config_of_configz(text)[1]).fields
    assert (fields["mode"], fields["cluster_cidr"], fields["scheduler"]) == ("ipvs", "10.0.0.0/16", "rr")
    assert fields["conntrack"] == {"maxPerCore": "0", "min": "9"}


def test_sets_are_listed_with_their_numbers_of_entries():
    old = "Name: A\nType: hash:ip,port\nHeader: maxelem 65536\nMembers:\n10.96.0.1,tcp:443\n10.96.0.10,udp:53\n\n"
    new = "Name: B\nType: hash:ip\nHeader: maxelem 9\nNumber of entries: 7\nMembers:\n10.0.0.1\n"
    assert parse_ipset_list(_bundle_texts.ipset_list(old + new)) == [
        {"name": "A", "entries": 2, "size_limit": 65536}, {"name": "B", "entries": 7, "size_limit": 9}]


def test_names_of_sysctls():
    assert _bundle_texts.sysctls("net.ipv4.conf.eth0/100.rp_filter = 2\nnet.ipv4.tcp_rmem = 4096\t131072\n") == {
        "net/ipv4/conf/eth0.100/rp_filter": "2", "net/ipv4/tcp_rmem": "4096\t131072"}


@cases
def test_a_bundle_of_one_file_passes_no_check_about_another(tmp_path, path, text, passed):
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    with _bundle.opened(str(tmp_path)) as tree:
        findings = whole_nodes.judged(BundleHost(tree["root"]), list(whole_nodes.CHECKS.values()), "bundle")
    assert [row["check"] for row in findings if row["status"] == "pass"] == passed
