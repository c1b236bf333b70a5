# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparing what nodes serve."""

import random

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet.compare import PARTS, compare, compared_texts


def digest(services, minute, endpoints="e"):
    return {"services": services, "endpoints": endpoints, "read_at": "2026-11-21T10:%02d:00Z" % minute}


@pytest.mark.parametrize("read, found", [
    # A digest and the minute in which it was read; a node read before or after all others may have met a change.
    ({"a": ("x", 0), "b": ("x", 9), "c": ("x", 3)}, {
        "most": "x", "hosts": 3, "unknown": 0, "differs": [], "moving": [], "count": None, "counts": {}}),
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
