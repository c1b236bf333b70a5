# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of iptables-nft-save from while the rules change is read again before it is used."""

import json
import os
import subprocess
import sys

import chain_texts as texts
import pytest
from fake_tools import LIVE, LOADED, NO_RULES, tools, unpacked
from node_processes import needs_root, python_path

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules import rule_sets
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.rule_sets import read_live

LEGACY = {"proc/net/ip_tables_names": "filter\n", "proc/net/ip6_tables_names": ""}
HEALTHY = texts.healthy()
TORN = {
    "rules twice": HEALTHY.replace(texts.SNAT, "%s\n%s" % (texts.SNAT, texts.SNAT)),
    "incompatible base-chains": HEALTHY
    + "# Table `nat' contains incompatible base-chains, use 'nft' tool to list them.\n",
    "an incompatible table": HEALTHY[:HEALTHY.rindex("*nat")] + "# Table `nat' is incompatible, use 'nft' tool.\n",
    "no rules of a Service": "\n".join(line for line in HEALTHY.split("\n")
                                       if not line.startswith("-A %s " % texts.SVC)),
    "no jumps": "\n".join(line for line in HEALTHY.split("\n") if not line.startswith(("-A PREROUTING", "-A OUTPUT"))),
    "no table nat": HEALTHY[:HEALTHY.rindex("# Generated")],
}
# Run n prints the file dump<n>; all later runs print the last file.
IN_TURN = ('case $name in iptables*) cd "${0%/*}"; n=$(($(cat n) + 1)); echo $n > n; while [ ! -e dump$n ]; do n=$((n '
           '- 1)); done; cat dump$n;; esac')


def read_of(rules):
    """The rule sets that were read: family, notices, unreadable parts, and the rule counts of each table."""
    return [(found.family, found.notices, found.unreadable,
             {name: table.rule_counts() for name, table in found.tables.items()}) for found in rules.rule_sets]


def in_turn(tmp_path, *dumps):
    printed = {"usr/sbin/dump%d" % number: text for number, text in enumerate(dumps, 1)}
    return unpacked(tmp_path, LOADED, tools(IN_TURN), printed, {"usr/sbin/n": "0\n", "proc/net/ip_tables_names": ""})


@pytest.mark.parametrize("torn", sorted(TORN))
def test_a_torn_save_is_read_again_before_it_is_believed(torn, tmp_path):
    sound = read_live(in_turn(tmp_path / "sound", HEALTHY), LIVE)
    host = in_turn(tmp_path / "torn", TORN[torn], HEALTHY)
    rules = read_live(host, LIVE)
    assert (read_of(rules), rules.unread, rules.notices) == (read_of(sound), [], [])
    assert [name.rsplit("/", 1)[-1] for name in host.ran] == ["iptables-nft-save"] * 2 + ["ip6tables-nft-save"]


@pytest.mark.parametrize("damage", sorted(TORN))
def test_what_two_readings_in_a_row_show_is_there(damage, tmp_path):
    host = in_turn(tmp_path, TORN[damage])
    rules = read_live(host, LIVE)
    assert rules.collected["nft_ipv4"] == "ok" and len(host.ran) == 3
    assert read_of(rules) != read_of(read_live(in_turn(tmp_path / "sound", HEALTHY), LIVE))


def test_under_constant_change_nothing_is_believed(tmp_path):
    names = ["rules twice", "no jumps"] * rule_sets.READINGS
    host = in_turn(tmp_path, *[TORN[name] for name in names])
    rules = read_live(host, LIVE)
    assert (rules.collected["nft_ipv4"], len(host.ran)) == ("unparsed", rule_sets.READINGS + 1)
    assert [row["evidence"] for row in rules.unread] == [
        "the rules changed during each reading with iptables-nft-save; run it again later"]
    assert [found.family for found in rules.rule_sets] == ["ipv6"]


def test_a_sound_save_and_the_legacy_backend_are_read_once(tmp_path):
    damaged = tools(NO_RULES, 'case $name in iptables*) cat "${0%/*}/dump";; esac')
    host = unpacked(tmp_path, LOADED, LEGACY, damaged, {"usr/sbin/dump": TORN["rules twice"]})
    read_live(host, LIVE)
    assert [name.rsplit("/", 1)[-1] for name in host.ran] == ["iptables-nft-save", "ip6tables-nft-save",
                                                              "iptables-legacy-save"]
    once = in_turn(tmp_path / "once", HEALTHY)
    read_live(once, LIVE)
    assert len(once.ran) == 2


WRITER = """
iptables-nft-restore < dump
while :; do iptables-nft-restore < dump; done &
"$1" -c "$2" > readings || failed=1
kill $!
exit ${failed:-0}
"""
READER = """
import json
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import host as _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.setting import Setting
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.rule_sets import read_live
said = []
for _number in range(30):
    rules = read_live(_host.Host("/"), {"place": "live"})
    found = ask(rules.rule_sets, lambda rule_set: Setting(rule_set.family, rule_set.backend, "iptables", (1, 30), None, {}))[0]
    chains = sum(len(table.chains) for rows in rules.rule_sets for table in rows.tables.values())
    said.append([rules.collected["nft_ipv4"], chains, [row["kind"] for row in found]])
print(json.dumps(said))
"""


@needs_root
def test_beside_a_real_program_that_replaces_the_rules_all_the_time(tmp_path):
    """Each reading is a whole rule set or unknown; the writer never pauses, and each of its transactions is healthy."""
    (tmp_path / "dump").write_text(HEALTHY)
    done = subprocess.run(["unshare", "-n", "sh", "-c", WRITER, "sh", sys.executable, READER], cwd=str(tmp_path),
                          timeout=240, check=True,
                          env=dict(os.environ, PYTHONPATH=python_path(), XTABLES_LOCKFILE=str(tmp_path / "lock")),
                          stdout=subprocess.DEVNULL)
    readings = json.loads((tmp_path / "readings").read_text())
    assert done.returncode == 0 and len(readings) == 30
    for status, chains, kinds in readings:
        assert (status, kinds) in (("ok", []), ("unparsed", [])) and (chains == HEALTHY.count("\n:") or status != "ok")
    assert [status for status, _chains, _kinds in readings].count("ok") > 0
