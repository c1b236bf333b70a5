# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sketch of Services: whatever is listed of two of them is true, and few differences are all listed."""

import base64
import random

import kube_audit
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.sketch import (
    CELLS, Sketch, differences, without_endpoints)


def service(number, family="ipv4", protocol="tcp", served=True):
    address = "10.96.%d.%d" % (number // 250, number % 250) if family == "ipv4" else "fd00::%x" % (number + 1)
    return Service(family, address, 80, protocol, "", (), served, True)


def sketch(services, behind="10.244.0.1:80"):
    found = Sketch()
    for each in services:
        found.add(each, behind)
    return found.texts()


def told(one, other):
    return differences("".join(one), "".join(other))


def test_a_sketch_has_one_size_and_no_order():
    rows = [service(number) for number in range(3000)]
    texts = sketch(rows)
    random.shuffle(rows)
    assert texts == sketch(rows) and max(map(len, texts)) <= 300
    assert [len(text) for text in texts] == [len(text) for text in sketch([])]


def test_the_same_services_have_no_difference():
    rows = [service(number) for number in range(100)]
    assert told(sketch(rows), sketch(rows)) == {"missing": [], "extra": [], "served": [], "endpoints": [],
                                                "complete": True}


def test_a_few_differences_among_many_services():
    source = random.Random(kube_audit.seed())
    complete = 0
    for _number in range(60):
        common = [service(number) for number in range(300)]
        here = [service(number, "ipv6") for number in range(source.randint(0, 8))]
        there = [service(number, "ipv6", "udp") for number in range(source.randint(0, 8))]
        found = told(sketch(common + here), sketch(common + there))
        complete += found["complete"]
        assert set(found["extra"]) <= {"tcp [%s]:80" % each.address for each in here}
        assert set(found["missing"]) <= {"udp [%s]:80" % each.address for each in there}
        if found["complete"]:
            assert (len(found["extra"]), len(found["missing"])) == (len(here), len(there))
    assert complete >= 50, "fewer than 16 differences can be listed but for unlucky ones"


def test_other_endpoints_and_none_are_of_the_same_service():
    one, two = service(1), service(2)
    here, there = Sketch(), Sketch()
    for found, behind, served in ((here, "10.244.0.1:80", True), (there, "10.244.0.2:80", False)):
        found.add(one, behind)
        found.add(two._replace(has_endpoints=served), "")
    found = told(here.texts(), there.texts())
    assert found == {"missing": [], "extra": [], "served": ["tcp 10.96.0.2:80"], "endpoints": ["tcp 10.96.0.1:80"],
                     "complete": True}


def test_endpoints_that_are_not_known_are_not_compared_with_those_that_are():
    texts = sketch([service(1)])
    assert told(without_endpoints(texts), texts) is None
    assert told(without_endpoints(texts), without_endpoints(sketch([])))["extra"] == ["tcp 10.96.0.1:80"]
    assert without_endpoints(None) is None


@pytest.mark.parametrize("row, name", [
    (Service("ipv4", "nodeport", 30080, "sctp", "", (), True, True), "sctp nodePort 30080 (IPv4)"),
    (Service("ipv6", "nodeport", 30080, "udp", "", (), True, True), "udp nodePort 30080 (IPv6)"),
    (Service("ipv4", "\x1b[2J{{ x }}", 80, "tcp", "", (), True, True), "tcp port 80 of an unknown address"),
    (Service(None, "10.0.0.1", 70000, "icmp", "", (), True, True), "protocol 0 port 4464 of an unknown address")])
def test_names(row, name):
    assert told(sketch([row]), sketch([]))["extra"] == [name]


def test_no_text_is_more_than_a_wrong_list():
    source = random.Random(kube_audit.seed())
    usual = sketch([service(number) for number in range(50)])
    size = len(base64.b64decode("".join(usual[1:])))
    for _number in range(200):
        noise = bytearray(source.choice((size, size, 3)))
        for _byte in range(source.randint(0, len(noise))):
            noise[source.randrange(len(noise))] = source.choice((0, 1, 255, source.randrange(256)))
        found = differences("e" + base64.b64encode(bytes(noise)).decode("ascii"), "".join(usual))
        assert (found is None) == (len(noise) != size)
        assert found is None or sum(len(names) for names in found.values() if isinstance(names, list)) <= 2 * CELLS
    for text in ("", "e", "e=", "eé", "e" + "A" * 4096, "x" + "A" * 1920):
        assert differences(text, "".join(usual)) is None
