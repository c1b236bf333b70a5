# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words that Go takes for a boolean."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.go_bool import parse_go_bool


@pytest.mark.parametrize("text, value", [
    ("true", True), ("TRUE", True), ("True", True), ("t", True), ("T", True), ("1", True), ("false", False),
    ("False", False), ("FALSE", False), ("f", False), ("F", False), ("0", False), ("tRue", None), ("yes", None),
    ("on", None), ("", None), (" true", None), ("2", None)])
def test_words(text, value):
    assert parse_go_bool(text) is value
