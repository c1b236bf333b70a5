# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A diff shows the lines that change, without their secrets, and no other line of the file."""


import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._script.edit.changed_lines import (LINES_LIMIT,
                                                                                                    changed_lines)


@pytest.mark.parametrize(
    "before, after, shown", [
        ("a\n  iptables -F --token=abc\nb\n", "a\nb\n",
         ("@@ line 2 @@\n  iptables -F --token=***\n", "@@ line 2 @@\n")),
        (None, "[Service]\nExecStop=\n", ("@@ line 1 @@\n", "@@ line 1 @@\n[Service]\nExecStop=\n")),
        ("x\n", None, ("@@ line 1 @@\nx\n", "@@ line 1 @@\n")),
        ("a\nb\nc\nd\n", "a\nB\nc\n", ("@@ line 2 @@\nb\n@@ line 4 @@\nd\n", "@@ line 2 @@\nB\n@@ line 4 @@\n")),
        ("ExecStop=/usr/bin/x --password y\n", "",
         ("@@ line 1 @@\nExecStop=/usr/bin/x --password ***\n", "@@ line 1 @@\n")),
        ("Environment=IPTABLES_RESTORE_NOFLUSH=yes\n", "",
         ("@@ line 1 @@\nEnvironment=IPTABLES_RESTORE_NOFLUSH=yes\n", "@@ line 1 @@\n")),
        ("same\n", "same\n", ("", "")), (None, None, ("", "")),
    ])
def test_what_is_shown(before, after, shown):
    assert changed_lines(before, after) == shown


@given(st.lists(st.tuples(st.sampled_from(["kept", "gone"]), st.integers(0, 5)), max_size=60))
def test_no_line_that_stays_is_shown(lines):
    before = "".join("%s %d %d\n" % (word, number, index) for index, (word, number) in enumerate(lines))
    after = "".join(line + "\n" for line in before.splitlines() if line.startswith("kept"))
    old, new = changed_lines(before, after)
    assert [line for line in old.splitlines()
            if not line.startswith("@@")] == [line for line in before.splitlines() if line.startswith("gone")]
    assert [line for line in new.splitlines() if not line.startswith("@@")] == []


def test_a_saved_rule_set_of_a_big_node_is_cut():
    lines = ["-A KUBE-SVC-%d -j KUBE-SEP-%d" % (number, number) for number in range(100000)]
    before = "*nat\n" + "\n".join("-A INPUT -j ACCEPT\n" * (number % 1000 == 0) + line
                                  for number, line in enumerate(lines)) + "\nCOMMIT\n"
    after = "*nat\n" + "-A INPUT -j ACCEPT\n" * 100 + "COMMIT\n"
    old, new = changed_lines(before, after)
    assert (len(old.splitlines()) == LINES_LIMIT + 1 and old.splitlines()[-1].startswith("and ")
            and len(new.splitlines()) <= LINES_LIMIT + 1)
