# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual servers compared with kube-proxy's ipsets, by readings."""

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import ABSENT, OK, Completed
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs import servers as ipvs_servers
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_ip_vs import VirtualServer

WEB, DNS, SIX = ("10.96.0.3", 80, "tcp"), ("10.96.0.10", 53, "udp"), ("fd00:96::3", 80, "tcp")
NODE_PORT = ("192.0.2.10", 30080, "tcp")
QUIET = {"starting": None, "sync": [{"waiting": False}]}
BUSY = {"starting": None, "sync": [{"waiting": False}, {"waiting": True}]}


def reading(servers, entries, own=(WEB, DNS, SIX), whole=True):
    return ipvs_servers.Reading([VirtualServer("ipv4", *key, None, "rr", []) for key in servers],
                                {key[0] for key in own}, set(entries), whole)


def compared(first, again=None, kube_proxy=None):
    slept = []
    found = ipvs_servers.compare(first, lambda: again or first, QUIET if kube_proxy is None else kube_proxy,
                                 slept.append)
    return found, slept


ALL = [WEB, DNS, SIX]


@pytest.mark.parametrize("first, servers, entries, examples", [
    (reading([*ALL, NODE_PORT], ALL), 0, 0, []),
    (reading([WEB, DNS], ALL), 1, 0, ["fd00:96::3 80 tcp"]),
    (reading([], ALL), 3, 0, ["10.96.0.10 53 udp", "10.96.0.3 80 tcp", "fd00:96::3 80 tcp"]),
    (reading(ALL, []), 0, 3, ["10.96.0.10 53 udp", "10.96.0.3 80 tcp", "fd00:96::3 80 tcp"]),
    (reading(ALL, [WEB, SIX]), 0, 1, ["10.96.0.10 53 udp"]),
    # Without kube-ipvs0 nothing shows which servers are kube-proxy's; another check reports the interface.
    (reading(ALL, [WEB], own=()), 0, 0, [])])
def test_what_is_missing(first, servers, entries, examples):
    found, slept = compared(first)
    assert (found["missing_servers"], found["missing_entries"], found["examples"], found["because"]) == (
        servers, entries, examples, "")
    assert bool(slept) == bool(examples)


@pytest.mark.parametrize("again", [reading(ALL, ALL), reading([WEB, SIX], [WEB, SIX])])
def test_a_service_that_comes_or_goes_between_two_reads_is_not_missing(again):
    found, _slept = compared(reading(ALL, [WEB, SIX]), again)
    assert (found["missing_servers"], found["missing_entries"]) == (0, 0)


@cases
def test_a_difference_during_a_sync_is_not_known(kube_proxy, because):
    found, slept = compared(reading(ALL, []), kube_proxy=kube_proxy)
    assert (found["missing_entries"], found["because"], slept) == (None, because, [])
    assert compared(reading(ALL, ALL), kube_proxy=kube_proxy)[0]["missing_entries"] == 0


@pytest.mark.parametrize("first, again, because", [
    (ipvs_servers.Reading(None, None, set(), True), None,
     "/proc/net/ip_vs and the addresses of kube-ipvs0 could not be read"),
    (reading(ALL, []), ipvs_servers.Reading(None, set(), set(), True), "a second reading failed")])
def test_what_cannot_be_read_is_not_known(first, again, because):
    found, _slept = compared(first, again)
    assert (found["entries"], found["missing_servers"], found["because"]) == (None, None, because)


def test_without_ipset_an_address_without_a_virtual_server_shows_that_some_are_missing():
    whole = reading(ALL, ALL)._replace(entries=None)
    found, _slept = compared(whole)
    assert (found["missing_servers"], found["missing_entries"], found["because"]) == (
        0, None, "the ipsets of kube-proxy could not be read")
    found, _slept = compared(reading([WEB, SIX], ())._replace(entries=None))
    assert (found["missing_servers"], found["examples"]) == (1, ["10.96.0.10"])


@pytest.mark.parametrize("entries", [ALL, None])
def test_a_list_that_may_leave_out_virtual_servers_shows_none_as_missing(entries):
    part = reading([WEB], entries or (), whole=False)._replace(entries=entries and set(entries))
    found, _slept = compared(part)
    assert (found["missing_servers"], found["missing_entries"]) == (None, None) and "become" in found["because"]
    # One list that is whole settles it, and so does one in which nothing is missing.
    assert compared(part, part._replace(whole=True))[0]["missing_servers"] == 2
    assert compared(reading(ALL, ALL, whole=False))[0]["missing_servers"] == 0
    assert compared(reading(ALL, [WEB], whole=False))[0]["missing_entries"] == 2


class Sets:
    def __init__(self, answers, commands=True):
        self.answers, self.asked, self.commands = answers, [], commands

    def run(self, argv, _timeout, _limit):
        self.asked.append(argv[2])
        return self.answers.get(argv[2], Completed(ABSENT))


