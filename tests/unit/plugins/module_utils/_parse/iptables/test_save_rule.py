# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rule as iptables-save prints it; and which build of iptables a file is, by its bytes."""

import string
import subprocess

import pytest
from hypothesis import example, given, strategies as st
from iptables_programs import OTHER, WRAPPER_IN_GO, program
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.program_files import parse_iptables_program
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.save_rule import is_open, read_rule


# Parser of one rule as iptables-save prints it.

# libxtables/xtables.c xtables_save_string(): a text of these characters alone is printed without quotes.
SAFE = "_-" + string.digits + string.ascii_letters


def saved(text):
    """A value as iptables prints it."""
    if text and all(char in SAFE for char in text):
        return text
    return '"%s"' % "".join("\\" + char if char in "\"\\'" else char for char in text)


def fields(text):
    rule = read_rule(text)
    return rule and (rule.chain, rule.options, rule.matches, rule.comment, rule.target, rule.goto, rule.arguments)


@cases
def test_forms(text, wanted):
    assert fields(text) == wanted


@cases
def test_what_is_no_rule(text):
    assert read_rule(text) is None


@given(st.text())
@example("\\")
@example('" -j DROP')
@example("-j")
@example("a\nCOMMIT")
@example("\0\x1b[2J\u2028\x85")
def test_any_comment_is_read_back_and_hides_nothing(comment):
    rule = read_rule("-A X -s 10.0.0.1/32 -m comment --comment %s -j DNAT --to-destination 10.0.0.2:80"
                     % saved(comment))
    assert (rule.comment, rule.target, rule.matches) == (comment, "DNAT", [])
    assert rule.arguments == [("--to-destination", ["10.0.0.2:80"], False)]


@given(st.text(alphabet='-Aj !"\\\'ax\t\n'))
def test_nothing_raises(text):
    rule = read_rule("-A " + text)
    assert rule is None or (rule.chain and rule.target != "")


@given(st.text(alphabet='ab "'), st.text(alphabet='ab "'))
def test_a_quote_is_open_until_it_is_closed(before, after):
    assert is_open(before + after) == (is_open(before) != is_open(after))
    assert is_open(before + '"') != is_open(before)
    assert is_open(before + '\\"') == is_open(before)


# Which build of iptables a file is, by its bytes.

@pytest.mark.parametrize("backend", ["nft", "legacy"])
@pytest.mark.parametrize("version", ["1.8.2", "1.8.7", "1.8.8", "1.8.9", "1.8.11", "1.8.13"])
def test_builds(backend, version):
    assert parse_iptables_program(program(backend, version)) == (backend, version)


@pytest.mark.parametrize("data, backend",
                         [
                             (b"#!/bin/sh\nexec iptables-nft 1.8.9 (nf_tables)\n", "wrapper"),
                             (WRAPPER_IN_GO, "wrapper"), (OTHER, None), (b"", None), (b"\x7fELF", None),
                             # Not a program, whatever it holds.
                             (b"\0001.8.9 (nf_tables)\0", None),
                             # Both in one file: no build of iptables is that.
                             (program("nft", "1.8.9") + program("legacy", "1.8.9"), None),
                             (program("nft", "1.8.7") + program("legacy", "1.8.7"), None),
                         ])
def test_what_tells_no_version(data, backend):
    assert parse_iptables_program(data) == (backend, None)


def test_an_old_build_with_another_number_in_it():
    assert parse_iptables_program(program("nft", "1.8.7") + b"\0001.2.11\0") == ("nft", None)


@pytest.mark.parametrize("backend, path",
                         [("nft", "/usr/sbin/xtables-nft-multi"), ("legacy", "/usr/sbin/xtables-legacy-multi")])
def test_the_build_of_this_machine_tells_what_it_prints(backend, path):
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except IOError:
        pytest.skip("this machine has no %s" % path)
    printed = subprocess.check_output([path, "iptables-save", "--version"]).decode("ascii")
    assert parse_iptables_program(data) == (backend, printed.split()[1].lstrip("v"))


@given(st.binary())
@example(b"\x7fELF" + b"\0001." + b"9" * 300 + b"\0%s v%s (legacy)\0")
def test_any_bytes(data):
    backend, version = parse_iptables_program(data)
    assert backend in ("nft", "legacy", "wrapper", None) and (version is None or version.encode("ascii") in data)
