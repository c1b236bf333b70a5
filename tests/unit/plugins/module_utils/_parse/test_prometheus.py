# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of the Prometheus text format: plain samples, and any other text that a node may answer."""

import math
import random

import pytest

import kube_audit
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.prometheus import (
    LINE_LIMIT, SAMPLES_LIMIT, Histogram, histogram, parse_metrics)

PLAIN = """\
# HELP a_total What it counts
# TYPE a_total counter
a_total{code="200",host="127.0.0.1:16443"} 7
a_total{code="<error>",text="a \\"quoted\\" \\\\ }{ part",} 22 1795329629561
a_total 1.7953295839898546e+09
b_seconds_bucket{le="+Inf"} 3
not_asked 5
"""


def test_plain_samples():
    assert parse_metrics(PLAIN, {"a_total", "b_seconds_bucket"}) == {
        "a_total": [({"code": "200", "host": "127.0.0.1:16443"}, 7.0),
                    ({"code": "<error>", "text": 'a \\"quoted\\" \\\\ }{ part'}, 22.0), ({}, 1795329583.9898546)],
        "b_seconds_bucket": [({"le": "+Inf"}, 3.0)]}


@pytest.mark.parametrize("line",
                         [
                             "a NaN", "a nan", "a 1_000", "a \u0661", "a infinity", "a", "a ", "a 1 2 3", 'a{b="c" 1',
                             "a{b=c} 1", 'a{b="c"}} 1', 'a{b="c"d="e"} 1', 'a{"b"="c"} 1', "a 0x10", "a 1e", "a 1e9999",
                             "a\x00 1", "a --1", 'a{b="' + "x" * LINE_LIMIT + '"} 1',
                         ])
def test_what_is_no_number_is_left_out(line):
    assert parse_metrics(line + "\na 2\n", {"a"}) == {"a": [({}, 2.0)]}


def test_infinity_is_a_number():
    assert parse_metrics("a +Inf\na -Inf\n", {"a"}) == {"a": [({}, math.inf), ({}, -math.inf)]}


def test_a_flood_is_bounded():
    assert len(parse_metrics("a 1\n" * (2 * SAMPLES_LIMIT), {"a"})["a"]) == SAMPLES_LIMIT


def test_hostile_texts_raise_nothing():
    source = random.Random(kube_audit.seed())
    for _round in range(300):
        text = "".join(source.choice('a{}=",\\ \t\n01.e+NI#\u00e9\x00') for _each in range(source.randrange(200)))
        for _labels, number in parse_metrics(text, {"a", "aa"}).get("a", ()):
            assert not math.isnan(number)


BUCKETS = {0.001: 0, 8.192: 90, 16.384: 98, math.inf: 100}


def test_no_quantile_is_beyond_the_largest_bucket():
    found = Histogram(BUCKETS)
    assert (found.quantile(0.5), found.quantile(0.95), found.quantile(0.98)) == (4.5516, 13.312, 16.384)
    assert found.quantile(0.99) is None and found.above_percent() == 2.0


@cases
def test_buckets_that_contradict_each_other_have_no_quantile(buckets, count):
    found = Histogram(buckets, count)
    assert (found.quantile(0.5), found.quantile(0.99), found.above_percent()) == (None, None, None)


def test_the_number_of_all_stands_for_a_last_bucket_that_is_missing():
    samples = parse_metrics('a_bucket{le="1"} 1\na_bucket{le="2"} 2\na_bucket{le="x"} 9\na_count 4\n',
                            {"a_bucket", "a_count"})
    found = histogram(samples, "a", lambda labels: True)
    assert (found.count, found.quantile(0.25), found.quantile(0.75), found.above_percent()) == (4, 1.0, None, 50.0)
    assert histogram(samples, "b", lambda labels: True) is None
