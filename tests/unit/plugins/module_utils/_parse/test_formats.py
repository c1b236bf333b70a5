# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of small files, TOML, the Prometheus text format and of what commands print; secrets in lines of files."""

import math
import random
import subprocess

import kube_audit
import pytest
from case_rows import cases
from hypothesis import example, given, strategies as st
from node_processes import needs_root

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.assignments import (
    assigned, fits, is_pattern, parse_assignments, parse_os_release, parse_sysctl_conf, parse_tuned_profile, path_of,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_answers import (
    LINE_LIMIT, SAMPLES_LIMIT, Histogram, histogram, parse_metrics,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_ip_vs import parse_ipset_list
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.program_files import (
    parse_alternatives, parse_choices,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.secrets import LIMIT, masked_line
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.toml_keys import UNREAD, parse_toml_keys

PARSERS = {"alternatives": parse_alternatives, "choices": parse_choices, "assignments": parse_assignments,
           "ipset": parse_ipset_list, "os-release": parse_os_release, "sysctl.d": parse_sysctl_conf,
           "tuned": parse_tuned_profile}
SECRET = "hunter2-XyZZy"
PIECES = ["iptables -F", ";", "|", "'", '"', "(", "$(", "sh -c", "-p", " ", "\\", "x=", ":", "https://", "@", "KEY",
          "token", "=", "--"]
CNI = ("plugins", "io.containerd.grpc.v1.cri", "cni")
PLAIN = """\
# HELP a_total What it counts
# TYPE a_total counter
a_total{code="200",host="127.0.0.1:16443"} 7
a_total{code="<error>",text="a \\"quoted\\" \\\\ }{ part",} 22 1795329629561
a_total 1.7953295839898546e+09
b_seconds_bucket{le="+Inf"} 3
not_asked 5
"""
BUCKETS = {0.001: 0, 8.192: 90, 16.384: 98, math.inf: 100}


@cases
def test_what_is_read(parser, text, found):
    assert PARSERS[parser](text) == found


@given(st.text(), st.text(alphabet='[]{}=".,#ab1 \n' + "'" + chr(92)))
@example("A=\\", "")
@example("A=\0", "")
def test_any_text_is_read_without_an_exception(text, toml):
    found = parse_alternatives(text)
    assert found is None or text.startswith("%s\n%s\n" % (found["mode"], found["link"]))
    assert all(row["path"].startswith("/") for row in parse_choices(text) or [])
    assert [row["name"]
            for row in parse_ipset_list(text)] == [line[6:] for line in text.splitlines() if line.startswith("Name: ")]
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in parse_os_release(text).items())
    for row in parse_sysctl_conf(text):
        fits(row.key, "net/ipv4/ip_forward")
    parse_tuned_profile(text)
    for _key, value, _line in parse_tuned_profile("[sysctl]\n" + text).settings:
        assigned(value, 5)
    assert masked_line(text).count("\n") <= text.count("\n")
    values = [*parse_toml_keys(text).values(), *parse_toml_keys(toml).values()]
    assert all(value is UNREAD or isinstance(value, (str, int, list)) for value in values)


@needs_root
def test_against_ipset():
    script = ("ipset create KUBE-CLUSTER-IP hash:ip,port maxelem 100 && ipset add KUBE-CLUSTER-IP 10.96.0.1,tcp:443 && "
              "ipset create p bitmap:port range 1-10 && ipset create l list:set && ipset list -t")
    text = subprocess.check_output(["unshare", "-n", "sh", "-c", script]).decode("ascii")
    assert parse_ipset_list(text) == [
        {"name": "KUBE-CLUSTER-IP", "entries": 1, "size_limit": 100}, {"name": "p", "entries": 0, "size_limit": 10},
        {"name": "l", "entries": 0, "size_limit": None}]


# That settings of sysctl.d agree with systemd-sysctl is proved beside the collector that uses them.
@cases
def test_the_first_separator_tells(key, path):
    assert path_of(key) == path


@cases
def test_a_pattern_stands_for_no_slash(pattern, key, answer):
    assert is_pattern(pattern) and fits(pattern, key) is answer


@cases
def test_modifiers(value, before, left):
    assert assigned(value, before) == left


@cases
def test_what_is_no_secret_is_shown(line):
    assert masked_line(line) == line


@cases
def test_secrets_are_masked_and_the_rest_of_the_line_stays(line, shown):
    assert masked_line(line % SECRET) == shown


@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
       st.sampled_from(["--token ", "password=", "API_KEY=", "secret: "]))
def test_nothing_before_it_brings_a_secret_to_light(before, name):
    assert SECRET not in masked_line("%s %s%s" % (before, name, SECRET))


def test_a_long_line_is_cut():
    assert len(masked_line("a.token-" * 10 ** 6)) == LIMIT and len(masked_line("mysql -" * 10 ** 6)) == LIMIT


@cases
def test_values(text, found):
    assert parse_toml_keys(text) == dict(found)


def test_plain_samples_infinity_and_a_flood():
    assert parse_metrics(PLAIN, {"a_total", "b_seconds_bucket"}) == {
        "a_total": [({"code": "200", "host": "127.0.0.1:16443"}, 7.0),
                    ({"code": "<error>", "text": 'a \\"quoted\\" \\\\ }{ part'}, 22.0), ({}, 1795329583.9898546)],
        "b_seconds_bucket": [({"le": "+Inf"}, 3.0)]}
    assert parse_metrics("a +Inf\na -Inf\n", {"a"}) == {"a": [({}, math.inf), ({}, -math.inf)]}
    assert len(parse_metrics("a 1\n" * (2 * SAMPLES_LIMIT), {"a"})["a"]) == SAMPLES_LIMIT


@pytest.mark.parametrize("line", ["a NaN", "a nan", "a 1_000", "a \u0661", "a infinity", "a", "a ", "a 1 2 3",
                                  'a{b="c" 1', "a{b=c} 1", 'a{b="c"}} 1', 'a{b="c"d="e"} 1', 'a{"b"="c"} 1', "a 0x10",
                                  "a 1e", "a 1e9999", "a\x00 1", "a --1", 'a{b="' + "x" * LINE_LIMIT + '"} 1'])
def test_what_is_no_number_is_left_out(line):
    assert parse_metrics(line + "\na 2\n", {"a"}) == {"a": [({}, 2.0)]}


def test_hostile_texts_raise_nothing():
    source = random.Random(kube_audit.seed())
    for _round in range(300):
        text = "".join(source.choice('a{}=",\\ \t\n01.e+NI#\u00e9\x00') for _each in range(source.randrange(200)))
        for _labels, number in parse_metrics(text, {"a", "aa"}).get("a", ()):
            assert not math.isnan(number)


def test_no_quantile_is_beyond_the_largest_bucket_or_the_number_of_all():
    found = Histogram(BUCKETS)
    assert (found.quantile(0.5), found.quantile(0.95), found.quantile(0.98)) == (4.5516, 13.312, 16.384)
    assert found.quantile(0.99) is None and found.above_percent() == 2.0
    samples = parse_metrics('a_bucket{le="1"} 1\na_bucket{le="2"} 2\na_bucket{le="x"} 9\na_count 4\n',
                            {"a_bucket", "a_count"})
    found = histogram(samples, "a", lambda labels: True)
    assert (found.count, found.quantile(0.25), found.quantile(0.75), found.above_percent()) == (4, 1.0, None, 50.0)
    assert histogram(samples, "b", lambda labels: True) is None


@cases
def test_buckets_that_contradict_each_other_have_no_quantile(buckets, count):
    found = Histogram(buckets, count)
    assert (found.quantile(0.5), found.quantile(0.99), found.above_percent()) == (None, None, None)
