# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a support bundle: a cut or damaged one is refused, and each unread file is named and unknown."""

import bz2
import gzip
import io
import lzma
import os
import pathlib
import resource
import signal
import tarfile
import tempfile
import time
from random import Random

import bundles
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle import (archive as _bundle_archive,
                                                                                 bundles as _bundle, source,
                                                                                 tree as _bundle_tree)

FORMS = pathlib.Path(__file__).resolve().parents[4] / "fixtures" / "forms"
SAVE = gzip.decompress((FORMS / "save.txt.gz").read_bytes()).decode()
LSMOD = "Module                  Size  Used by\nnf_conntrack          180224  4 xt_conntrack,nf_nat\n"
SCRIPT = "#!/bin/sh\niptables -F\n"
MUTATIONS = 5000 if os.environ.get("KUBENODE_ROBUST") else 300
ZEROS = gzip.compress(b"\0" * (4 << 20))


def member(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def tar(*rows, form=tarfile.GNU_FORMAT):
    """The bytes of an archive of (name, type, content or target)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for name, kind, content in rows:
            info = member(name, kind, content if kind in (tarfile.LNKTYPE, tarfile.SYMTYPE) else "")
            data = b"" if info.linkname else content.encode()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def header(kind, size, name="a"):
    info = member(name, kind)
    info.size = size
    return info.tobuf()


def sparse(numbers, real=b"00000001000"):
    """The header of a sparse file of GNU tar, with these bytes as its map."""
    block = bytearray(header(tarfile.GNUTYPE_SPARSE, 0))
    block[386:386 + len(numbers)] = numbers
    block[483:494] = real
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


WHOLE = tar(("lsmod", tarfile.REGTYPE, LSMOD), ("etc/cron.d/fw", tarfile.REGTYPE, "* * * * * root iptables -F\n"))
ENDED = len(WHOLE.rstrip(b"\0")) // 512 * 512 + 512


@pytest.mark.parametrize("data, sentence", [
    (WHOLE[:ENDED], "its end is missing after byte %d" % ENDED),
    (WHOLE[:ENDED + 512], "its end is missing after byte"), (WHOLE[:ENDED - 512], "unexpected end of data"),
    (WHOLE[:1024], "its end is missing"), (WHOLE[:1100], "damaged"),
    (WHOLE[:1024] + b"x" * 512, "header .* is damaged"),
    (WHOLE + WHOLE, "more data follows after its end"), (WHOLE[:-512] + b"x" * 512, "more data follows"),
    (gzip.compress(WHOLE)[:-4], "end-of-stream marker"), (bz2.compress(WHOLE)[:-4], "end-of-stream marker"),
    (lzma.compress(WHOLE)[:-4], "the end of its xz stream is missing"), (lzma.compress(WHOLE)[:70], "xz stream"),
    (gzip.compress(WHOLE)[:-8] + b"\0" * 8, "CRC check failed"), (gzip.compress(WHOLE[:ENDED]), "its end is missing"),
    *((WHOLE[:ENDED] + header(kind, 100 << 20) + b"x" * 999, "header near byte .* is larger than 128 KiB")
      for kind in (b"L", b"K", b"x", b"g")),
    (header(b"L", 1) * 2 + b"a" * 512, "invalid header"),
    ((header(b"L", 1) + b"a" + b"\0" * 511) * 2000, "is larger than 128 KiB"),
    (bz2.compress(WHOLE[:ENDED] + sparse(b"0" * 95, b"\x80" + b"\xff" * 10)), "damaged"),
    (WHOLE[:ENDED] + sparse(b"00000000009900000000001" + b"\0" * 80, b"0000000x000"), "damaged")])
def test_a_cut_or_damaged_archive_is_one_sentence(data, sentence, tmp_path):
    (tmp_path / "b").write_bytes(data)
    with pytest.raises(BadInput, match=sentence) as raised:
        bundles.judged(tmp_path / "b")
    assert "\n" not in str(raised.value) and ("; copy or collect it again" in str(raised.value))


@pytest.mark.robust(mutations=MUTATIONS)
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_no_damage_of_an_archive_raises_or_takes_files_away(form, tmp_path):
    whole = tar(("lsmod", tarfile.REGTYPE, LSMOD), ("n" * 150 + "/fw.sh", tarfile.REGTYPE, SCRIPT),
                ("etc/cron.d/x", tarfile.LNKTYPE, "lsmod"), form=form)
    path, end = tmp_path / "b", len(whole.rstrip(b"\0"))
    path.write_bytes(whole)
    held = list(source.items_of(path))
    assert [item.data for item in held] == [LSMOD.encode(), SCRIPT.encode(), LSMOD.encode()]
    seed = int(os.environ.get("KUBENODE_SEED") or time.time())
    print("KUBENODE_SEED=%d" % seed)
    random = Random(seed)
    for number in range(MUTATIONS):
        data = bytearray(whole)
        if number % 2:
            del data[random.randrange(512, end + 1024):]
        else:
            data[random.randrange(end)] = random.randrange(256)
            block = data[:512]
            block[148:156] = b" " * 8
            data[148:156] = b"%06o\0 " % sum(block)
        path.write_bytes(data)
        try:
            items = list(source.items_of(path))
        except BadInput:
            continue
        assert not number % 2 or len(data) >= end + 1024 or items == held


@pytest.mark.parametrize("limit, value, make", [
    ("FILES_LIMIT", 3, lambda path: bundles.folder(path, {"%d/lsmod" % number: LSMOD for number in range(5)})),
    ("TOTAL_LIMIT", 100, lambda path: bundles.folder(path, {"%d/lsmod" % number: LSMOD for number in range(5)})),
    ("TOTAL_LIMIT", 9 << 20, lambda path: bundles.folder(path, {"%d.gz" % n: ZEROS for n in range(5)})),
    ("TOTAL_LIMIT", 9 << 20, lambda path: bundles.archive(path, {"%d.gz" % n: ZEROS for n in range(5)})),
    ("TOTAL_LIMIT", 9 << 20, lambda path: bundles.archive(path, {"a": b"\0" * (4 << 20)}, members=[
        member(str(number), tarfile.LNKTYPE, "a") for number in range(3)])),
    ("FILES_LIMIT", 99, lambda path: bundles.folder(path, {"a.gz": gzip.compress(b"") * 100})),
    ("NAMES_LIMIT", 9, lambda path: bundles.archive(path, {}, members=[member("a", tarfile.SYMTYPE, "b" * 9)]))])
def test_limits(limit, value, make, tmp_path, monkeypatch):
    monkeypatch.setattr(source, limit, value)
    with pytest.raises(BadInput, match="contains (more than|links with more than)"):
        bundles.judged(make(tmp_path / "b"))


@pytest.mark.parametrize("packed, plain, unread", [
    (gzip.compress(b"one\n") + gzip.compress(b"two\n"), b"one\ntwo\n", None),
    (gzip.compress(b"one\n") + gzip.compress(b"") + gzip.compress(b"two\n") + b"\0" * 512, b"one\ntwo\n", None),
    (gzip.compress(b"one\n") + gzip.compress(b"two\n")[:-9], b"one\ntwo\n", "its gzip data is cut"),
    (gzip.compress(b"one\n") + b"x", b"one\n", "its gzip data is cut"),
    (gzip.compress(b"one\n") + b"x" * 99, b"one\n", "its gzip data is damaged"),
    (gzip.compress(b"one\n")[:6], b"", "its gzip data is cut"),
    (gzip.compress(b"\0" * (8 << 20)), b"\0" * (5 << 20), "it is larger than 4 MiB when unpacked")])
def test_a_packed_file_may_have_several_members(packed, plain, unread, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "FILE_LIMIT", 4 << 20)
    items = list(source.items_of(str(bundles.folder(tmp_path, {"kubelet.log.gz": packed}))))
    assert [(item.path, item.data, item.unread) for item in items] == [("kubelet.log", plain, unread)]


LARGE = "#!/bin/sh\n" + "#" * 600000
PLACED = "another file of the bundle has the same path on the node"
FILE, HARD, SOFT, DEVICE, FIFO = (tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
OTHER = b"W"


@cases
def test_what_is_not_read_is_named_and_unknown(rows, unread, unknown, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "FILE_LIMIT", 500000)
    (tmp_path / "b").write_bytes(tar(("lsmod", tarfile.REGTYPE, LSMOD), *rows))
    found, evidence = bundles.judged(tmp_path / "b")
    named = [(row["subject"], row["evidence"]) for row in evidence["node_host"]["bundle"]["lacks"]]
    assert [row for row in named if row[1] != "the bundle does not contain it"] == list(map(tuple, unread))
    assert set(unknown) <= set(bundles.told(found, "unknown"))
    assert set(bundles.told(found, "fail")) == ({"HOOK003"} if SCRIPT in rows[0] else set())


def test_rules_beyond_a_limit_are_read_up_to_it(tmp_path, monkeypatch):
    text = SAVE.replace("-A FORWARD", "-A FORWARD -s 10.128.0.0/14 -j DROP\n-A FORWARD", 1)
    monkeypatch.setattr(source, "FILE_LIMIT", len(text) - 10)
    monkeypatch.setattr(source, "_HEAD", len(text) - 10)
    found = bundles.judged(bundles.folder(tmp_path / "b", {"save.txt": text, "lsmod": LSMOD}))[0]
    failed, unknown = bundles.told(found, "fail"), bundles.told(found, "unknown")
    assert set(failed) == {"CHAIN015", "CHAIN032"} and "CHAIN001" in unknown
    monkeypatch.undo()
    many = {"%d.txt" % number: SAVE for number in range(_bundle_tree.RULES_LIMIT + 1)}
    assert "CHAIN015" in bundles.told(bundles.judged(bundles.folder(tmp_path / "many", many))[0], "unknown")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not read")
@pytest.mark.parametrize("path, unknown", [("etc/cron.d/fw", {"HOOK001"}), ("etc/cron.d", {"HOOK001"}),
                                           ("any", {"HOOK001", "CHAIN015", "KMOD002"}), ("a", {"HOOK001", "CHAIN015"})])
def test_unreadable_files_and_folders_are_named(path, unknown, tmp_path):
    folder = bundles.folder(tmp_path / "b", {"etc/cron.d/fw": "x", "any": "x", "a/b": "x", "lsmod": LSMOD})
    for place in (tmp_path, *tmp_path.parents):
        place.chmod(place.stat().st_mode | 0o055)
    (folder / path).chmod(0)
    os.seteuid(65534)
    try:
        found, evidence = bundles.judged(folder)
    finally:
        os.seteuid(0)
        (folder / path).chmod(0o700)
    row = {"subject": path + "/" * (path in ("a", "etc/cron.d")),
           "evidence": "it could not be read (Permission denied)"}
    assert row in evidence["node_host"]["bundle"]["lacks"] and unknown <= set(bundles.told(found, "unknown"))
    assert not bundles.told(found, "fail")


def test_a_dictionary_of_xz_has_a_limit(tmp_path, monkeypatch):
    (tmp_path / "b").write_bytes(lzma.compress(WHOLE))
    monkeypatch.setattr(_bundle_archive, "_MEMORY_LIMIT", 1 << 20)
    with pytest.raises(BadInput, match="Memory usage limit exceeded; copy"):
        bundles.judged(tmp_path / "b")


def test_a_full_temporary_folder_is_one_sentence(tmp_path):
    """A limit of the size of a file stands for the full disk."""
    path = bundles.folder(tmp_path / "b", {"lsmod": LSMOD * 99})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
    try:
        with pytest.raises(BadInput) as raised:
            bundles.judged(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(raised.value) == ("bundle %s could not be unpacked in the temporary folder %s: File too large; free "
                                 "space there, or set TMPDIR to another folder" % (path, tempfile.gettempdir()))


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_removes_the_tree_before_it_ends_the_process(signum, tmp_path):
    path, ends = str(bundles.folder(tmp_path, {"lsmod": LSMOD})), []
    before = signal.signal(signum, lambda *_arguments: ends.append(os.path.exists(tree["root"])))
    try:
        with pytest.raises(SystemExit), _bundle.opened(path) as tree:
            os.kill(os.getpid(), signum)
    finally:
        signal.signal(signum, before)
    assert ends == [False]


def test_reading_ends_with_the_parent(tmp_path, monkeypatch):
    parents = iter((7, 1))
    monkeypatch.setattr(_bundle_tree.os, "getppid", lambda: next(parents))
    with pytest.raises(BadInput, match="the run that it belongs to has ended"):
        bundles.judged(bundles.folder(tmp_path, {"lsmod": LSMOD}))
