# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running values that an undo restores, and running values that it leaves and keeps in the record."""

import json

import pytest

from conntrack_changes import LIMIT, RAISED, RECORD, SIZE, SYSCTL, rows, run, undo, unpacked, value
from conntrack_node import FORWARD, MAX, counters, look, table
from hook_changes import content


def others(found):
    """The content without running values and the record."""
    return {path: held for path, held in found.items() if not path.startswith(("proc/sys", "var/lib/kubenode"))}


def live(tree):
    return json.loads((tree / RECORD).read_text())["live"]


def test_undo_leaves_files_as_they_were_and_values_as_they_are(tmp_path):
    tree = unpacked(tmp_path, {SYSCTL: "# mine\n%s=1\n" % FORWARD, "proc/sys/net/ipv4/ip_forward": "0\n"})
    before = content(tree)
    run(tree, **dict(RAISED, sysctls=[FORWARD]))
    announced = undo(tree, True)
    done = undo(tree)
    assert done == announced and done["changed"] and "failed" not in done and done["settings"] == []
    after = content(tree)
    assert value(tree, LIMIT) == 524288 and value(tree, "net/ipv4/ip_forward") == 1
    assert others(after) == others(before)
    assert done["warnings"] == [
        "%s is %d now and stays, it was %d before; run the undo again with lower: true (harden_conntrack_lower) to put "
        "it back" % row for row in ((FORWARD, 1, 0), (MAX, 524288, 131072))]
    again = undo(tree)
    assert not again["changed"] and again["warnings"] == done["warnings"] and content(tree) == after


def test_values_that_an_undo_left_are_put_back_by_a_later_one(tree):
    before = content(tree)
    run(tree, **RAISED)
    undo(tree)
    assert live(tree) == {MAX: {"before": 131072, "after": 524288}} and not (tree / "etc/modprobe.d").exists()
    announced = undo(tree, True, lower=True)
    done = undo(tree, lower=True)
    assert done == announced and done["changed"] and "warnings" not in done
    assert rows(done)[MAX]["after"] == 131072 and content(tree) == before and not (tree / "var").exists()
    assert not undo(tree, lower=True)["changed"] and not undo(tree)["changed"]


def test_a_value_whose_module_is_gone_is_nothing_to_put_back(tree):
    run(tree, **RAISED)
    (tree / ("proc/sys/" + LIMIT)).unlink()
    done = undo(tree, lower=True)
    assert "warnings" not in done and "failed" not in done and not (tree / RECORD).exists()


def test_a_value_that_cannot_be_read_stays_in_the_record(tree):
    run(tree, **RAISED)
    (tree / ("proc/sys/" + LIMIT)).write_text("many\n")
    for lower in (False, True):
        done = undo(tree, lower=lower)
        assert done["warnings"] == ["%s is not put back: its current value could not be read" % MAX], lower
        assert MAX in live(tree)


def test_fixes_before_and_after_an_undo_keep_the_first_value(tree):
    before = content(tree)
    run(tree, **dict(RAISED, resize="always", timeouts={"tcp_timeout_time_wait": 30}))
    run(tree, max=1048576)
    undo(tree)
    run(tree, max=2097152)
    undo(tree, lower=True)
    assert content(tree) == before


def test_buckets_that_the_kernel_rounded_are_not_changed_since(tmp_path):
    tree = unpacked(tmp_path, table(buckets=1024))
    before = content(tree)
    for buckets, rounded in ((65500, 65536), (131000, 131072)):
        run(tree, max=200000, buckets=buckets, resize="always")
        (tree / ("proc/sys/" + SIZE)).write_text("%d\n" % rounded)
        assert not run(tree, max=200000, buckets=buckets, resize="always")["changed"]
    done = undo(tree, lower=True)
    assert "warnings" not in done and content(tree) == before


def test_what_was_lost_before_the_raise_is_kept_as_long_as_the_raise(tmp_path):
    tree = unpacked(tmp_path, counters(drop=45, insert_failed=40, early_drop=7))
    run(tree, **RAISED)
    undo(tree)
    assert look({}, tree)["lost"]["dropped"] == 0
    undo(tree, lower=True)
    assert look({}, tree)["lost"]["dropped"] == 5


def test_an_image_has_no_running_values_to_put_back(tree):
    run(tree, **RAISED)
    for lower in (False, True):
        done = undo(tree, place="image", lower=lower)
        assert done["warnings"] == ["running values that were changed are not put back, because this is not a live "
                                    "node: " + MAX]
        assert MAX in live(tree) and value(tree, LIMIT) == 524288


@pytest.mark.parametrize("lower", [False, True])
def test_a_value_that_was_changed_since_stays_is_told_and_stays_in_the_record(tree, lower):
    before = content(tree)
    run(tree, **RAISED)
    (tree / ("proc/sys/" + LIMIT)).write_text("700000\n")
    announced = undo(tree, True, lower=lower)
    done = undo(tree, lower=lower)
    assert done == announced and done["changed"] and "failed" not in done and value(tree, LIMIT) == 700000
    assert done["warnings"] == ["%s is not put back: it was changed since to 700000; sysctl -w %s=131072 sets the "
                                "former value" % (MAX, MAX)]
    assert ("changed since to 700000" in rows(done)[MAX]["msg"]) if lower else done["settings"] == []
    again = undo(tree, lower=lower)
    assert not again["changed"] and again["warnings"] == done["warnings"] and MAX in live(tree)
    (tree / ("proc/sys/" + LIMIT)).write_text("131072\n")
    assert "warnings" not in undo(tree, lower=lower) and content(tree) == before
