# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user reads of the result of a changing module: only what differs, and no file that serves the undo."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import subjects


@pytest.mark.parametrize("changed, kind, rows, lines", [
    (subjects.modules_changed, "modules", [("a", "missing", "loaded"), ("b", "missing", "builtin"),
                                           ("c", "loaded", "loaded"), ("d", "missing", "blocked")],
     ["load a", "load b"]),
    (subjects.settings_changed, "settings", [("a", 1, 2), ("b", 1, 1), ("c", 1, None)], ["a: 1 -> 2"]),
    (subjects.groups_changed, "groups", [("a", "legacy", "nft"), ("b", "nft", "nft")], ["a: legacy -> nft"]),
    (subjects.files_changed, "files", [], []),
])
def test_what_changed(changed, kind, rows, lines):
    result = {"files": ["/etc/x", "/var/lib/kubenode-netfilter/record"]}
    result.setdefault(kind, [{"name": name, "key": name, "before": before, "after": after}
                             for name, before, after in rows])
    assert changed(result) == lines + ["/etc/x"] and changed({kind: None}) == []
