# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host: it reads one tree; no look blocks, reads without a limit, or leaves the tree."""

import os
import time

import pytest

from case_rows import cases
from node_tree import FIFO, compressed, executable, link, mode, open_folder, sparse, unpack
from node_processes import as_nobody, is_gone, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import (
    ABSENT, BLOCK, DENIED, OK, OUTPUT_LIMIT, TEXT_LIMIT, TIMEOUT, UNPARSED, Host)

LIVE = Host("/")
# More than one block, with content that differs from block to block.
LONG = b"".join(b"line %d\n" % number for number in range(200000))


@pytest.fixture
def tree(tmp_path):
    return unpack({"etc/secret": "of the tree\n", "etc/absolute": link("/etc/secret"),
                   "etc/relative": link("secret"), "etc/climbing": link("../../../../../../etc/secret"),
                   "etc/outside": link("/../../usr/../etc/secret"),
                   "etc/chain": link("absolute"), "etc/loop": link("loop2"),
                   "etc/loop2": link("loop"), "etc/dangling": link("/nowhere"), "etc/folder": link("/usr/lib"),
                   "usr/lib/deep/file": "deep\n", "lib": link("usr/lib"), "etc/pipe": FIFO,
                   "etc/zero": link("/dev/zero"), "etc/huge": sparse(10 * 1024 ** 3), "etc/binary": b"a\xff\xfe\x00b",
                   "etc/good.gz": compressed("plain\n"), "etc/bomb.gz": compressed(b"\0" * (TEXT_LIMIT + 1)),
                   "etc/cut.gz": compressed("plain\n" * 1000)[:-12], "etc/no.gz": "no gzip"}, tmp_path)


@pytest.mark.parametrize("name", ["secret", "absolute", "relative", "climbing", "outside", "chain"])
def test_links_stay_in_the_tree(tree, name):
    host = Host(tree)
    assert host.read_text("/etc/" + name).text == "of the tree\n"
    assert host.tree_path("/etc/" + name) == "/etc/secret"


def test_kinds_and_folders_behind_links(tree):
    host = Host(tree)
    assert host.list_dir("/etc/folder/deep") == (OK, ["file"])
    assert host.read_text("/lib/deep/../deep/file").text == "deep\n"
    assert host.tree_path("/lib/deep/file") == "/usr/lib/deep/file"
    assert host.is_dir("/etc/folder") and not host.is_file("/etc/folder")
    assert host.is_file("/etc/chain") and host.exists("/etc/chain")
    assert not host.exists("/etc/loop") and not host.is_file("/etc/dangling")
    assert host.read_link("/etc/chain") == "absolute" and host.read_link("/etc/secret") is None
    assert host.tree_path("/etc/dangling") is None


@cases
def test_what_cannot_be_read_has_a_word_and_takes_no_time(tree, name, status):
    begun = time.monotonic()
    text = Host(tree).read_text("/etc/" + name)
    assert (text.status, text.text, text.ok) == (status, "", False)
    assert time.monotonic() - begun < 5


def test_what_comes_out_is_text_within_the_limit(tree):
    host = Host(tree)
    assert host.read_text("/etc/binary").text == "a\ufffd\ufffd\0b" and host.read_text("/etc/good.gz").text == "plain\n"
    assert host.read_text("/etc/good.gz", limit=5).status == UNPARSED
    assert host.read_text("/etc/secret", limit=12).ok
    assert host.read_text("/etc/secret", limit=11).status == UNPARSED


@pytest.mark.parametrize("root", ["/", None])
@pytest.mark.parametrize("path", ["/etc/a\0b", "/etc/\ufffd/x", "/etc/\udcff"])
def test_a_path_that_no_file_can_have_is_absent(tree, root, path):
    host = Host(root or tree)
    assert host.read_text(path).status == ABSENT
    assert host.list_dir(path)[0] == ABSENT
    assert host.stat(path) is None and host.tree_path(path) is None and host.read_link(path) is None


def test_nothing_is_seen_where_the_root_is_missing(tmp_path):
    host = Host(str(tmp_path / "none"))
    assert host.list_dir("/etc") == (ABSENT, []) and not host.is_dir("/")


def test_denied_is_not_absent():
    folder = open_folder()
    unpack({"etc/closed/file": "x", "etc/secret": mode(0o000, "x")}, folder)
    os.chmod(folder + "/etc/closed", 0o000)

    def look():
        host = Host(folder)
        return [host.read_text("/etc/secret").status, host.list_dir("/etc/closed")[0],
                host.read_text("/etc/closed/file").status, host.is_root()]
    assert as_nobody(look) == [DENIED, DENIED, DENIED, False]


