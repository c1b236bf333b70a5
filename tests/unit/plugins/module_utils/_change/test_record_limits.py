# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that are forged, files that are removed and put back, and saved rules larger than most files."""

import json
import os

import conntrack_changes
import hook_changes
import node_tree
import pytest
from conntrack_node import tracking
from hook_changes import content
from node_processes import needs_root

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors

OWN = "etc/modprobe.d/zz-kubenode-netfilter.conf"
SAVED = "etc/iptables/rules.v4"
MASKED = "/etc/systemd/system/iptables.service"
SCRIPT = "/" + hook_changes.SCRIPT
STATE = "var/lib/kubenode-netfilter"
FORGED = {
    "a time that is a number": lambda held, entry: entry.update(time=7),
    "a user that is an object": lambda held, entry: entry.update(by={}),
    "a digest of schema 1 in schema 2": lambda held, entry: entry.update(before="0123"),
    "a digest that is a number": lambda held, entry: entry["before"].update(digest=1),
    "a digest alone": lambda held, entry: entry.update(before={"digest": "x"}),
    "no digest afterwards": lambda held, entry: entry.update(after=None),
    "no unit": lambda held, entry: entry.pop("unit"),
    "a unit that is a list": lambda held, entry: entry.update(unit=["x"]),
    "a mask without unit": lambda held, entry: held["changed"][MASKED].pop("unit"),
    "a diversion without name": lambda held, entry: entry.update(kind="diverted"),
    "a digest that is an object": lambda held, entry: entry.update(after=[{}]),
    "a digest that leads up": lambda held, entry: entry["before"].update(digest="../../../../../etc/passwd"),
    "a path that leads up": lambda held, entry: held["changed"].update({"/etc/../x": dict(entry)}),
    "a directory that leads up": lambda held, entry: held["folders"].append("/etc/../x"),
    "a directory with NUL": lambda held, entry: held["folders"].append("/etc/a\0b"),
    "a mode that is none": lambda held, entry: entry["before"].update(mode="rwx"),
    "an owner below 0": lambda held, entry: entry["before"].update(uid=-1),
    "a mode without an owner": lambda held, entry: entry["before"].update(uid=None),
    "an attribute that is a number": lambda held, entry: entry["before"].update(xattrs={"user.a": 5}),
}


@pytest.mark.parametrize("name", sorted(FORGED))
def test_a_forged_record_is_an_error_and_nothing_is_changed(tmp_path, name):
    tree = tmp_path / "tree"
    node_tree.unpack(hook_changes.AZURE, tree)
    hook_changes.run(tree, False, state="present", start="mask")
    path = tree / STATE / "flush_hooks/record.json"
    held = json.loads(path.read_text())
    FORGED[name](held, held["changed"][SCRIPT])
    path.write_text(json.dumps(held))
    before = content(tree)
    for state in ("absent", "present"):
        with pytest.raises(_errors.ChangeFailed, match="is damaged, so the earlier changes are not known"):
            hook_changes.run(tree, False, state=state, start="mask")
    assert content(tree) == before


@needs_root
def test_a_file_that_was_removed_comes_back_with_its_mode_and_owner(tmp_path):
    tree = tmp_path / "tree"
    node_tree.unpack(tracking(), tree)
    path = tree / OWN
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("options nf_conntrack hashsize=4096\n")
    os.chown(str(path), 12, 34)
    path.chmod(0o600)
    before = content(tree)
    options = {"max": 524288, "lower": True}
    conntrack_changes.run(tree, False, state="present", **options)
    assert not path.exists()
    conntrack_changes.run(tree, False, state="absent", **options)
    assert content(tree) == before
    assert (path.stat().st_uid, path.stat().st_gid) == (12, 34)


def test_saved_rules_that_are_larger_than_other_files_are_put_back(tmp_path):
    tree = tmp_path / "tree"
    node_tree.unpack(hook_changes.AZURE, tree)
    path = tree / SAVED
    path.parent.mkdir(exist_ok=True)
    site = "-A INPUT -m comment --comment \"%s\" -j ACCEPT\n" % ("site " * 40)
    path.write_text("*filter\n:INPUT ACCEPT [0:0]\n:KUBE-FIREWALL - [0:0]\n-A INPUT -j KUBE-FIREWALL\n"
                    + site * 20000 + "COMMIT\n")
    assert path.stat().st_size > 4 * 1024 * 1024
    before = content(tree)
    hook_changes.run(tree, False, state="present", start="mask", clean_saved=True)
    assert content(tree)[SAVED] != before[SAVED]
    undone = hook_changes.run(tree, False, state="absent", start="mask")
    assert not undone.get("failed") and content(tree) == before
