# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of chosen values of TOML."""

import random

import kube_audit
import pytest
from hypothesis import given
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.toml_keys import UNREAD, parse_toml_keys

CNI = ("plugins", "io.containerd.grpc.v1.cri", "cni")


@cases
def test_values(text, found):
    assert parse_toml_keys(text) == dict(found)


@given(st.text(alphabet='[]{}=".,#ab1 \n' + "'" + chr(92)) | st.text())
def test_any_text_is_read_without_an_exception(text):
    assert isinstance(parse_toml_keys(text), dict)


_NAMES = ("a", "b-1", "'c#d'", '"e]"', '"f\\u0067"', "a.b", '"h.i" . j', "2")
_VALUES = (
    '"""\na = "in a text"\n[a]\n\\""" """', "\'\'\'\n[a]\na = 1\n\'\'\'\'", '[\n"x"\n, """\n\n"""]', '"x"', "'y\\'",
    '"a # b"', '"]"', '"\\t\\"[\\\\"', '""', "7", "0", "-1", "1_0", "0x1f", "1.5", "true", "1979-05-27",
    "{a = [1], 'b]' = \"}\"}", "[]", "[1, 2]", "[[], ['x']]", '["x", # ]\n\n \'#\',\n]',
    "[ # [\n'a]', \"b#\" ] # ['c']", "[{a = 1}]")
_ENDS = ("", " ", " # c", " # \"c ' [", "\r")


def _document(source):
    """Lines of which most documents are valid TOML."""
    pick = source.choice
    lines = ["%s%s = %s" % (pick(("", "  ")), pick(_NAMES), pick(_VALUES)) for _line in range(source.randint(1, 6))]
    for _heading in range(source.randint(0, 3)):
        lines.insert(source.randint(0, len(lines)), pick(("[%s]", "[ %s ]", "[[%s]]", "# %s = 1", "")).replace(
            "%s", pick(_NAMES)))
    return "".join(line + pick(_ENDS) + "\n" for line in lines)


def _flat(value, path=()):
    """The values outside of arrays of tables, with the paths of their keys."""
    if not isinstance(value, dict):
        return {path: value}
    return {key: found for name, part in value.items() for key, found in _flat(part, path + (name,)).items()}


def test_the_library_reads_the_same():
    tomllib = pytest.importorskip("tomllib")
    source, valid = random.Random(kube_audit.seed()), 0
    for _document_number in range(4000):
        text = _document(source)
        try:
            expected = _flat(tomllib.loads(text))
        except tomllib.TOMLDecodeError:
            continue
        valid += 1
        found = parse_toml_keys(text)
        read = {key: value for key, value in found.items() if value is not UNREAD}
        assert {key: expected.get(key) for key in read} == read, text
        for key, value in expected.items():
            texts = value if isinstance(value, list) else [value]
            inline = any(key[:length] in found for length in range(1, len(key)))  # A part of an inline table.
            if not inline and all(isinstance(each, str) for each in texts):
                assert found[key] == (UNREAD if "\n" in "".join(texts) else value), text
    assert valid > 400
