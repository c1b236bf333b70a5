# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors of tools and of the kernel, roles/node_policy/files/log_errors: each row is checked against all others."""

import collections
import pathlib
import re
import string

import pytest
import yaml
from banned_words import BANNED

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _log_causes

FOLDER = pathlib.Path(__file__).resolve().parents[4] / "roles" / "node_policy" / "files" / "log_errors"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
KEYS = {"id", "tool", "pattern", "since", "until", "meaning", "fix", "specific", "example", "source"}
TOOLS = {"iptables", "iptables-restore", "nft", "ipset", "ipvsadm", "conntrack", "kmod", "sysctl", "ip", "tc", "kernel"}
ROWS = [row for path in sorted(FOLDER.glob("*.yml")) for row in yaml.load(path.read_text(), Loader=LOADER)]


def placeholders(text):
    """The names in braces of a text; a brace that stands for itself does not exist in it."""
    return {name for _literal, name, _spec, _conversion in string.Formatter().parse(text) if name is not None}


def test_rows_are_complete_and_counted(capsys):
    by_tool = collections.Counter(row["tool"] for row in ROWS)
    with capsys.disabled():
        print("\n%d rows: %s" % (len(ROWS), ", ".join("%s %d" % pair for pair in sorted(by_tool.items()))))
    assert set(by_tool) == TOOLS
    assert sum(by_tool.values()) - by_tool["kernel"] >= 250
    assert not [row["id"] for row in ROWS if KEYS - set(row) or set(row) - KEYS - {"fix_where"}]
    assert not [name for name, count in collections.Counter(row["id"] for row in ROWS).items() if count > 1]
    assert not [row["id"] for row in ROWS if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row["id"])]
    assert not [row["id"] for row in ROWS for key in ("meaning", "fix", "example", "source") if not row[key].strip()]


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_a_pattern_is_bounded_and_finds_its_own_example(tool):
    for row in ROWS:
        if row["tool"] == tool:
            _log_causes._refuse_wrong_pattern(row["id"], row["pattern"])
            for other in row.get("fix_where", ()):
                _log_causes._refuse_wrong_pattern(row["id"], other["near"])
            assert re.search(row["pattern"], row["example"]), row["id"]


def test_texts_name_only_groups_that_the_example_fills():
    wrong = []
    for row in ROWS:
        found = re.search(row["pattern"], row["example"]).groupdict()
        for text in (row["meaning"], row["fix"], *(other["fix"] for other in row.get("fix_where", ()))):
            wrong += [(row["id"], name) for name in placeholders(text) if not found.get(name)]
    assert not wrong


def test_an_example_matches_no_other_specific_row():
    specific = [(row["id"], row["tool"], re.compile(row["pattern"]), row["example"]) for row in ROWS if row["specific"]]
    both = [(here, there) for here, _tool, _pattern, example in specific for there, _tool, pattern, _example in specific
            if here != there and pattern.search(example)]
    assert not both


def test_texts_avoid_the_banned_words():
    wrong = [(row["id"], found.group()) for row in ROWS for text in (row["meaning"], row["fix"],
             *(other["fix"] for other in row.get("fix_where", ()))) for found in [BANNED.search(text)] if found]
    assert not wrong
