# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules as iptables -nvL prints them, and as iptables-save prints the same rules: outputs of iptables 1.8.9."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import listing

HEAD = " pkts bytes target     prot opt in     out     source               destination"
# (target, protocol and the phrases of a rule, the rule); what -L leaves out is left out of the rule, too.
PRINTED = [
    ("REJECT 6 ... tcp flags:0x17/0x02 #conn src/32 > 60 reject-with icmp-port-unreachable",
     "-A FORWARD -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -m connlimit --connlimit-above 60 "
     "--connlimit-mask 32 --connlimit-saddr -j REJECT --reject-with icmp-port-unreachable"),
    ("DROP 0 ... limit: above 5/sec burst 10 mode srcip",
     "-A FORWARD -m hashlimit --hashlimit-above 5/sec --hashlimit-burst 10 --hashlimit-mode srcip -j DROP"),
    ("DROP 0 ... source IP range 10.0.0.1-10.0.0.9",
     "-A FORWARD -m iprange --src-range 10.0.0.1-10.0.0.9 -j DROP"),
    ("DROP 0 ... destination IP range ! 10.0.0.1-10.0.0.9",
     "-A FORWARD -m iprange ! --dst-range 10.0.0.1-10.0.0.9 -j DROP"),
    ("DROP 0 ... connmark match 0x1/0xf",
     "-A FORWARD -m connmark --mark 0x1/0xf -j DROP"),
    ('DROP 0 ... STRING match "foo" ALGO name bm',
     '-A FORWARD -m string --string "foo" --algo bm -j DROP'),
    ("DROP 0 ... length 0:100",
     "-A FORWARD -m length --length 0:100 -j DROP"),
    ("DROP 0 ... ctorigdst 10.96.0.1 ctorigdstport 443",
     "-A FORWARD -m conntrack --ctorigdst 10.96.0.1 -m conntrack --ctorigdstport 443 -j DROP"),
    ("DROP 0 ... MAC 00:11:22:33:44:55",
     "-A FORWARD -m mac --mac-source 00:11:22:33:44:55 -j DROP"),
    ("DROP 0 ... TIME from 01:00:00 to 02:00:00 UTC",
     "-A FORWARD -m time --timestart 01:00:00 --timestop 02:00:00 -j DROP"),
    ("DROP 0 ... TTL match TTL < 2",
     "-A FORWARD -m ttl --ttl-lt 2 -j DROP"),
    ('DROP 0 ... u32 "0x6&0xff=0x1"',
     '-A FORWARD -m u32 --u32 "0x6&0xff=0x1" -j DROP'),
    ("DROP 0 ... quota: 1000 bytes",
     "-A FORWARD -m quota --quota 1000 -j DROP"),
    ("DROP 0 ... DSCP match 0x0a",
     "-A FORWARD -m dscp --dscp 0x0a -j DROP"),
    ('DROP 0 ... helper match "ftp"',
     "-A FORWARD -m helper --helper ftp -j DROP"),
    ("DROP 0 ... PKTTYPE = broadcast",
     "-A FORWARD -m pkttype --pkt-type broadcast -j DROP"),
    ("DROP 0 ... recent: SET name: DEFAULT side: source mask: 255.255.255.255",
     "-A FORWARD -m recent --set --name DEFAULT --mask 255.255.255.255 --rsource -j DROP"),
    ("NFQUEUE 0 ... NFQUEUE num 0",
     "-A FORWARD -j NFQUEUE --queue-num 0"),
    ("NFQUEUE 0 ... NFQUEUE balance 0:3 bypass",
     "-A FORWARD -j NFQUEUE --queue-balance 0:3 --queue-bypass"),
    ("NFLOG 0 ... nflog-prefix hello nflog-group 5",
     "-A FORWARD -j NFLOG --nflog-prefix hello --nflog-group 5"),
    ('DROP 17 ... u32 "0x0=0x1"',
     '-A FORWARD -p udp -m u32 --u32 "0x0=0x1" -j DROP'),
    ("DROP 0 ... statistic mode nth every 2",
     "-A FORWARD -m statistic --mode nth --every 2 -j DROP"),
    ("DROP 0 ... connbytes 100 connbytes mode bytes connbytes direction both",
     "-A FORWARD -m connbytes --connbytes 100 --connbytes-mode bytes --connbytes-dir both -j DROP"),
    ("DROP 50 ... esp spi:5",
     "-A FORWARD -p esp -m esp --espspi 5 -j DROP"),
    ("DROP 0 ... policy match dir in pol ipsec proto 50",
     "-A FORWARD -m policy --dir in --pol ipsec -j DROP"),
    ("DROP 0 ... owner UID match 1000 owner GID match 5",
     "-A OUTPUT -m owner --uid-owner 1000 -m owner --gid-owner 5 -j DROP"),
    ("DROP 0 ... cgroup 5",
     "-A OUTPUT -m cgroup --cgroup 5 -j DROP"),
    ("DROP 1 ... icmptype 8",
     "-A OUTPUT -p icmp -m icmp --icmp-type 8 -j DROP"),
    ("DROP 6 ... tcp spt:!5",
     "-A OUTPUT -p tcp -m tcp ! --sport 5 -j DROP"),
    ("TPROXY 6 ... TPROXY redirect 0.0.0.0:123 mark 0x1/0x1",
     "-A PREROUTING -p tcp -j TPROXY --on-port 123 --on-ip 0.0.0.0 --tproxy-mark 0x1/0x1"),
    ("TTL 0 ... TTL set to 64",
     "-A PREROUTING -j TTL --ttl-set 64"),
    ("CONNMARK 0 ... CONNMARK save",
     "-A FORWARD -j CONNMARK --save-mark"),
    ("CONNMARK 0 ... CONNMARK restore mask 0xff",
     "-A FORWARD -j CONNMARK --restore-mark --mask 0xff"),
    ("CONNMARK 0 ... CONNMARK set 0x1",
     "-A FORWARD -j CONNMARK --set-xmark 0x1/0xffffffff"),
    ("MARK 0 ... MARK and 0x0",
     "-A FORWARD -j MARK --set-xmark 0x0/0xffffffff"),
    ("DSCP 0 ... DSCP set 0x0a",
     "-A POSTROUTING -j DSCP --set-dscp 0x0a"),
    ("CLASSIFY 0 ... CLASSIFY set 1:10",
     "-A POSTROUTING -j CLASSIFY --set-class 1:10"),
    ("CHECKSUM 17 ... CHECKSUM fill",
     "-A POSTROUTING -p udp -j CHECKSUM --checksum-fill"),
    ("CT 6 ... CT helper ftp",
     "-A PREROUTING -p tcp -j CT --helper ftp"),
    ("CT 6 ... CT notrack",
     "-A PREROUTING -p tcp -j CT --notrack"),
    ("NETMAP 0 -- * * 10.0.0.0/8 0.0.0.0/0 to:10.9.0.0/16",
     "-A POSTROUTING -s 10.0.0.0/8 -j NETMAP --to 10.9.0.0/16"),
]


