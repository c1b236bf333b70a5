# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report files: names that cannot leave the folder, modes, and a folder that cannot be written."""

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _store


def test_files_are_for_their_owner_and_replaced_as_a_whole(tmp_path):
    folder = tmp_path / "a" / "report"
    _store.prepare(str(folder))
    _store.prepare(str(folder))
    path = folder / "nodes" / "x.json"
    _store.write(str(path), "one")
    _store.write(str(path), "two")
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(str(folder / "nodes")) == ["x.json"]


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="^The report folder .*/file cannot be made: "):
        _store.prepare(str(tmp_path / "file"))


def test_nothing_stays_where_a_file_cannot_be_replaced(tmp_path):
    (tmp_path / "x.json").mkdir()
    (tmp_path / "x.json" / "inside").write_text("")
    with pytest.raises(BadInput, match="^The report .*x.json cannot be written: "):
        _store.write(str(tmp_path / "x.json"), "text")
    assert os.listdir(str(tmp_path)) == ["x.json"]
    with pytest.raises(BadInput, match="cannot be written: No such file"):
        _store.write(str(tmp_path / "missing" / "x.json"), "text")


@pytest.mark.parametrize("host, name", [
    ("web-1", "web-1.json"), ("../x", "%2E.%2Fx.json"), (".", "%2E.json"), ("a b/c", "a%20b%2Fc.json"), ("fe80::1", "fe80%3A%3A1.json"),
])
def test_names(host, name):
    assert _store.file_name(host) == name


@given(st.lists(st.text(min_size=1).filter(lambda text: text.isprintable()), unique=True, max_size=5))
def test_names_stay_in_the_folder_and_differ(hosts):
    names = [_store.file_name(host) for host in hosts]
    assert len(set(names)) == len(names)
    assert all("/" not in name and not name.startswith(".") for name in names)


def test_what_an_earlier_report_knew(tmp_path):
    assert _store.earlier_peak(str(tmp_path), "a/b") == 0
    _store.prepare(str(tmp_path))
    _store.write(_store.node_path(str(tmp_path), "a/b"), '{"conntrack_peak": 70000, "findings": []}')
    assert _store.earlier_peak(str(tmp_path), "a/b") == 70000


@pytest.mark.parametrize("text", [
    "", "{", "[]", "3", '{"conntrack_peak": true}', '{"conntrack_peak": -1}', '{"conntrack_peak": 1e9}', '{"conntrack_peak": "5"}', '{"other": 1}',
    '{"conntrack_peak": %d}' % (1 << 31), "[" * 100000, "\xff", '{"conntrack_peak": 5}' + " " * (4 * 1024 * 1024)])
def test_a_report_that_says_anything_else_says_nothing(tmp_path, text):
    _store.prepare(str(tmp_path))
    with open(_store.node_path(str(tmp_path), "a"), "wb") as stream:
        stream.write(text.encode("latin-1"))
    assert _store.earlier_peak(str(tmp_path), "a") == 0


def test_a_report_that_is_no_file(tmp_path):
    _store.prepare(str(tmp_path))
    os.mkfifo(_store.node_path(str(tmp_path), "pipe"))
    os.mkdir(_store.node_path(str(tmp_path), "folder"))
    assert [_store.earlier_peak(str(tmp_path), name) for name in ("pipe", "folder")] == [0, 0]
