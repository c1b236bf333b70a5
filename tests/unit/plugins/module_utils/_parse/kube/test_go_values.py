# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of Go's durations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.go_values import parse_go_duration


@pytest.mark.parametrize(
    "text, seconds", [
        ("24h0m0s", 86400), ("1h", 3600), ("90s", 90), ("0s", 0), ("0", 0), ("-0", 0), ("1.5h", 5400), (".5m", 30),
        ("250ms", 0), ("1500ms", 1), ("2h45m", 9900), ("-10s", -10), ("+10s", 10), ("999999us", 0),
        (u"1000000\u00b5s", 1), ("0.1s", 0), ("30m0.000000001s", 1800),
        ("+0", 0), ("1.s", 1), ("-.5h", -1800), ("0.99999999999999999999s", 0), ("0" * 5000 + "1s", 1),
        ("9223372036854775807ns", 9223372036), ("-9223372036854775808ns", -9223372036), ("2562047h", 9223369200)])
def test_whole_seconds(text, seconds):
    assert parse_go_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "1d", "1h 2m", "--1s", "1s1", "1,5s", "null", "one", "-", "1h-1s",
                                  "++5s", "+-5s", "+", "00", ".", ".s", "1..5s", "1.5", "1hm", " 1s", "1s\n", "1S",
                                  "9223372036854775808ns", "2562048h", "-9223372036854775809ns", "9" * 5000 + "s",
                                  "9" * 200000, u"\u0661s"])
def test_what_is_no_duration(text):
    assert parse_go_duration(text) is None


@given(st.integers(0, 10000), st.integers(0, 59), st.integers(0, 59))
def test_as_go_prints_them(hours, minutes, seconds):
    assert parse_go_duration("%dh%dm%ds" % (hours, minutes, seconds)) == hours * 3600 + minutes * 60 + seconds


@given(st.text())
def test_any_text_is_read_without_an_exception(text):
    assert parse_go_duration(text) is None or isinstance(parse_go_duration(text), int)
