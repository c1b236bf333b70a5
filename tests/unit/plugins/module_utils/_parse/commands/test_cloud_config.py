# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands and files in cloud-init's configuration and user data."""

import base64
import gzip
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest
from hypothesis import given
from hypothesis import strategies as st

import node_tree
from case_rows import cases, tables_of

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.cloud_config import (
    parse_cloud_config, unread_config, written_files)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.embedded import line_in_file


def lines(found):
    """{line of the file: text there}, for each command."""
    return [(each.when, {line_in_file(each, number): text for number, text in enumerate(each.text.split("\n"), 1)
                         if text}) for each in found]


CONFIG, WANTED = (tables_of(__file__)["what_is_read"][0][name] for name in ("text", "commands"))


def moved(wanted, lines_down):
    return [(when, {line + lines_down: text for line, text in texts.items()}) for when, texts in wanted]


@cases
def test_what_is_read(text, marked, commands, files):
    """Commands are (when, {line of the file: text there}); files are (line, path, text, exact)."""
    assert lines(parse_cloud_config(text, marked=marked)) == commands
    assert [tuple(each) for each in written_files(text, marked=marked)] == files


@cases
def test_scripts(text, when, wanted):
    assert lines(parse_cloud_config(text, marked=True)) == [(when, wanted)]
    packed = node_tree.compressed(text)
    assert lines(parse_cloud_config(packed, marked=True)) == [
        (when, {1: text.replace("cloud-boothook", "").rstrip().split("\n")[-1]})]


def test_multipart_data():
    whole = MIMEMultipart()
    for content, sort in ((CONFIG, "cloud-config"), ("#!/bin/sh\niptables -F\n", "x-shellscript"),
                          ("iptables -X\n", "cloud-boothook"),
                          ("#!/bin/sh\nnft flush ruleset\n", "x-shellscript-per-boot"),
                          ("# iptables -F", "part-handler")):
        whole.attach(MIMEText(content, sort))
    text = whole.as_string()
    found = lines(parse_cloud_config(text, marked=True))
    start = text.split("\n").index("#cloud-config")
    assert found[:2] == moved(WANTED, start)
    # Each text stands where the file has it.
    for _when, texts in found[2:]:
        assert all(text.split("\n")[line - 1] == line_text for line, line_text in texts.items())
    assert [when for when, _texts in found[2:]] == ["first_boot", "boot", "boot"]
    assert [each.line for each in written_files(text)] == [start + 23]


def test_parts_in_base64_and_in_other_parts():
    inner, whole = MIMEMultipart(), MIMEMultipart()
    inner.attach(MIMEText("#!/bin/sh\niptables -F\n", "plain", "utf-8"))
    whole.attach(inner)
    text = whole.as_string()
    assert "iptables" not in text
    found, = parse_cloud_config(text, marked=True)
    assert (found.when, found.text) == ("first_boot", "#!/bin/sh\niptables -F\n")
    assert line_in_file(found,
                        2) == found.line == text.split("\n").index(base64.b64encode(found.text.encode()).decode()) + 1


@pytest.mark.parametrize(
    "encoding, encode", [
        ("b64", base64.b64encode), ("base64", base64.b64encode),
        ("gz+b64", lambda data: base64.b64encode(gzip.compress(data))),
        ("gzip+base64", lambda data: base64.b64encode(gzip.compress(data))), ("!!binary", base64.b64encode),
        ("gzip !!binary", lambda data: base64.b64encode(gzip.compress(data))),
    ])
def test_encoded_files(encoding, encode):
    tag = "!!binary " if "!!binary" in encoding else ""
    text = "#cloud-config\nwrite_files:\n- encoding: %s\n  path: /x\n  content: %s|\n    %s\n" % (
        encoding.replace("!!binary", "").strip() or "text/plain", tag, encode(b"#!/bin/sh\niptables -F\n").decode())
    assert [tuple(each) for each in written_files(text, marked=True)] == [(6, "/x", "#!/bin/sh\niptables -F\n", False)]


def test_a_damaged_encoding_is_no_text():
    for encoding in ("b64", "gzip", "gz+b64"):
        found = written_files("write_files:\n- {path: /x, encoding: %s, content: '*not base64*'}\n" % encoding)
        assert [each.text for each in found] == [""]
    bomb = base64.b64encode(gzip.compress(b"\0" * (64 << 20))).decode()
    assert len(written_files("write_files:\n- {path: /x, encoding: gz+b64, content: %s}\n" % bomb)[0].text) <= 4 << 20


@cases
def test_what_could_not_be_read(text, problem):
    assert unread_config(text, marked=True) == problem


def test_what_could_not_be_read_of_an_archive_in_another_part():
    whole = MIMEMultipart()
    whole.attach(MIMEText("#cloud-config-archive\n- !x a\n", "cloud-config-archive"))
    text = whole.as_string()
    line = text.split("\n").index("#cloud-config-archive") + 1
    assert unread_config(text, marked=True) == "the part at line %d: line 2: a tag is not known" % line


@given(st.one_of(st.binary(), st.text(), st.text(alphabet="#cloud-config\nruncmd: -'\"[]|>")), st.booleans())
def test_no_data_are_too_odd(data, marked):
    parse_cloud_config(data, marked)
    written_files(data, marked)
    unread_config(data, marked)
