# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of variables: which values are accepted, which are refused, and with which message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._options import checked, close_to, unknown_name

ROW = {"type": "dict", "options": {"name": {"type": "str", "required": True}, "load": {"type": "bool"}}}


@pytest.mark.parametrize("value, spec, expected", [
    ("a", {}, "a"),
    (31, {}, "31"),
    ("/srv/\udc80", {}, "/srv/\udc80"),
    ("30", {"type": "int"}, 30),
    ("-3", {"type": "int"}, -3),
    ("no", {"type": "bool"}, False),
    ("True", {"type": "bool"}, True),
    (1, {"type": "bool"}, True),
    (["a", 1], {"type": "list", "elements": "str"}, ["a", "1"]),
    ("a, b", {"type": "list", "elements": "str"}, ["a", "b"]),
    ({"name": "x", "load": "yes"}, ROW, {"name": "x", "load": True}),
    (None, {"type": "list"}, None),
    ({"any": [1]}, {"type": "raw"}, {"any": [1]}),
])
def test_taken(value, spec, expected):
    assert checked("v", value, spec) == expected


@pytest.mark.parametrize(
    "value, spec, words", [
        (1.3, {}, "v is the number 1.3, in which a zero at the end is lost; write it in quotes"),
        (True, {}, "v must be a text, not True"),
        ([], {"type": "int"}, "v must be a whole number, not []"),
        (True, {"type": "int"}, "v must be a whole number, not True"),
        ("--5", {"type": "int"}, "v must be a whole number, not '--5'"),
        ("\u00b2", {"type": "int"}, "v must be a whole number, not '\u00b2'"),
        ("maybe", {"type": "bool"}, "v must be true or false, not 'maybe'"),
        ("abc", {"type": "list", "elements": "dict"}, "v must be a list, not 'abc'"),
        ([], {"type": "dict"}, "v must be a dictionary, not []"),
        ("iptabels", {"choices": ["iptables", "ipvs"]},
         "v is 'iptabels', but must be one of: iptables, ipvs; did you mean iptables?"),
        (["x"], {"type": "list", "elements": "str", "choices": ["a"]}, "v[0] is 'x', but must be one of: a"),
        ({"load": True}, ROW, "v lacks name"),
        ({"nmae": "x"}, ROW, "v: the key nmae is not known; did you mean name?"),
        ({"name": "x", "load": []}, ROW, "v.load must be true or false, not []"),
        (None, {"required": True}, "v must not be empty"),
    ])
def test_refused_in_one_sentence(value, spec, words):
    with pytest.raises(BadInput) as caught:
        checked("v", value, spec)
    assert str(caught.value) == words


def test_a_name_far_from_all_gets_the_list():
    assert close_to("zzz", ["mode", "severity"]) is None
    assert str(unknown_name("The option", "zzz",
                            ["severity", "mode"])) == "The option zzz is not known; known: mode, severity"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(
                        st.text(), inner), max_leaves=8),
       st.sampled_from(["str", "int", "bool", "list", "dict", "raw"]))
def test_nothing_but_bad_input_is_raised(value, kind):
    try:
        checked("v", value, {"type": kind})
    except BadInput as error:
        assert "\n" not in str(error)
