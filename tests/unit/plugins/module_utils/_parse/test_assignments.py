# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.assignments import parse_assignments


@pytest.mark.parametrize("text, expected", [
    ("ENABLED=yes\n", {"ENABLED": "yes"}),
    ("  export NAME = 'two words' # why\n", {"NAME": "two words"}),
    ("A=1\n#A=2\nA=3", {"A": "3"}),
    ("A=\n", {"A": ""}),
    ("no assignment\n", {}),
    ("", {}),
])
def test_the_last_assignment_counts(text, expected):
    assert parse_assignments(text) == expected