def test_programs_of_a_tree_are_found_and_not_run(tmp_path):
    host = Host(unpack({"usr/sbin/iptables": link("/etc/alternatives/iptables"),
                        "etc/alternatives/iptables": link("/usr/sbin/xtables-nft-multi"),
                        "usr/sbin/xtables-nft-multi": executable(), "usr/sbin/nft": "not executable",
                        "usr/local/bin/ipset/x": "a folder", "usr/bin/ipset": executable()}, tmp_path))
    assert host.find_binary("iptables") == "/usr/sbin/iptables"
    assert host.tree_path("/usr/sbin/iptables") == "/usr/sbin/xtables-nft-multi"
    assert host.find_binary("nft") is None
    assert host.find_binary("ipset") == "/usr/bin/ipset"
    mark = tmp_path / "ran"
    host = Host(unpack({"usr/bin/tool": executable("#!/bin/sh\ntouch %s\n" % mark)}, tmp_path))
    assert host.run(["tool"]).status == DENIED
    assert host.run(["/bin/true"]).status == DENIED
    assert not mark.exists() and host.machine() is None


def test_a_command_that_ends_had_no_input_and_a_plain_environment():
    done = LIVE.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.status, done.rc, done.out, done.err, done.ok) == (OK, 3, "out\n", "err\n", False)
    done = LIVE.run(["sh", "-c", "cat; env"])
    assert done.ok and "LC_ALL=C" in done.out and "HOME" not in done.out


def test_a_command_that_hangs_dies_with_its_children_that_keep_the_output_open():
    begun = time.monotonic()
    done = LIVE.run(["sh", "-c", "sleep 300 & echo $!; sleep 300"], timeout=0.5)
    assert (done.status, done.rc) == (TIMEOUT, -9) and time.monotonic() - begun < 10 and is_gone(int(done.out))
    done = LIVE.run(["sh", "-c", "sleep 300 & echo $!"], timeout=0.5)
    assert done.status == TIMEOUT and is_gone(int(done.out))


def test_a_command_that_closes_its_output_or_floods_is_ended():
    assert LIVE.run(["sh", "-c", "exec >&- 2>&-; sleep 300"], timeout=0.5).status == TIMEOUT
    done = LIVE.run(["sh", "-c", "yes"], limit=1000)
    assert done.status == UNPARSED and len(done.out) < 200000


def test_a_command_that_cannot_be_started():
    programs = ("no-such-program-anywhere", "/no/such/program", "/etc/passwd")
    assert [LIVE.run([program]).status for program in programs] == [ABSENT, ABSENT, DENIED]


@needs_root
def test_the_node_goes_first():
    # After a moment, because the priority of a program is lowered only once it runs.
    done = LIVE.run(["sh", "-c", "sleep 0.2; nice; cat /proc/self/oom_score_adj; ulimit -H -c"])
    assert done.out.split() == ["19", "1000", "0"]


def streamed(argv, timeout=20.0, limit=OUTPUT_LIMIT):
    chunks = []
    return LIVE.stream(argv, chunks.append, timeout, limit), b"".join(chunks)


def test_a_stream_gives_all_of_the_output_and_tells_how_it_ended():
    done, data = streamed(["sh", "-c", "seq 1 200000; echo oops >&2; exit 3"], limit=1 << 22)
    assert data == b"".join(b"%d\n" % number for number in range(1, 200001))
    assert (done.status, done.rc, done.out, done.err, done.size) == (OK, 3, "", "oops\n", len(data) + 5)


def test_a_stream_is_consumed_and_the_caller_may_work_while_the_program_runs(tmp_path):
    # The program waits for a file that the consumer of its output creates.
    mark, heard = tmp_path / "heard", []

    def consume(chunk):
        heard.append(chunk)
        mark.touch()
    done = LIVE.stream(["sh", "-c", "echo first; until test -e %s; do sleep 0.05; done; echo last" % mark], consume,
                       20.0, 1000)
    assert done.ok and b"".join(heard) == b"first\nlast\n"
    # The program ends only after the caller has created the file.
    mark = tmp_path / "done"
    done = LIVE.stream(["sh", "-c", "until test -e %s; do :; done; echo last" % mark], lambda chunk: None, 20.0, 1000,
                       mark.touch)
    assert done.ok and done.size == 5


