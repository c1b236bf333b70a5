# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What firewall services do, by their settings; the section's tests show the rest in trees."""

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._script.service_settings import (
    firewalld_settings, savers, ufw_settings)
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.services import (
    acts_of_verb, known_program, settings_of)

RULES = "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"
IPTABLES_INIT, PERSISTENT, UFW = ("/usr/libexec/iptables/iptables.init", "/usr/sbin/netfilter-persistent",
                                  "/lib/ufw/ufw-init")


def acts(program, argument, files):
    """[(sort, tables, line of the setting)] of a program with these files."""
    return [(act.effect.sort, list(act.effect.tables), act.line) for act in known_program(program)(argument, files.get)]


@cases
def test_settings(text, expected):
    assert settings_of(text) == expected


@cases
def test_iptables_of_rhel(argument, expected):
    assert acts(IPTABLES_INIT, argument, {"/etc/sysconfig/iptables": RULES}) == expected


@pytest.mark.parametrize("files", [{}, {"/etc/sysconfig/iptables": "# none\n"}])
def test_iptables_of_rhel_without_rules(files):
    assert acts(IPTABLES_INIT, "start", files) == []


@cases
def test_netfilter_persistent(argument, settings, expected):
    files = {"/etc/default/netfilter-persistent": settings, "/etc/iptables/rules.v4": RULES}
    assert acts(PERSISTENT, argument, files) == expected


def test_only_plugins_that_are_there():
    files = {"/usr/share/netfilter-persistent/plugins.d/15-ip4tables":
             "#!/bin/sh\niptables-restore --test < x\niptables-restore < x\n"}
    assert acts(PERSISTENT, "flush", files) == [("flush", ["*"], 0)]
    assert acts(PERSISTENT, "start", dict(files, **{"/etc/iptables/rules.v4": RULES})) == [("restore", ["filter"], 3)]


@cases
def test_ufw(argument, conf, default, tables):
    found = acts(UFW, argument, {"/etc/ufw/ufw.conf": conf, "/etc/default/ufw": default})
    assert [tables_of for _sort, tables_of, _line in found] == tables


@pytest.mark.parametrize("auto, argument, number",
                         [("true", "start", 1), ("true", "stop", 1), ("false", "start", 0), ("true", "save", 0)])
def test_ipvsadm_of_debian(auto, argument, number):
    files = {"/etc/default/ipvsadm": "# x\nAUTO=\"%s\"\n" % auto}
    assert acts("/etc/init.d/ipvsadm", argument, files) == [("ipvs", ["*"], 2)] * number


@cases
def test_what_a_firewall_is_asked_by_its_own_command(unit, verb, argument):
    files = {"/etc/ufw/ufw.conf": "ENABLED=yes\n", "/etc/default/ufw": "MANAGE_BUILTINS=yes\n"}
    found = acts_of_verb(unit, verb, files.get)
    assert (None if found is None else [list(act.effect.tables) for act in found]) == argument


def test_other_programs_are_not_known():
    assert [path for path in ("/usr/sbin/iptables", "/usr/sbin/ufw", "/opt/firewalld.sh", "/usr/bin/netfilter")
            if known_program(path)] == []


def test_settings_that_are_told():
    assert firewalld_settings({}.get) is None and ufw_settings({}.get) is None
    assert firewalld_settings({"/etc/firewalld/firewalld.conf": "CleanupOnExit=no\n",
                               "/etc/firewalld/direct.xml": "<direct><rule/><chain/></direct>"}.get) == {
                                   "backend": "nftables", "flush_all_on_reload": True, "cleanup_on_exit": False,
                                   "direct_rules": 2, "forward": None, "forward_by": None}
    assert ufw_settings({"/etc/default/ufw": "IPV6=yes\n", "/etc/ufw/ufw.conf": "ENABLED=yes\n"}.get) == {
        "enabled": True, "manage_builtins": False, "ipv6": True, "forward_policy": None, "forward_by": None,
        "routes": False}


