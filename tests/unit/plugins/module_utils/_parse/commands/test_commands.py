# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in files of other formats, and in cloud-init's: what runs, at which line, and when."""

import base64
import gzip
import shlex
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import node_tree
import pytest
from case_rows import cases, tables_of
from hypothesis import given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.cloud_config import (
    parse_cloud_config, unread_config, written_files,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.daemon_hooks import (
    parse_anacron_table, parse_cron_table,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.embedded import (
    TIMER, Command, in_place, line_in_file, shell_words,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.event_hooks import (
    parse_apt_conf, parse_dnf_actions, parse_dpkg_cfg, parse_interfaces, parse_logrotate_conf, parse_udev_rules,
)

# Each parser, and the letters of texts that it takes apart.
PARSERS = {"apt": (parse_apt_conf, 'DPkg:-IvoetsP{};"/*#\n \\'), "cron of a user": (parse_cron_table, None),
           "cron of the system": (lambda text: parse_cron_table(text, with_user=True), None),
           "anacron": (parse_anacron_table, None), "dnf": (parse_dnf_actions, None),
           "dpkg": (parse_dpkg_cfg, None), "interfaces": (parse_interfaces, "auto ifcep-n\\\n#\r"),
           "logrotate": (parse_logrotate_conf, None), "udev": (parse_udev_rules, 'RUNPOGAM+=":{}\\\'\n #e$%/a b')}
CONFIG, WANTED = (tables_of(__file__)["what_is_read"][0][name] for name in ("text", "commands"))


@cases
def test_commands_of_a_file(parser, text, found):
    """What runs: its line in the file, its text, when, and whether the text stands in the file as it is."""
    assert [(each.line, each.text, each.when, each.exact) for each in PARSERS[parser][0](text)] == found


@pytest.mark.parametrize("parser", PARSERS)
@given(st.data())
def test_no_text_is_too_odd(parser, data):
    parse, letters = PARSERS[parser]
    text = data.draw(st.text(alphabet=letters, max_size=200) if letters else st.text())
    for each in parse(text):
        assert 1 <= each.line <= text.count("\n") + 1


def test_lines_of_a_text_that_stands_in_the_file_as_it_is_and_of_one_that_does_not():
    assert [line_in_file(Command(5, "a\nb\n", TIMER, True), line) for line in (1, 2)] == [5, 6]
    assert [line_in_file(Command(5, "a\nb\n", TIMER), line) for line in (1, 2)] == [5, 5]


@cases
def test_pieces_of_one_script_keep_their_lines(pieces, wanted):
    assert in_place(pieces) == wanted


@given(st.lists(st.text(alphabet="a '\"$\\;\n"), min_size=1))
def test_words_stay_what_they_are(words):
    assert shlex.split(shell_words(words)) == words


def lines(found):
    """{line of the file: text there}, for each command."""
    return [(each.when, {line_in_file(each, number): text for number, text in enumerate(each.text.split("\n"), 1)
                         if text}) for each in found]


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
    assert found[:2] == [(when, {line + start: text for line, text in texts.items()}) for when, texts in WANTED]
    # Each text stands where the file has it.
    for _when, texts in found[2:]:
        assert all(text.split("\n")[line - 1] == line_text for line, line_text in texts.items())
    assert [when for when, _texts in found[2:]] == ["first_boot", "boot", "boot"]
    assert [each.line for each in written_files(text)] == [start + 23]


def test_parts_in_base64_in_other_parts_and_in_an_archive():
    inner, whole = MIMEMultipart(), MIMEMultipart()
    inner.attach(MIMEText("#!/bin/sh\niptables -F\n", "plain", "utf-8"))
    whole.attach(inner)
    text = whole.as_string()
    assert "iptables" not in text
    found, = parse_cloud_config(text, marked=True)
    assert (found.when, found.text) == ("first_boot", "#!/bin/sh\niptables -F\n")
    assert line_in_file(found,
                        2) == found.line == text.split("\n").index(base64.b64encode(found.text.encode()).decode()) + 1
    whole = MIMEMultipart()
    whole.attach(MIMEText("#cloud-config-archive\n- !x a\n", "cloud-config-archive"))
    text = whole.as_string()
    line = text.split("\n").index("#cloud-config-archive") + 1
    assert unread_config(text, marked=True) == "the part at line %d: line 2: a tag is not known" % line


@pytest.mark.parametrize("encoding, packed", [("b64", False), ("base64", False), ("gz+b64", True),
                                              ("gzip+base64", True), ("!!binary", False), ("gzip !!binary", True)])
def test_encoded_files(encoding, packed):
    script = b"#!/bin/sh\niptables -F\n"
    text = "#cloud-config\nwrite_files:\n- encoding: %s\n  path: /x\n  content: %s|\n    %s\n" % (
        encoding.replace("!!binary", "").strip() or "text/plain", "!!binary " if "!!binary" in encoding else "",
        base64.b64encode(gzip.compress(script) if packed else script).decode())
    assert [tuple(each) for each in written_files(text, marked=True)] == [(6, "/x", script.decode(), False)]


def test_a_damaged_encoding_is_no_text():
    for encoding in ("b64", "gzip", "gz+b64"):
        found = written_files("write_files:\n- {path: /x, encoding: %s, content: '*not base64*'}\n" % encoding)
        assert [each.text for each in found] == [""]
    bomb = base64.b64encode(gzip.compress(b"\0" * (64 << 20))).decode()
    assert len(written_files("write_files:\n- {path: /x, encoding: gz+b64, content: %s}\n" % bomb)[0].text) <= 4 << 20


@cases
def test_what_could_not_be_read(text, problem):
    assert unread_config(text, marked=True) == problem


@given(st.one_of(st.binary(), st.text(), st.text(alphabet="#cloud-config\nruncmd: -'\"[]|>")), st.booleans())
def test_no_data_are_too_odd(data, marked):
    parse_cloud_config(data, marked)
    written_files(data, marked)
    unread_config(data, marked)
