# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which texts are worth parsing at all."""

import pytest

import hook_corpus
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.words import WORDS, folders_started, mentions


@pytest.mark.parametrize("text", [text for text in hook_corpus.one_liners("hooks")
                                  if any(word in text.encode() for word in WORDS)])
def test_a_hook_with_such_a_word_is_meant(text):
    assert mentions(text.encode())


@pytest.mark.parametrize(
    "text", [
        "iptables -F", "/usr/sbin/ip6tables -X", "ip{,6}tables -F", "ip${SIX}tables -F", '"ip"tables -F',
        "tables=iptables", "t=tables; ip$t -F", "ebtables -F", "arptables -F", "xtables-nft-multi iptables -F",
        "nftables", "ipXtables -F", "for t in tables 6tables; do ip$t -F; done", "$IPT -F", "${IPT6} -F",
        "SCRIPT_IPT=1", "# executables\niptables -F", "tablespaces; iptables -F", "for IPTABLES in a b; do :; done",
        "modprobe -r iptable_nat", "modprobe -ar iptable_nat", "modprobe --remove ip_tables", "modprobe\t-r x",
        "OPTIONS='-r'; modprobe $OPTIONS x", 'run(["modprobe", "-r", "ip_tables"])',
        'printf "modprobe\\t-r ip_tables" | sh', "rmmod ip_tables", "kube-proxy --cleanup",
        "kube-proxy --cleanup-iptables", "kube-proxy --cleanup=true", "ufw disable", "ipset flush", "ipvsadm -C"])
def test_what_may_change_the_firewall(text):
    assert mentions(text.encode())


@pytest.mark.parametrize(
    "text", [
        "echo routing tables", "print(\n tables)", "check the executables", "CREATE TABLE; temp_tablespaces = x",
        "DESCRIPTION=x", "SCRIPTNAME=$0", "INIT_D_SCRIPT_SOURCED=true", "After=modprobe@drm.service",
        "modprobe -abq drm", "/sbin/modprobe overlay # non-root", "modprobe br_netfiter", "udevadm info --cleanup-db",
        "echo hello"])
def test_everyday_words(text):
    assert not mentions(text.encode())


@pytest.mark.parametrize(
    "text, folders", [
        ("true", []), ("run-parts /etc/a", [b"/etc/a"]),
        ("$(run-parts --lsbsysinit --list /lib/lsb/functions.d 2>/dev/null)", [b"/lib/lsb/functions.d"]),
        ("cd / && run-parts --report --regex='\\.sh$' /etc/cron.hourly; x", [b"/etc/cron.hourly"]),
        ("`run-parts /a/b`", [b"/a/b"]), ("run-parts /etc/a\nrun-parts \"$2\"", None), ("run-parts $folder", None),
        ("run-parts /etc/cron.$1", None), ("run-parts -a start /etc/a", None), ("run-parts \"/etc/a\"", None),
        ("test -x /bin/run-parts && run-parts /etc/a", None), ("run-parts", None), ("run-parts relative", None)])
def test_folders_whose_programs_are_started(text, folders):
    assert folders_started(text.encode()) == folders
