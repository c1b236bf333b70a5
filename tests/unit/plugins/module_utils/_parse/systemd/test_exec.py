# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of units: prefixes, words as systemd divides them, specifiers. test_units_against_systemd.py holds them
against the real one."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd import exec as systemd_exec
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd.merge import Value


def lines(text, unit="foo-bar@a\\x2db.service"):
    return systemd_exec.parse_exec("ExecStart", Value(text, "/etc/x.service", 7), unit)


@pytest.mark.parametrize("text, commands", [
    ("/bin/a b", [("", "/bin/a b")]),
    ("-/bin/a b ; +/bin/c", [("-", "/bin/a b"), ("+", "/bin/c")]),
    ("@!!:/bin/a zero;one", [("@!!:", "/bin/a zero;one")]),
    ("/bin/a \\; /bin/b", [("", "/bin/a \\; /bin/b")]),
    ("/bin/a ';' /bin/b", [("", "/bin/a ';' /bin/b")]),
    ("/bin/a ;", [("", "/bin/a")]),
    ("", []),
])
def test_one_value_may_hold_commands(text, commands):
    assert [(line.prefixes, line.text) for line in lines(text)] == commands
    assert all((line.key, line.path, line.line) == ("ExecStart", "/etc/x.service", 7) for line in lines(text))


@pytest.mark.parametrize("text, words", [
    ("/bin/sh -c 'iptables -F; iptables -X'", ["/bin/sh", "-c", "iptables -F; iptables -X"]),
    ("/bin/a \"b \\\"c\\\"\" d\"e f\"g", ["/bin/a", "b \"c\"", "de fg"]),
    ("/bin/a \\x41\\102\\u0043\\s\\q", ["/bin/a", "ABC \\q"]),
    ("/bin/a \\; '' \\\\", ["/bin/a", ";", "", "\\"]),
    ("/bin/a $$t x$$y ${HOME} $HOME", ["/bin/a", "$t", "x$y", "${HOME}", "$HOME"]),
    ("/bin/a b 'open", ["/bin/a", "b"]),
    ("/bin/a %n %N %p %i %I %j %% %t %q", [
        "/bin/a", "foo-bar@a\\x2db.service", "foo-bar@a\\x2db", "foo-bar", "a\\x2db", "a-b", "bar", "%", "/run", "%q"]),
])
def test_words(text, words):
    assert lines(text)[0].argv() == words


def test_a_colon_keeps_the_dollars():
    assert lines(":/bin/a $$t")[0].argv() == ["/bin/a", "$$t"]


@pytest.mark.parametrize("name, text", [("a-b", "a/b"), ("a\\x2db", "a-b"), ("\\xzz", "\\xzz"), ("", "")])
def test_unescaped_names(name, text):
    assert systemd_exec.unescaped_name(name) == text


@pytest.mark.parametrize("text", ["'" * 300001, "\"" * 300001, "\\" * 300001, "a'" * 200000, "; " * 200000,
                                  "\"a" * 200001, "%" * 300001])
def test_a_huge_value_is_read_in_linear_time(text):
    # Quadratic work would take minutes.
    assert isinstance([line.argv() for line in lines(text)], list)