@pytest.mark.parametrize("printed, rule", PRINTED)
def test_phrases(printed, rule):
    line = "    0     0 " + printed.replace(" ... ", " --  *      *       0.0.0.0/0            0.0.0.0/0            ")
    told = listing.save_text_of(["Chain %s (policy ACCEPT 0 packets, 0 bytes)" % rule.split()[1], HEAD, line])
    assert (told.rules, told.unread) == ([rule], [])


def test_a_phrase_that_is_not_known_is_not_read():
    told = listing.save_text_of(["Chain FORWARD (policy ACCEPT 0 packets, 0 bytes)", HEAD, "    0     0 DROP       "
                                 "0    --  *      *       0.0.0.0/0            0.0.0.0/0            made up words"])
    assert not told.rules and len(told.unread) == 1


SERVICES = ["Chain KUBE-SERVICES (2 references)", "target     prot opt source               destination",
            "KUBE-SVC-A  tcp  --  anywhere  10.96.0.1  /* default/kubernetes:https cluster IP */%s",
            "KUBE-NODEPORTS  all  --  anywhere  anywhere  /* kubernetes service nodeports; NOTE: this must be the last "
            "rule in this chain */%s"]


def test_a_listing_whose_lines_have_lost_their_ends_is_not_read():
    whole = listing.save_text_of([SERVICES[0], SERVICES[1], SERVICES[2] % " tcp dpt:443",
                                  SERVICES[3] % " ADDRTYPE match dst-type LOCAL"])
    assert len(whole.rules) == 2 and not whole.unread
    cut = listing.save_text_of([SERVICES[0], SERVICES[1], SERVICES[2] % "", SERVICES[3] % ""])
    assert not cut.rules and len(cut.unread) == 2


@pytest.mark.parametrize("columns, whole", [([HEAD, ""], True), ([], False)], ids=["listed", "picked out by grep"])
def test_headings_of_chains_alone_are_no_whole_table(columns, whole):
    lines = [line for chain in ("INPUT (policy ACCEPT)", "FORWARD (policy DROP)", "OUTPUT (policy ACCEPT)")
             for line in ["Chain " + chain, *columns]]
    assert listing.save_text_of(lines).whole == whole
