# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of chosen values of TOML."""

import random

import kube_audit
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.toml_keys import UNREAD, parse_toml_keys

CNI = ("plugins", "io.containerd.grpc.v1.cri", "cni")


@pytest.mark.parametrize(
    "text, found", [
        ('version = 2\nimports = ["/etc/a.toml", \'/etc/b/*.toml\']\n',
         {("version",): 2, ("imports",): ["/etc/a.toml", "/etc/b/*.toml"]}),
        ('[plugins."io.containerd.grpc.v1.cri".cni]\n  bin_dir = "/opt/cni/bin"  # where\n  max_conf_num = 0\n',
         {CNI + ("bin_dir",): "/opt/cni/bin", CNI + ("max_conf_num",): 0}),
        ("[plugins.'io.containerd.grpc.v1.cri']\ncni.conf_dir = '/x'\n", {CNI + ("conf_dir",): "/x"}),
        ('plugin_dirs = [\n  "/a", # first\n  "/b",\n]\nx = 1\n', {("plugin_dirs",): ["/a", "/b"], ("x",): 1}),
        ('notes = """\n[plugins.cri.cni]\nconf_dir = "/wrong"\n"""\na = 1\n', {("notes",): UNREAD, ("a",): 1}),
        ("notes = \'\'\'\na = \\\n\'\'\'\'\'\nb = 1\n", {("notes",): UNREAD, ("b",): 1}),
        ('a = [ # first ] [\n  "/x]y", # one, "no"\n\n  \'/a#b\' ] # all\n', {("a",): ["/x]y", "/a#b"]}),
        ('["a]#b" . c]\nd = "\\u00b5\\t\\"#" # "e"\n"\\U0000005f" = 07\n', {
            ("a]#b", "c", "d"): u"\u00b5\t\"#", ("a]#b", "c", "_"): UNREAD}),
        ('[[b]]\n[b.c]\nx = "in an element"\n[a]\nx = "y"\n', {("a", "x"): "y"}),
        ('a = "\\ud800"\nb = "\\U00110000"\nc = "\\x"\nd = "\ne = \'\nf = """x', dict.fromkeys(
            [(name,) for name in "abcdef"], UNREAD)),
        ('#a = "x"\na = "b # c"\nb = []\n', {("a",): "b # c", ("b",): []}),
        ('a = "x\\q"\nb = """x"""\nc = true\nd = [1]\ne = {x = 1}\nf = "x" y\ng = ["a" "b"]\nh = [\n',
         dict.fromkeys([("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",), ("h",)], UNREAD)),
    ])
def test_values(text, found):
    assert parse_toml_keys(text) == found


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
