# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Endpoints in what kubectl prints, and UDP connections that conntrack lists without a translation and an answer."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.beside import listed_endpoints, untranslated
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.source import Item

DESCRIBED = "Name:     web\nNamespace:  shop\nType:     ClusterIP\nEndpoints:  %s\nEvents:  <none>\n"
SLICES = "NAME   ADDRESSTYPE  PORTS  ENDPOINTS   AGE\n"


def lines(text, wanted="api_endpoints"):
    return "".join(item.data.decode() for item, kind, _path in listed_endpoints(Item("node.txt", text.encode()))
                   if kind == wanted)


@pytest.mark.parametrize("text, wanted", [
    ("$ kubectl get endpoints kubernetes\nNAME  ENDPOINTS  AGE\nkubernetes   10.0.0.4:6443,10.0.0.5:6443   7d\n",
     "- kubernetes 10.0.0.4:6443,10.0.0.5:6443\n"),
    ("$ kubectl -n shop get ep -o wide\nNAME  ENDPOINTS  AGE\nweb   10.2.0.4:80   7d3h\napi   [fd00::1]:80   7s\n",
     "shop web 10.2.0.4:80\nshop api [fd00::1]:80\n"),
    ("$ kubectl get ep -A\nNAMESPACE  NAME  ENDPOINTS  AGE\nshop  web   10.2.0.4:80   7d\n", "shop web 10.2.0.4:80\n"),
    ("$ kubectl get endpointslices -n shop\n" + SLICES + "web-ab1cd  IPv4  80,443  10.2.0.4  7d\n"
     "web-ef2gh  IPv4  80  10.2.0.5  7d\n", "shop web 10.2.0.4:443,10.2.0.4:80,10.2.0.5:80\n"),
    (DESCRIBED % "10.2.0.4:80,10.2.0.5:80", "shop web 10.2.0.4:80,10.2.0.5:80\n"),
    (DESCRIBED % "10.2.0.4:80\nEndpoints:  10.2.0.4:443", "shop web 10.2.0.4:443,10.2.0.4:80\n")])
def test_a_whole_list(text, wanted):
    assert lines(text) == wanted


@pytest.mark.parametrize("text", [
    "$ kubectl get ep\nNAME  ENDPOINTS  AGE\nweb  10.2.0.4:80,10.2.0.5:80,10.2.0.6:80 + 3 more...   7d\n",
    "$ kubectl get ep\nNAME  ENDPOINTS  AGE\nweb   <none>   7d\n",
    "$ kubectl get ep | cut -c1-30\nNAME  ENDPOINTS\nweb  10.2.0.4:80,10.2.0.5:8\n",
    "$ kubectl get ep | cut -c1-30\nNAME  ENDPOINTS  AGE\nweb  10.2.0.4:80,10.2.0.5:8\n",
    "$ kubectl get endpointslice web-ab1cd\n" + SLICES + "web-ab1cd  IPv4  80  10.2.0.4  7d\n",
    "$ kubectl get endpointslices\n" + SLICES + "web-ab1cd  IPv4  80  10.2.0.4  7d\n"
    "web-ef2gh  IPv4  80  10.2.0.5 + 9 more...  7d\n",
    DESCRIBED % "10.2.0.4:80 + 1 more...", DESCRIBED % "<none>", DESCRIBED % "10.2.0.4:80\nEndpoints:  <none>",
    "web  10.2.0.4:80  7d\nENDPOINTS\n"])
def test_a_list_that_is_not_whole(text):
    assert lines(text) == ""


SERVICES = "NAME  TYPE  CLUSTER-IP  EXTERNAL-IP  PORT(S)  AGE\n"
ENDPOINTS = "NAME  ENDPOINTS  AGE\nweb  10.2.0.4:80,10.2.0.5:80  7d\n"


@pytest.mark.parametrize("text, wanted", [
    (SERVICES + "web  ClusterIP  10.96.1.2  <none>  8080/TCP  3d\n" + ENDPOINTS,
     "10.96.1.2 8080 tcp 10.2.0.4:80,10.2.0.5:80\n"),
    (DESCRIBED.replace("Type", "IP:  10.96.1.2\nPort:  http  53/UDP\nType") % "10.2.0.4:80",
     "10.96.1.2 53 udp 10.2.0.4:80\n"),
    (SERVICES + "web  NodePort  10.96.1.2  <none>  80:30080/TCP  3d\n" + ENDPOINTS.replace("5:80", "4:81"), ""),
    (SERVICES + "web  ClusterIP  10.96.1.2  <none>  80/TCP,443/TCP  3d\n" + ENDPOINTS, ""),
    (SERVICES + "web  ClusterIP  None  <none>  80/TCP  3d\n" + ENDPOINTS, ""),
    ("shop  web  ClusterIP  10.96.1.2  <none>  80/TCP  3d\ntest  web  ClusterIP  10.96.1.3  <none>  80/TCP  3d\n"
     + ENDPOINTS, "")])
def test_endpoints_of_a_service_with_one_port_by_its_address(text, wanted):
    assert lines(text, "api_services") == wanted


ENTRY = ("udp      17 29 src=10.36.0.14 dst={0} sport=43871 dport={1} [UNREPLIED] src={2} dst=10.36.0.14 "
         "sport={1} dport=43871 mark=0 use=1\n")


@pytest.mark.parametrize("text, wanted", [
    (ENTRY.format("10.107.61.10", 53, "10.107.61.10"), ["10.36.0.14 10.107.61.10 53\n"]),
    (ENTRY.format("10.107.61.10", 53, "10.36.0.11"), [""]),
    (ENTRY.format("10.107.61.10", 8472, "10.107.61.10"), [""]),
    (ENTRY.format("8.8.8.8", 53, "8.8.8.8"), [""]),
    (ENTRY.format("x" * 100000, 53, "x" * 100000), [""]),
    ("".join(ENTRY.format("10.107.61.%d" % number, 53, "10.107.61.%d" % number) for number in range(1, 30)), []),
    ("udp 17 29 src=10.36.0.14 dst=", [])])
def test_connections_without_a_translation(text, wanted):
    assert [item.data.decode() for item, _kind, _path in untranslated(Item("node.txt", text.encode()))] == wanted
