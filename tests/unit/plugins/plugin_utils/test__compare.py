# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparing what nodes serve."""

import random

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services import services as node_services
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._compare import PARTS, compare, compared_texts


def digest(services, minute, endpoints="e"):
    return {"services": services, "endpoints": endpoints, "read_at": "2026-11-21T10:%02d:00Z" % minute}


@pytest.mark.parametrize("read, found", [
    # A digest and the minute in which it was read; a node read before or after all others may have met a change.
    ({"a": ("x", 0), "b": ("x", 9), "c": ("x", 3)}, {
        "most": "x", "hosts": 3, "unknown": 0, "differs": [], "moving": [], "count": None, "counts": {}, "which": {}}),
    ({"a": ("x", 0), "b": ("y", 1), "c": ("x", 2)}, {"differs": ["b"], "moving": []}),
    ({"a": ("x", 3), "b": ("y", 0), "c": ("x", 5)}, {"differs": [], "moving": ["b"]}),
    ({"a": ("x", 3), "b": ("y", 9), "c": ("x", 5)}, {"differs": [], "moving": ["b"]}),
    # A rollout in the middle is no difference.
    ({"n%d" % minute: ("old" if minute < 6 else "new", minute) for minute in range(10)},
     {"differs": [], "moving": ["n6", "n7", "n8", "n9"]})],
    ids=["all serve the same", "read between others", "read first", "read last", "a rollout"])
def test_nodes_that_serve_the_same_or_not(read, found):
    compared = compare({host: digest(*each) for host, each in read.items()})
    assert {key: compared["services"][key] for key in found} == found
    assert compared["endpoints"]["hosts"] == len(read)


def test_what_is_not_known_is_counted_and_takes_no_part():
    compared = compare({"a": digest("x", 0), "b": None, "c": digest("x", 1, None), "d": digest(None, 2, None)})
    assert (compared["services"]["hosts"], compared["services"]["unknown"], compared["endpoints"]) == (2, 2, None)
    assert compare({"a": digest("x", 0)}) == {"services": None, "endpoints": None}
    assert compare({}) == {"services": None, "endpoints": None}


def test_the_order_of_hosts_does_not_matter():
    hosts = [("n%d" % number, digest(random.choice("xy"), random.randrange(60))) for number in range(12)]
    print("hosts:", hosts)
    expected = compare(dict(hosts))
    random.shuffle(hosts)
    assert compare(dict(hosts)) == expected


def test_a_baseline_is_compared_with_those_that_read_the_same_before_and_after_it():
    digests = {"a": digest("x", 0), "b": digest("y", 1), "c": digest("x", 2), "d": digest("z", 3), "e": None}
    assert compare(digests, "e") == dict.fromkeys(PARTS), "nothing is known of the baseline"
    services = compare(digests, "b")["services"]
    assert (services["most"], services["differs"], services["moving"]) == ("y", ["a", "c"], ["d"])


def test_how_many_are_missing_and_other_services_have_other_endpoints():
    def read(minute, services, endpoints, count):
        return dict(digest(services, minute, endpoints), service_count=count, endpoint_count=count)

    digests = {"a": read(0, "x", "e", 5), "b": read(1, "y", "f", 3), "c": read(2, "x", "g", 5),
               "d": read(3, "z", "h", 9), "e": read(4, "w", "i", 5), "f": read(9, "x", "e", 5)}
    assert compared_texts(compare(digests), ", ".join) == [
        "services: the same on 3 nodes, others on b (2 missing), d (4 more), e",
        "endpoints: the same on 2 nodes, others on c"]
    assert compared_texts(compare({"a": read(0, "x", "e", 5), "b": read(0, "x", "e", 5)}), ", ".join) == []


def of_services(minute, *services):
    """The digest of a node, as its report has it; a Service is (address, port, its endpoints)."""
    rows = [node_services.Service("ipv6" if ":" in address else "ipv4", address, port, "tcp", "",
                                  tuple((end, 8080, "tcp") for end in ends), bool(ends), True)
            for address, port, ends in services]
    found = node_services.digest(rows)
    return dict(found, sketch="".join(found["sketch"]), read_at="2026-11-21T10:%02d:00Z" % minute)


ONE, TWO = ("10.96.0.1", 443, ("192.0.2.7",)), ("fd00::10", 53, ("10.244.0.3", "10.244.1.3"))
PORT = ("nodeport", 30080, ("10.244.0.9",))


def test_the_services_that_differ_are_named():
    usual = (ONE, TWO, PORT)
    digests = {"a": of_services(0, *usual), "b": of_services(1, ONE, PORT),
               "c": of_services(2, *usual, ("10.96.0.9", 80, ())),
               "d": of_services(3, ONE, TWO[:2] + (("10.9.9.9",),), PORT),
               "e": of_services(4, ONE[:2] + ((),), TWO, PORT), "f": of_services(9, *usual)}
    compared = compare(digests)
    assert compared["services"]["which"] == {
        "b": {"missing": ["tcp [fd00::10]:53"], "extra": [], "served": [], "complete": True},
        "c": {"missing": [], "extra": ["tcp 10.96.0.9:80"], "served": [], "complete": True},
        "e": {"missing": [], "extra": [], "served": ["tcp 10.96.0.1:443"], "complete": True}}
    assert compared["endpoints"]["which"]["d"] == {"endpoints": ["tcp [fd00::10]:53"], "complete": True}
    assert compared_texts(compared, ", ".join)[2:] == [
        "services missing on b: tcp [fd00::10]:53", "services on c alone: tcp 10.96.0.9:80",
        "services whose endpoints are missing or extra on e: tcp 10.96.0.1:443",
        "services with other endpoints on d: tcp [fd00::10]:53"]
    assert compare(digests, "b")["services"]["which"]["a"]["extra"] == ["tcp [fd00::10]:53"]


def test_a_change_between_two_looks_names_no_service():
    compared = compare({"a": of_services(3, ONE, TWO), "b": of_services(5, ONE, TWO), "c": of_services(9, ONE)})
    assert compared["services"]["moving"] == ["c"] and compared["services"]["which"] == {}


def test_many_services_that_differ_are_no_complete_list():
    many = [("10.1.%d.%d" % (number // 200, number % 200), 80, ("10.244.0.3",)) for number in range(2000)]
    digests = {"a": of_services(0, *many), "b": of_services(1, *many[:1000]), "c": of_services(2, *many),
               "d": of_services(1, *many[:-12])}
    which = compare(digests)["services"]["which"]
    assert not which["b"]["complete"] and len(which["b"]["missing"]) <= 25
    assert which["d"]["complete"] and len(which["d"]["missing"]) == 12
    text = next(text for text in compared_texts(compare(digests), ", ".join) if "on d" in text and "missing on" in text)
    assert text.endswith("tcp 10.1.9.195:80, and 4 more")


def test_a_sketch_of_an_earlier_version_or_of_a_hostile_node_lists_nothing():
    wrong = [None, "", "x", "e" + "A" * 1920, "e" + "/" * 1920, "s" + of_services(0, ONE)["sketch"][1:], "e\x1b[2J"]
    for sketch in wrong:
        digests = {"a": of_services(0, ONE), "b": dict(of_services(1, TWO), sketch=sketch), "c": of_services(2, ONE)}
        which = compare(digests)["services"]["which"]
        assert all(not row["missing"] or row["missing"] == ["tcp 10.96.0.1:443"] for row in which.values()), sketch
        assert not any("\x1b" in text for text in compared_texts(compare(digests), ", ".join))
