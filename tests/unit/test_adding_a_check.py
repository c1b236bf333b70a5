# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The index of docs/adding-a-check.md names every kind, source and word of a case."""

import dataclasses
import itertools
import pathlib
import re
import textwrap

import yaml

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import schema
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases import table
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes.catalogue import Cause, causes_of
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.kinds import KINDS
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._joins.table import JOINS

TOP = pathlib.Path(__file__).resolve().parents[2]
WORDS = re.compile(r"`([\w.]+)`")


def rows_below(heading):
    """The rows of the table below a heading, as lists of cells."""
    text = (TOP / "docs/adding-a-check.md").read_text(encoding="utf-8").partition("### %s\n"
                                                                                  % heading)[2].partition("\n#")[0]
    return [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]


def test_the_samples_of_entries_are_some():
    lines = (TOP / "docs/adding-a-check.md").read_text(encoding="utf-8").splitlines()
    begins = [number for number, line in enumerate(lines) if line.lstrip().startswith("- id: ")]
    samples = [yaml.safe_load(textwrap.dedent("\n".join(itertools.takewhile(str.strip, lines[begin:]))))
               for begin in begins]
    [[check], [cause]] = samples
    assert set(check) == {field.name for field in dataclasses.fields(catalogue.Check)} - {"file"}
    assert [each.id for each in causes_of([("sample", cause)])] == [cause["id"]]
    assert set(cause) == {field.name for field in dataclasses.fields(Cause)}


def test_every_kind():
    assert sorted(WORDS.findall(row[0])[0] for row in rows_below("Kinds")) == sorted(KINDS)


def test_every_join():
    assert [WORDS.findall(row[0])[0] for row in rows_below("Joins")] == sorted(JOINS)


def test_every_source():
    told = {WORDS.findall(row[0])[0]: WORDS.findall(row[1]) for row in rows_below("Sources")}
    assert told == {name: sorted(shape.contains["collected"].sampled) for name, shape in schema.sections().items()}


def test_every_word_of_a_case():
    assert sorted(word for row in rows_below("Words of a case")
                  for word in WORDS.findall(row[0])) == sorted(table.WORDS)
