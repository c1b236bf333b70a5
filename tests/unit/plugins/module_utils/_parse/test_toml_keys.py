# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of chosen values of TOML."""

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
        ('#a = "x"\na = "b # c"\nb = []\n', {("a",): "b # c", ("b",): []}),
        ('a = "x\\n"\nb = """x"""\nc = true\nd = [1]\ne = {x = 1}\nf = "x" y\ng = ["a" "b"]\nh = [\n',
         dict.fromkeys([("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",), ("h",)], UNREAD)),
    ])
def test_values(text, found):
    assert parse_toml_keys(text) == found


def test_a_table_of_an_array_is_no_other_table():
    assert parse_toml_keys('[a]\nx = 1\n[[b]]\nx = 2\n')[("a", "x")] == 1


@given(st.text(alphabet='[]{}=".,#ab1 \n' + "'" + chr(92)) | st.text())
def test_any_text_is_read_without_an_exception(text):
    assert isinstance(parse_toml_keys(text), dict)