@pytest.mark.parametrize("script",
                         ["echo first; exec sleep 0.2", "exec sleep 0.2", "exec true", "head -c 200000 /dev/zero >&2"])
def test_a_program_that_prints_at_once_or_has_nothing_to_do_gives_no_reason_to(script):
    called = []
    assert LIVE.stream(["sh", "-c", script], lambda chunk: None, 20.0, 1 << 20, lambda: called.append(script)).ok
    assert called == []


def test_memory_of_the_program_and_of_this_one_is_told():
    # The peak begins with the size of the process that starts the program (Linux fs/exec.c exec_mmap()), here with that
    # of all tests so far.
    small, large = [streamed(["python3", "-c", "len(bytearray(%d << 20))" % size], 600.0)[0].peak_bytes
                    for size in (1, 2000)]
    assert small < 1000 << 20 < large
    assert 4 << 20 < LIVE.own_peak_bytes() < 1 << 40


@pytest.mark.parametrize("where", ["", " >&2"])
def test_a_stream_that_floods_is_cut_and_its_messages_are_bounded(where):
    done, data = streamed(["sh", "-c", "yes" + where], limit=1 << 21)
    assert done.status == UNPARSED and done.rc == -9
    assert len(data) <= (1 << 21) + 1 and len(done.err) <= 64 * 1024


def test_what_the_consumer_raises_ends_the_program():
    seen = []

    def consume(chunk):
        seen.append(chunk)
        raise KeyError("broken")
    with pytest.raises(KeyError):
        LIVE.stream(["sh", "-c", "echo $$; sleep 300"], consume, 20.0, 1000)
    assert is_gone(int(seen[0]))


def test_streams_leave_nothing_open():
    before = os.listdir("/proc/self/fd")
    for argv in (["true"], ["sh", "-c", "yes"], ["/no/such/program"], ["sh\0"]):
        streamed(argv, limit=1000)
    assert os.listdir("/proc/self/fd") == before


def read_streamed(tree, content, limit=1 << 22):
    with open(tree + "/etc/dump", "wb") as stream:
        stream.write(content)
    chunks = []
    status = Host(tree).stream_file("/etc/dump", chunks.append, limit)
    assert all(len(chunk) <= BLOCK for chunk in chunks)
    return status, b"".join(chunks)


@pytest.mark.parametrize("content", [b"", b"short", LONG, b"\0" * (2 * BLOCK)], ids=["empty", "short", "long", "zeros"])
def test_a_file_and_its_gzip_give_the_same(tree, content):
    assert read_streamed(tree, content) == (OK, content)
    assert read_streamed(tree, compressed(content)) == (OK, content)


def test_gzips_of_members_damaged_or_too_long(tree):
    packed = compressed(LONG) + compressed(b"more\n") + b"\0" * 1000
    assert read_streamed(tree, packed) == (OK, LONG + b"more\n")
    packed = compressed(LONG)
    status, data = read_streamed(tree, packed[:-20])
    assert status == UNPARSED and LONG.startswith(data) and len(data) > len(LONG) // 2
    assert read_streamed(tree, packed + b"rubbish") == (UNPARSED, LONG)
    assert read_streamed(tree, packed[:5]) == (UNPARSED, b"")
    status, data = read_streamed(tree, packed[:len(packed) // 2] + b"\xff" * 50 + packed[len(packed) // 2:])
    assert status == UNPARSED and len(data) < len(LONG)
    for content in (LONG, compressed(LONG), compressed(b"a" * (1 << 28))):
        status, data = read_streamed(tree, content, limit=100000)
        assert status == UNPARSED and len(data) <= 100001


@pytest.mark.parametrize("name, status", [
    ("loop", ABSENT), ("nothing", ABSENT), ("pipe", UNPARSED), ("folder", UNPARSED), ("zero", ABSENT)])
def test_a_stream_never_waits_for_a_file(tree, name, status):
    assert Host(tree).stream_file("/etc/" + name, None, 1000) == status


def test_what_is_masked_reads_as_an_empty_file_and_was_seen():
    host = Host("/")
    with host.noting() as notes:
        assert host.read_bytes("/dev/null") == ("ok", b"") and host.read_bytes("/dev/zero") == ("unparsed", b"")
    assert list(notes) == ["/dev/zero"]