@pytest.mark.parametrize("rules, routes", [
    ("-A ufw-before-forward -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n"
     "-A ufw-before-forward -p icmp --icmp-type echo-request -j ACCEPT\n-A ufw-before-input -i lo -j ACCEPT\n", False),
    ("-A ufw-user-forward -p tcp -d 192.0.2.9 --dport 80 -j ACCEPT\n", False),
    ("-A ufw-user-forward -s 10.244.0.0/16 -j ACCEPT\n", True), ("-A ufw6-user-forward -j ACCEPT\n", True)])
def test_routes_of_ufw(rules, routes):
    found = ufw_settings({"/etc/default/ufw": "IPV6=yes\nDEFAULT_FORWARD_POLICY=\"drop\"\n",
                          "/etc/ufw/before.rules": rules}.get)
    assert (found["forward_policy"], found["forward_by"], found["routes"]) == ("DROP", "/etc/default/ufw:2", routes)


@pytest.mark.parametrize("files, forward", [
    ({"/usr/lib/firewalld/zones/public.xml": "<zone>\n<service name=\"ssh\"/>\n</zone>"}, False),
    ({"/usr/lib/firewalld/zones/public.xml": "<zone><forward/></zone>"}, None),
    ({"/usr/lib/firewalld/zones/public.xml": "<zone>\n<masquerade/>\n</zone>"}, None),
    ({"/usr/lib/firewalld/zones/public.xml": "<zone><forward/></zone>",
      "/etc/firewalld/zones/trusted.xml": "<zone target='ACCEPT'><source address=\"10.244.0.0/16\"/></zone>"}, True),
    ({"/usr/lib/firewalld/zones/public.xml": "<zone></zone>", "/etc/firewalld/zones/site.xml.old": "<source/>"}, False),
    ({"/usr/lib/firewalld/zones/public.xml": "<!-- <zone> " * 100000}, False),
    ({"/usr/lib/firewalld/zones/public.xml": "<zone " * 100000}, False),
    ({"/usr/lib/firewalld/zones/public.xml": "<zone><!-- <forward/> --></zone>"}, False),
    ({"/usr/lib/firewalld/zones/public.xml": "<zone><forward/></zone>",
      "/etc/firewalld/zones/public.xml": "<zone></zone>"}, False),
    ({"/etc/firewalld/zones/public.xml": "<zone target=\"ACCEPT\"></zone>"}, True),
    ({"/etc/firewalld/zones/public.xml": "<zone></zone>",
      "/etc/firewalld/zones/site.xml": "<zone><source address=\"10.244.0.0/16\"/></zone>"}, None),
    ({}, None)])
def test_zones_of_firewalld(files, forward):
    texts = dict(files, **{"/etc/firewalld/firewalld.conf": "DefaultZone=public\n"})
    found = firewalld_settings(texts.get, lambda folder: [path.rpartition("/")[2] for path in texts
                                                          if path.rpartition("/")[0] == folder])
    assert found["forward"] is forward
    unseen = firewalld_settings(texts.get, lambda folder: None)
    assert unseen["forward"] in (None, forward) and unseen["forward"] is not False


def test_a_default_zone_names_no_file_of_another_folder():
    read = {"/etc/firewalld/firewalld.conf": "DefaultZone=../../srv/x\n",
            "/etc/firewalld/zones/../../srv/x.xml": "<zone/>"}
    assert firewalld_settings(read.get)["forward_by"] is None


def test_who_saves():
    files = {"/etc/sysconfig/iptables-config": "IPTABLES_SAVE_ON_STOP=\"yes\"\nIPTABLES_SAVE_ON_RESTART=\"yes\"\n",
             "/etc/sysconfig/ip6tables-config": "IP6TABLES_SAVE_ON_STOP=\"no\"\n"}
    assert savers(files.get) == [("/etc/sysconfig/iptables", "/etc/sysconfig/iptables-config:1"),
                                 ("/etc/sysconfig/iptables", "/etc/sysconfig/iptables-config:2")]
