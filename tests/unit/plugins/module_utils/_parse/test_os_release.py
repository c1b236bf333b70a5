# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of os-release."""

from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.os_release import parse_os_release

NAMES = st.builds("".join, st.tuples(st.sampled_from("ABCXYZ"), st.text("ABXYZ_", max_size=9)))


def test_a_real_file():
    text = """\
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
ID=debian
# a comment = with an equals sign
VERSION_ID='12'
ID_LIKE=
BUG_REPORT_URL="https://bugs.debian.org/" trailing
QUOTED="a \\"b\\" \\$c"
OPEN="never closed
no assignment
"""
    assert parse_os_release(text) == {
        "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)", "ID": "debian", "VERSION_ID": "12", "ID_LIKE": "",
        "BUG_REPORT_URL": "https://bugs.debian.org/", "QUOTED": 'a "b" \\$c',
    }


@given(st.text())
@example("A=\\")
@example("A=\0")
def test_any_text_is_read_without_an_exception(text):
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in parse_os_release(text).items())


@given(st.dictionaries(NAMES, st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126,
                                                             blacklist_characters="\"\\$`"))))
def test_quoted_values_are_read_back(values):
    assert parse_os_release("".join('%s="%s"\n' % pair for pair in values.items())) == values
