# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which build of iptables a file is, by its bytes."""

import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iptables_programs import OTHER, WRAPPER_IN_GO, program
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.program import parse_iptables_program


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
