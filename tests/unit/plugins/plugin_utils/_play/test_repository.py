# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders of the inventory sources, which files of the user are relative to."""

import pathlib

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._play import repository


def test_folders_of_sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "hosts.yml").write_text("", encoding="utf-8")
    assert repository.folders_of(["a/hosts.yml", "a", str(tmp_path / "a"), "web1,web2,"]) == [tmp_path / "a"]
    for nothing in (None, [], ["web1,"], ["gone.yml"], ["web1," * 1000], ["a\0b"]):
        assert repository.folders_of(nothing) == [pathlib.Path.cwd()]
        assert repository.path_in_repository(nothing) == repository.NO_FILE


def test_names_of_hosts_and_of_what_ansible_connects_to():
    class HostVars(dict):
        raw_get = dict.__getitem__

    connections = {"a": "real-a.corp.net", "b": "jump", "c": "jump", "d": "10.0.0.1", "e": "fd00::1", "f": "localhost",
                   "g": "{{ x }}", "h": None}
    hostvars = HostVars({name: {"ansible_host": value} for name, value in connections.items()}, i={})
    assert repository.names_of(["a", "z"], [*connections, "i"], hostvars) == {
        "a": "a", "z": "z", "real-a.corp.net": "a", "jump": "jump"}
