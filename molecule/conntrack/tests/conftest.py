# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fixtures of all scenarios, and what this one left on the controller besides."""

import json
import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests" / "fixtures"))

from molecule_reports import findings, node, snapshot

__all__ = ("findings", "node", "snapshot")
_LINE = re.compile(r"(\S+) = (-?\d+)$")


def numbers(lines):
    """{key: number} of lines that sysctl prints."""
    return {found.group(1): int(found.group(2)) for found in map(_LINE.match, lines) if found}


def _left(pattern):
    folder = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
    return {path.stem: json.loads(path.read_text()) for path in folder.glob(pattern)}


@pytest.fixture
def told(node):
    """{key: row} of node_conntrack.sysctls right before the boot."""
    section = _left("told-%s.json" % node)["told-" + node]
    return {row["key"]: row for row in section["sysctls"]}


@pytest.fixture
def seen(host):
    """seen(name) -> {key: number} of what the node itself kept in /run at that moment"""
    return lambda name: numbers(host.file("/run/" + name).content_string.splitlines())


def _turns(pattern):
    """{version: {"seen": {key: number}, "told": {key: row}, "failed": {check}}} of versions of kube-proxy"""
    found = {}
    for name, turn in _left(pattern).items():
        found[name.rpartition("-")[2]] = {
            "seen": numbers(turn["seen"]), "told": {row["key"]: row for row in turn["told"]["sysctls"]},
            "failed": {row["check"] for row in turn["findings"] if row["status"] == "fail"}}
    return found


@pytest.fixture
def turns(node):
    """{version: turn} of the versions whose turn was on this node"""
    return _turns("turn-%s-*.json" % node)


@pytest.fixture
def turn_of():
    """turn_of(version) -> that version's turn, on whichever node it was"""
    return lambda version: _turns("turn-*-%s.json" % version)[version]
