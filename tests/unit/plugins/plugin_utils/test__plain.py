# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Marked text, dates and containers become what JSON knows."""

import datetime
import json

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._plain import plain


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
