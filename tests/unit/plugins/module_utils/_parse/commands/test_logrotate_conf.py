# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts inside of logrotate's configuration."""

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.logrotate_conf import (
    parse_logrotate_conf)

SAMPLE = """\
# postrotate is a word of this comment
weekly
/var/log/iptables.log /var/log/other {
    rotate 4
    postrotate
        if [ -x /sbin/iptables ]; then
            systemctl restart iptables
        fi
    endscript
    sharedscripts
    prerotate
    endscript
\tlastaction
iptables -F
\tendscript\x20\x20
}
"""


def test_scripts_keep_their_lines():
    found = parse_logrotate_conf(SAMPLE)
    assert [(each.line, each.when, each.exact) for each in found] == [(6, "timer", True), (14, "timer", True)]
    assert [each.text for each in found] == [
        "        if [ -x /sbin/iptables ]; then\n            systemctl restart iptables\n        fi\n", "iptables -F\n"]


def test_a_file_whose_script_does_not_end_is_refused_as_logrotate_does():
    assert parse_logrotate_conf(SAMPLE + "/x {\npostrotate\niptables -F\n}\n") == []


@given(st.text())
def test_no_text_is_too_odd(text):
    for each in parse_logrotate_conf(text):
        assert 1 <= each.line <= text.count("\n") + 1
