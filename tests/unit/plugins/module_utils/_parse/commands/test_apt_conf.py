# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that apt runs around its work. What apt itself makes of SAMPLE is what `apt-config -c FILE dump` prints."""

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.apt_conf import parse_apt_conf

SAMPLE = r"""# DPkg::Post-Invoke { "a comment"; };
DPkg::Post-Invoke { "echo \"a\" b"; "two; 2"; }; // DPkg::Post-Invoke { "a comment"; };
DPkg::Pre-Invoke {"one-line"; };  # "hash"
DPkg { Post-Invoke { "nested; with semi"; }; Options { "--force-confold"; }; };
dpkg::POST-invoke:: "colon";
DPkg::Post-Invoke::named "named";
/* DPkg::Post-Invoke {
 "block"; };
*/
APT::Update::Post-Invoke-Success {
  // "inside";
  "# no // comment /* here */";
  # "inside";
};
DPkg::Post-Invoke "scalar";
DPkg::Post-Invoke { unquoted; };
#clear DPkg::Pre-Invoke;
DPkg::Post-Invoke-Not { "other"; };
Unattended-Upgrade::Allowed-Origins { "x:y"; };
"""


def test_every_form_of_a_hook():
    assert [(each.line, each.text) for each in parse_apt_conf(SAMPLE)] == [
        (2, "echo \\a\\ b"), (2, "two; 2"), (3, "one-line"), (4, "nested; with semi"), (5, "colon"), (6, "named"),
        (12, "# no // comment /* here */"), (15, "scalar"), (16, "unquoted")]
    assert {each.when for each in parse_apt_conf(SAMPLE)} == {"package_upgrade"}


def test_scopes_end():
    text = 'DPkg { Post-Invoke { "in"; }; };\nDir { Cache { "out"; }; };\n}}}\nDPkg::Post-Invoke { "again";\n'
    assert [each.text for each in parse_apt_conf(text)] == ["in", "again"]


@given(st.text(alphabet='DPkg:-IvoetsP{};"/*#\n \\', max_size=200))
def test_no_text_is_too_odd(text):
    for each in parse_apt_conf(text):
        assert 1 <= each.line <= text.count("\n") + 1
