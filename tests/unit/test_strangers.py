# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence of strangers is judged as experts judge it; strangers_cases describes the folders of tests/strangers."""

import pathlib

import pytest
from strangers_cases import verdict_of

CASES = sorted((pathlib.Path(__file__).resolve().parents[1] / "strangers").iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_evidence_of_strangers(case, tmp_path):
    verdict = verdict_of(case, tmp_path)
    assert verdict.word == "right", "\n".join(verdict.false + verdict.missing)