def test_the_sets_that_hold_services_are_read():
    names = ["KUBE-6-CLUSTER-IP", "KUBE-CLUSTER-IP", "KUBE-LOAD-BALANCER", "KUBE-LOAD-BALANCER-FW", "KUBE-LOOP-BACK",
             "KUBE-EXTERNAL-IP"]
    rows = [{"name": name, "entries": 0 if name == "KUBE-EXTERNAL-IP" else 1} for name in names]
    host = Sets({"KUBE-6-CLUSTER-IP": Completed(OK, 0, "add KUBE-6-CLUSTER-IP fd00:96:0::3,tcp:80\n"),
                 "KUBE-CLUSTER-IP": Completed(OK, 0, "create KUBE-CLUSTER-IP hash:ip,port family inet\n"
                                                     "add KUBE-CLUSTER-IP 10.96.0.10,udp:53 timeout 0\n"),
                 "KUBE-LOAD-BALANCER": Completed(OK, 0, "add KUBE-LOAD-BALANCER 10.96.0.3,tcp:80\n")})
    assert ipvs_servers.entries_of(host, rows, 1000) == ({WEB, DNS, SIX}, ("ipv4", "ipv6"), ())
    assert host.asked == names[:3]
    host.answers["KUBE-LOAD-BALANCER"] = Completed(OK, 1, "")
    assert ipvs_servers.entries_of(host, rows, 1000) is None


PORT, PORT_6 = ("KUBE-NODE-PORT-TCP", 30080, "tcp"), ("KUBE-6-NODE-PORT-TCP", 30080, "tcp")
EXTERNAL = ("192.0.2.200", 80, "tcp")


@pytest.mark.parametrize("servers, entries, missing", [
    ([*ALL, NODE_PORT], [*ALL, PORT], []), (ALL, [*ALL, PORT], ["KUBE-NODE-PORT-TCP 30080 tcp"]),
    # Of the other protocol, of the other family.
    ([*ALL, NODE_PORT[:2] + ("udp",)], [*ALL, PORT], ["KUBE-NODE-PORT-TCP 30080 tcp"]),
    ([*ALL, NODE_PORT], [*ALL, PORT_6], ["KUBE-6-NODE-PORT-TCP 30080 tcp"]),
    ([*ALL, ("fd00::10", 30080, "tcp")], [*ALL, PORT_6], [])])
def test_a_node_port_needs_a_virtual_server_at_any_address(servers, entries, missing):
    found, _slept = compared(reading(servers, entries))
    assert (found["examples"], found["missing_entries"], found["because"]) == (missing, 0, "")


def test_the_empty_set_is_named():
    found, _slept = compared(reading(ALL, [SIX])._replace(empty=("KUBE-6-CLUSTER-IP", "KUBE-CLUSTER-IP")))
    assert (found["missing_entries"], found["because"]) == (2, "KUBE-CLUSTER-IP is empty")


@pytest.mark.parametrize("own", [(WEB, DNS, SIX, EXTERNAL), None])
def test_single_sets_show_missing_servers_alone(own):
    part = reading([WEB, EXTERNAL], [WEB, PORT], own=own or ())._replace(families=())
    part = part if own else part._replace(own=None)
    found, _slept = compared(part)
    assert (found["missing_servers"], found["missing_entries"], found["examples"]) == (
        1, None, ["KUBE-NODE-PORT-TCP 30080 tcp"])
    assert compared(part._replace(entries={WEB}))[0]["missing_servers"] == 0


SAVED = "add KUBE-CLUSTER-IP 10.96.0.10,udp:53\n"


@pytest.mark.parametrize("numbers, families, empty", [
    ({"KUBE-CLUSTER-IP": 1}, (), ()),
    ({"KUBE-CLUSTER-IP": 1, "KUBE-EXTERNAL-IP": 0, "KUBE-LOAD-BALANCER": 0}, ("ipv4",), ()),
    ({"KUBE-CLUSTER-IP": 1, "KUBE-EXTERNAL-IP": 2, "KUBE-LOAD-BALANCER": 0}, (), ()),
    ({"KUBE-CLUSTER-IP": 1, "KUBE-6-CLUSTER-IP": 0}, ("ipv6",), ("KUBE-6-CLUSTER-IP",))])
def test_a_bundle_may_hold_single_sets(numbers, families, empty):
    host = Sets({"KUBE-CLUSTER-IP": Completed(OK, 0, SAVED)}, commands=False)
    rows = [{"name": name, "entries": number} for name, number in numbers.items()]
    assert ipvs_servers.entries_of(host, rows, 1000) == ({DNS}, families, empty)


def test_a_bundle_without_members_shows_nothing():
    rows = [{"name": "KUBE-CLUSTER-IP", "entries": 3}]
    assert ipvs_servers.entries_of(Sets({}, commands=False), rows, 1000) is None
    assert ipvs_servers.entries_of(Sets({"KUBE-NODE-PORT-TCP": Completed(OK, 0, "add KUBE-NODE-PORT-TCP 30080\n")}),
                                   [{"name": "KUBE-NODE-PORT-TCP", "entries": 1}], 1000).found == {PORT}
