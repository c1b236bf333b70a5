# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of random trees against the real systemd, which reads the same files: which files count, which commands and
dependencies they contain, which units start and in which order."""

import os
import random
import re
import shutil
import subprocess

import kube_audit
import node_tree
import pytest
import real_systemd
import unit_trees

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units import order as units_order, paths
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units.unit import EXEC_KEYS
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units.units import Units

ROUNDS = 20
TARGETS = ["multi-user.target", "basic.target", "sockets.target"]
LOADABLE = [name for name in unit_trees.NAMES if name not in unit_trees.TEMPLATES] + TARGETS
# Units that systemd adds by itself; no firewall is ordered by them.
_ASIDE = re.compile(r".*\.(slice|mount|device)$|shutdown\.target$|(emergency|rescue)\.")


@pytest.fixture
def trees(tmp_path):
    """Gives (message for a failure, tree, Units) for each round."""
    number = kube_audit.seed()

    def rounds(count, change=dict):
        for each in range(count):
            source = random.Random("%s %s" % (number, each))
            manifest = unit_trees.random_tree(source, merged=source.random() < 0.8)
            root = node_tree.unpack(change(manifest), tmp_path / "tree")
            yield "KUBENODE_SEED=%s, round %s" % (number, each), root, Units(Host(root), {"place": "image"})
            shutil.rmtree(root)
    return rounds


def test_the_same_files_count(trees):
    seen = set()
    for what, root, units in trees(ROUNDS):
        answers = real_systemd.load(root, LOADABLE)[0]
        for name in LOADABLE:
            theirs, ours = answers[name], units.unit(name)
            if theirs == "bad":
                continue  # Refused for a combination of its lines, which is not judged here.
            seen.add(theirs if isinstance(theirs, str) else "loaded")
            if isinstance(theirs, str):
                assert ("not found" if ours is None else "masked" if ours.masked else "loaded") == theirs, (what, name)
                continue
            assert ours is not None and not ours.masked and not ours.refused, (what, name)
            assert (ours.name, ours.path, ours.drop_ins) == (theirs.name, theirs.path, theirs.drop_ins), (what, name)
            assert sorted(ours.aliases) == sorted(theirs.aliases), (what, name)
    assert seen == {"loaded", "masked", "not found"}


def test_the_same_commands_are_run(trees):
    compared = 0
    for what, root, units in trees(ROUNDS):
        names = [name for name in LOADABLE
                 if name.endswith(".service") and units.unit(name) and not units.unit(name).aliases]
        for name, theirs in real_systemd.load(root, names)[0].items():
            if not isinstance(theirs, str):
                expected = _printed(theirs)
                assert _commands(units.unit(name)) == expected, (what, name)
                compared += sum(map(len, expected.values()))
    assert compared > ROUNDS


def _commands(unit):
    found = {}
    for line in unit.exec_lines():
        words = line.argv()
        found.setdefault(line.key, []).append(_unescaped(words[1:] if "@" in line.prefixes else words))
    assert [key for key in EXEC_KEYS if key in found] == list(dict.fromkeys(line.key for line in unit.exec_lines()))
    return found


def _printed(unit):
    return {key: [_unescaped(real_systemd.words(line)) for line in lines] for key, lines in unit.commands.items()}


def _unescaped(words):
    # systemd prints $$ as it was written and replaces it with $ when it starts the program.
    return [word.replace("$$", "$") for word in words]


def test_the_same_dependencies_count(trees):
    compared = 0
    for what, root, units in trees(ROUNDS, unit_trees.with_relative_links):
        for name, theirs in real_systemd.load(root, LOADABLE)[0].items():
            ours = units.unit(name)
            # If a unit has two names, the other names decide which of them fills in a template.
            if isinstance(theirs, str) or any(units.unit(other).aliases for other in [name] + _neighbours(theirs)
                                              if units.unit(other)):
                continue
            for kind in ("Wants", "Requires", "BindsTo"):
                expected = {units.paths.canonical(other) for other in theirs.dependencies.get(kind, ())
                            if not _ASIDE.match(other)}
                found = set(map(units.paths.canonical, units_order.dependencies(units, ours, kind)))
                found.update(units_order.implied(ours) if kind == "Requires" else ())
                assert found - {name} == expected, (what, name, kind)
                compared += len(expected)
    assert compared > ROUNDS


def _neighbours(unit):
    return [other for others in unit.dependencies.values() for other in others]


def test_the_same_order_holds(trees):
    compared = 0
    for what, root, units in trees(ROUNDS, unit_trees.with_relative_links):
        expected = real_systemd.order(real_systemd.load(root, LOADABLE)[0])
        found = units_order.start_order(units, set(expected))
        for name, earlier in expected.items():
            assert found[name] <= earlier, (what, name)
            # If two targets want each other, either of them may be first.
            lost = [other for other in earlier - {name} - found[name] if not _want_each_other(units, name, other)]
            assert lost == [], (what, name)
            compared += len(found[name])
    assert compared > ROUNDS


def _pulls_in(units, name, other):
    names = [each for kind in ("Wants", "Requires", "Requisite", "BindsTo")
             for each in units_order.dependencies(units, units.unit(name), kind)]
    return name.endswith(".target") and other in map(units.paths.canonical, names)


def _want_each_other(units, *names):
    return all(_pulls_in(units, *order) for order in (names, names[::-1]))


def test_a_boot_starts_the_same_units(trees):
    whole = 0
    for what, root, units in trees(ROUNDS, unit_trees.with_relative_links):
        theirs, nothing_missing = real_systemd.started(root, "default.target")
        theirs = {name for name in theirs if not _ASIDE.match(name) and not _is_named_after_a_unit(name)}
        ours = {name for name in units_order.started_units(units)
                if not _ASIDE.match(name) and not _is_named_after_a_unit(name)}
        assert theirs <= ours, what
        # systemd does not start a unit that requires a missing unit; `ours` contains it all the same.
        assert ours == theirs or not nothing_missing, what
        assert all(units.starts_at_boot(name) for name in theirs), what
        whole += nothing_missing
    assert whole


def _is_named_after_a_unit(name):
    """Whether it may be a template that a unit without an instance wants; if that unit has two names, either of them
    may fill it in."""
    stems = [other.partition(".")[0] for other in unit_trees.PLAIN]
    return name.partition("@")[2].rpartition(".")[0] in stems


def test_the_same_units_are_enabled(trees):
    seen = set()
    for what, root, units in trees(10, unit_trees.tamed):
        for name, theirs in real_systemd.states(root, unit_trees.NAMES).items():
            seen.add(theirs)
            if theirs is not None:
                assert units.state(name) == theirs, (what, name)
    assert {"disabled", "static", "masked", "generated", "enabled-runtime"} <= seen


def test_the_directories_are_systemd_s():
    """A systemd for merged trees has no /lib, others may have it; the rest is the same, in the same order."""
    told = subprocess.run(["systemd-analyze", "unit-paths"], stdout=subprocess.PIPE,
                          env=dict(os.environ, SYSTEMD_LOG_LEVEL="err"), check=True)
    theirs = [path for path in told.stdout.decode().split() if path != "/lib/systemd/system"]
    assert [path for path in paths.DIRECTORIES if path != "/lib/systemd/system"] == theirs
