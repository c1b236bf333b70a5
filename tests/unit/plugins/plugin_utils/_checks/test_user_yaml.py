# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML that a user wrote; mistakes of whole files of checks are in test__user_checks.py."""

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.user_yaml import yaml_of


@cases
def test_a_value_is_plain_data_or_refused(text, value):
    if value is None and text:
        with pytest.raises(BadInput):
            yaml_of("f", text.encode("utf-8"))
    else:
        assert yaml_of("f", text.encode("utf-8")) == value


@pytest.mark.parametrize("text", ["a: {b: 1, b: 2}", "a: 1\n'a': 2", "- {a: 1, c: 1,\n   a: 2}"])
def test_a_key_is_there_once(text):
    with pytest.raises(BadInput, match=r"^f is not valid YAML: line [12], column \d+: the key [ab] is there twice$"):
        yaml_of("f", text.encode("utf-8"))


def test_a_document_that_grows_is_not_read_to_its_end():
    bomb = "a: &a [x, x]\n" + "".join("%s: &%s [*%s, *%s]\n" % (name, name, before, before)
                                      for before, name in zip("abcdefghijklm", "bcdefghijklmn"))
    for text, sentence in ((bomb, "f: line 2 has a YAML alias; write the value out"),
                           ("[" * 1000000, "f: line 1 has more than 50 levels"),
                           ("a:\n" + "".join("%s- a:\n" % (" " * 2 * level) for level in range(60)),
                            "f: line 26 has more than 50 levels")):
        with pytest.raises(BadInput) as refused:
            yaml_of("f", text.encode("utf-8"))
        assert str(refused.value) == sentence
