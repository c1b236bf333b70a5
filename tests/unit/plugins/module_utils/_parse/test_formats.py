# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of small files, and of what commands print."""

import subprocess

from hypothesis import example, given, strategies as st
from node_processes import needs_root
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.alternatives import (
    parse_alternatives, parse_choices)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.assignments import (
    parse_assignments, parse_os_release)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.ipset_list import parse_ipset_list
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.sysctl_conf import (
    assigned, fits, is_pattern, parse_sysctl_conf, parse_tuned_profile, path_of)

PARSERS = {"alternatives": parse_alternatives, "choices": parse_choices, "assignments": parse_assignments,
           "ipset": parse_ipset_list, "os-release": parse_os_release, "sysctl.d": parse_sysctl_conf,
           "tuned": parse_tuned_profile}
WORDS = st.text("abcdefg-6", min_size=1, max_size=12)
NAMES = st.builds("".join, st.tuples(st.sampled_from("ABCXYZ"), st.text("ABXYZ_", max_size=9)))


@cases
def test_what_is_read(parser, text, found):
    assert PARSERS[parser](text) == found


@given(st.text())
@example("A=\\")
@example("A=\0")
def test_any_text_is_read_without_an_exception(text):
    found = parse_alternatives(text)
    assert found is None or text.startswith("%s\n%s\n" % (found["mode"], found["link"]))
    assert all(row["path"].startswith("/") for row in parse_choices(text) or [])
    assert [row["name"]
            for row in parse_ipset_list(text)] == [line[6:] for line in text.splitlines() if line.startswith("Name: ")]
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in parse_os_release(text).items())
    for row in parse_sysctl_conf(text):
        fits(row.key, "net/ipv4/ip_forward")
    parse_tuned_profile(text)
    for _key, value, _line in parse_tuned_profile("[sysctl]\n" + text).settings:
        assigned(value, 5)


@given(st.sampled_from(["auto", "manual"]), WORDS, st.dictionaries(WORDS, WORDS))
def test_what_was_written_is_read_back(mode, link, slaves):
    slaves = {name: "/sbin/" + path for name, path in slaves.items()}
    text = "\n".join([mode, "/sbin/" + link] + [line for pair in slaves.items() for line in pair]) + "\n\n"
    assert parse_alternatives(text) == {"mode": mode, "link": "/sbin/" + link, "slaves": slaves}


@given(st.dictionaries(NAMES, st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126,
                                                             blacklist_characters="\"\\$`"))))
def test_quoted_values_are_read_back(values):
    assert parse_os_release("".join('%s="%s"\n' % pair for pair in values.items())) == values


@needs_root
def test_against_ipset():
    script = ("ipset create KUBE-CLUSTER-IP hash:ip,port maxelem 100 && ipset add KUBE-CLUSTER-IP 10.96.0.1,tcp:443 && "
              "ipset create p bitmap:port range 1-10 && ipset create l list:set && ipset list -t")
    text = subprocess.check_output(["unshare", "-n", "sh", "-c", script]).decode("ascii")
    assert parse_ipset_list(text) == [
        {"name": "KUBE-CLUSTER-IP", "entries": 1, "size_limit": 100}, {"name": "p", "entries": 0, "size_limit": 10},
        {"name": "l", "entries": 0, "size_limit": None}]


# Settings of sysctl.d; that they agree with systemd-sysctl is proved beside the collector that uses them. And what the
# modifiers of tuned leave of a value.

@cases
def test_the_first_separator_tells(key, path):
    assert path_of(key) == path


@cases
def test_a_pattern_stands_for_no_slash(pattern, key, answer):
    assert is_pattern(pattern) and fits(pattern, key) is answer


@cases
def test_modifiers(value, before, left):
    assert assigned(value, before) == left
