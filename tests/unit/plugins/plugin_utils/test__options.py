# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of variables, which values are accepted, refused and with which message; and marked text, dates and
containers that become what JSON knows."""

import datetime
import json

import pytest
from case_rows import cases
from hypothesis import given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._options import checked, close_to, unknown_name
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._plain import plain


@cases
def test_taken(value, spec, expected):
    assert checked("v", value, spec) == expected


@cases
def test_refused_in_one_sentence(value, spec, words):
    with pytest.raises(BadInput) as caught:
        checked("v", value, spec)
    assert str(caught.value) == words


def test_a_name_far_from_all_gets_the_list():
    assert close_to("zzz", ["mode", "severity"]) is None
    assert str(unknown_name("The option", "zzz",
                            ["severity", "mode"])) == "The option zzz is not known; known: mode, severity"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8),
       st.sampled_from(["str", "int", "bool", "list", "dict", "raw"]))
def test_nothing_but_bad_input_is_raised(value, kind):
    try:
        checked("v", value, {"type": kind})
    except BadInput as error:
        assert "\n" not in str(error)


class Marked(str):
    """As Ansible marks text: a subclass with a face of its own."""

    def __str__(self):
        return "not this"


class Counted(int):
    """A marked number."""


def test_marks_are_gone():
    value = plain({Marked("a"): [Marked("b"), Counted(3), (1, 2.5), {Marked("c")}]})
    assert value == {"a": ["b", 3, [1, 2.5], ["c"]]}
    assert [type(key) for key in value] == [str]
    assert [type(item) for item in value["a"]] == [str, int, list, list]


def test_dates_of_yaml_become_text():
    assert plain([datetime.date(2027, 1, 31), datetime.datetime(2027, 1, 31, 12, 0)]) == ["2027-01-31", "2027-01-31"]


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(JSON)
def test_json_stays_as_it_is(value):
    assert json.dumps(plain(value)) == json.dumps(value)
