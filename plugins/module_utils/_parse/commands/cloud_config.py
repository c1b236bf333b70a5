# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands and files in cloud-init's configuration and user data. PRIVATE to the collection.

Sample:
    #cloud-config
    bootcmd:
      - iptables -F
    runcmd:
      - [ systemctl, restart, iptables ]
    write_files:
      - path: /etc/cron.d/fw
        content: |
          @reboot root /opt/fw.sh
Grammar: cloud-init cloudinit/config/cc_bootcmd.py, cc_runcmd.py, cc_write_files.py, util.shellify(): the items of a
list become one script; a text is taken as it is, a list becomes quoted words. `bootcmd` and boothooks run at every
boot, `runcmd` and scripts once.
"""

import base64
import binascii
import collections
import quopri
import re
import zlib

from ..yaml.parse_yaml import BINARY, LIST, MAP, NOTHING, SCALAR, item, parse_yaml
from .embedded import BOOT, FIRST_BOOT, Command, in_place, shell_words

_LISTS = (("bootcmd", BOOT), ("runcmd", FIRST_BOOT))
# Matches a text that may hold one of these keys; a text with a backslash may hold a key written with escapes.
_COMMANDS = re.compile(r"\b(?:bootcmd|runcmd|write_files)\b|\\")
_SCRIPTS = {"script": FIRST_BOOT, "script_per_boot": BOOT, "boothook": BOOT}
_BASE64 = ("b64", "base64", "gz+b64", "gz+base64", "gzip+b64", "gzip+base64")
_GZIP = ("gz", "gzip", "gz+b64", "gz+base64", "gzip+b64", "gzip+base64")

# `exact`: line N of the text is line `line + N - 1` of the file.
WrittenFile = collections.namedtuple("WrittenFile", "line path text exact")
LIMIT = 4 * 1024 * 1024
_PARTS = 200
_DEPTH = 4
_GZIP_MAGIC = b"\x1f\x8b"
Part = collections.namedtuple("Part", "line sort text exact")

_STARTS = (("#!", "script"), ("#cloud-boothook", "boothook"), ("#cloud-config-archive", "archive"),
           ("#cloud-config", "config"))
TYPES = {
    "text/cloud-config": "config", "text/cloud-config-archive": "archive", "text/cloud-boothook": "boothook",
    "text/x-shellscript": "script", "text/x-shellscript-per-boot": "script_per_boot",
    "text/x-shellscript-per-instance": "script", "text/x-shellscript-per-once": "script"}
# Parts of these types are classified by their first line; many files declare text/plain by mistake.
_UNTYPED = ("", "text/plain", "text/x-not-multipart", "application/octet-stream", "text/jinja2")
_TEMPLATE = re.compile(r"##\s*template:\s*jinja", re.IGNORECASE)
_STATEMENT = re.compile(r"^[ \t]*\{%.*%\}[ \t]*$", re.MULTILINE)
_HEADER = re.compile(r"([!-9;-~]+):[ \t]*(.*)\Z")
_BOUNDARY = re.compile(r"boundary=(?:\"([^\"]+)\"|([^\s;]+))", re.IGNORECASE)


def parse_cloud_config(data, marked=False):
    """[Command] of `cloud.cfg`, or of user data or vendor data (`marked`: only with its `#cloud-config` line)."""
    found = []
    for part in _all_parts(data, marked):
        if part.sort in _SCRIPTS:
            text = part.text
            if part.sort == "boothook":
                # The `#cloud-boothook` line stands in the place of the shebang.
                text = text.replace("#cloud-boothook", "#", 1)
            found.append(Command(part.line, text, _SCRIPTS[part.sort], part.exact))
        else:
            found.extend(_of_config(part))
    return found


def written_files(data, marked=False):
    """[WrittenFile] that `write_files` of the same data writes."""
    return [written for part in _all_parts(data, marked) if part.sort == "config"
            for entry in _listed(item(_read(part), "write_files")) for written in _written(entry, part)]


def unread_config(data, marked=False):
    """The problem of the first part that may hold commands and cannot be read completely, with its line in the file, or
    None. The parsers still return its readable commands."""
    for part in _all_parts(data, marked, with_archives=True):
        # The parts of an archive may be scripts, which no key names.
        if part.sort == "archive" or part.sort == "config" and _COMMANDS.search(part.text):
            problem = next((document.problem for document in parse_yaml(part.text)[:1]), None)
            if problem:
                return problem if part.line == 1 else "the part at line %d: %s" % (part.line, problem)
    return None


def _read(part):
    """The node of the first document, as far as it can be read (see unread_config())."""
    documents = parse_yaml(part.text)
    return documents[0].root if documents else NOTHING


def _all_parts(data, marked, with_archives=False):
    """The parts, with each archive replaced, or followed, by its own parts."""
    found = []
    for part in parse_user_data(data, None if marked else "config"):
        if part.sort != "archive" or with_archives:
            found.append(part)
        if part.sort == "archive":
            found.extend(_of_archive(part))
    return found


def _of_archive(part):
    """The parts of a `#cloud-config-archive`: texts, or mappings with a type and a content."""
    found = []
    for entry in _listed(_read(part)):
        content = item(entry, "content") if entry.kind == MAP else entry
        if content.kind == SCALAR:
            sort = TYPES.get(item(entry, "type").value)
            line, exact = _line(part, content), part.exact and content.exact
            found.extend(Part(line, sort or inner.sort, inner.text, exact)
                         for inner in parse_user_data(content.value, sort))
    return found


def _of_config(part):
    found, top = [], _read(part)
    for key, when in _LISTS:
        pieces = [(node.line, text) for node, text in _shell_texts(item(top, key))]
        if pieces:
            line, text, exact = in_place(pieces)
            found.append(Command(part.line + line - 1 if part.exact else part.line, text, when, exact and part.exact))
    return found


def _shell_texts(node):
    """(node, shell text) of each item that cloud-init would run."""
    for entry in _listed(node):
        if entry.kind == SCALAR and entry.value.strip():
            yield entry, entry.value
        elif entry.kind == LIST and entry.value:
            yield entry, shell_words([word.value for word in entry.value if word.kind == SCALAR])


def _written(entry, part):
    path, content = item(entry, "path"), item(entry, "content")
    if (path.kind != SCALAR or not path.value.startswith("/") or content is NOTHING
            or content.kind not in (SCALAR, BINARY)):
        return []
    encoding, text = str(item(entry, "encoding").value).strip().lower(), content.value
    data = from_base64(text) if content.kind == BINARY or encoding in _BASE64 else text.encode("utf-8", "replace")
    if encoding in _BASE64 and content.kind == BINARY:
        data = from_base64(data.decode("ascii", "replace"))
    if encoding in _GZIP:
        data = unpacked(data)
    exact = content.exact and part.exact and content.kind == SCALAR and encoding not in _BASE64 + _GZIP
    return [WrittenFile(_line(part, content), path.value.strip(), data.decode("utf-8", "replace"), exact)]


def _line(part, node):
    return part.line + node.line - 1 if part.exact else part.line


def _listed(node):
    return node.value if node.kind == LIST else []


# The parts of cloud-init's user data.
# A `Part` has `line`, where its text begins in the file, `sort`, `text` and `exact` (see `Command`). The first line or
# the type of a MIME part decides the sort: `config`, `archive`, `script` (once per instance), `script_per_boot`,
# `boothook`; any other part is left out. Format: cloud-init doc/rtd/explanation/format, cloudinit/user_data.py,
# handlers/__init__.py.
def decoded(data):
    """(text, whether the text is the unchanged file) of bytes or text; gzip is unpacked, up to LIMIT bytes."""
    if not isinstance(data, bytes):
        return data, True
    if not data.startswith(_GZIP_MAGIC):
        return data[:LIMIT].decode("utf-8", "replace"), True
    return unpacked(data).decode("utf-8", "replace"), False


def unpacked(data):
    """The bytes of a gzip file, up to the first damage and at most LIMIT."""
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, LIMIT)
    except zlib.error:
        return b""


def from_base64(text):
    """The bytes that `text` encodes; empty where it is not base64."""
    compact = "".join(text[:LIMIT * 2].split())
    try:
        return base64.b64decode((compact + "=" * (-len(compact) % 4)).encode("ascii"))[:LIMIT]
    except (binascii.Error, ValueError):
        return b""


def parse_user_data(data, sort=None):
    """[Part] of user data. `sort`: that of a text without a known first line, which cloud-init itself does not run."""
    text, exact = decoded(data)
    if "mime-version:" in text[:4096].lower() or text[:13].lower() == "content-type:":
        return _of_message(text, 1, exact, 0)
    return _typed(text, 1, exact, _sort_of(text) or sort)


def _typed(text, line, exact, sort):
    if _TEMPLATE.match(text):
        # A template statement prints nothing; its line stays, so that the others keep their numbers.
        text = _STATEMENT.sub("", text)
    return [Part(line, sort, text, exact)] if sort else []


def _sort_of(text):
    start = text.lstrip(u"\ufeff")
    if _TEMPLATE.match(start):
        start = start.partition("\n")[2].lstrip()
    return next((sort for mark, sort in _STARTS if start.startswith(mark)), None)


def _of_message(text, line, exact, depth):
    headers, body, skipped = _headers(text)
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = headers.get("content-transfer-encoding", "").strip().lower()
    boundary = _BOUNDARY.search(headers.get("content-type", ""))
    if content_type.startswith("multipart/"):
        if not boundary or depth >= _DEPTH:
            return []
        return _of_multipart(body, line + skipped, exact, boundary.group(1) or boundary.group(2), depth)
    if encoding == "base64":
        body, exact = decoded(from_base64(body))[0], False
    elif encoding == "quoted-printable":
        body, exact = quopri.decodestring(body.encode("utf-8")).decode("utf-8", "replace"), False
    return _typed(body, line + skipped, exact,
                  TYPES.get(content_type) or (_sort_of(body) if content_type in _UNTYPED else None))


def _of_multipart(body, line, exact, boundary, depth):
    found, start, lines = [], None, body.split("\n")
    for number, text in enumerate(lines + ["--%s--" % boundary]):
        if text.rstrip("\r\t ") not in ("--" + boundary, "--%s--" % boundary):
            continue
        if start is not None and len(found) < _PARTS:
            found.extend(_of_message("\n".join(lines[start:number]), line + start, exact, depth + 1))
        if text.startswith("--%s--" % boundary):
            break
        start = number + 1
    return found


def _headers(text):
    """({lower name: value}, body, number of lines before it) of a message."""
    headers, name, lines = {}, None, text.split("\n")
    for number, line in enumerate(lines):
        line = line.rstrip("\r")
        found = _HEADER.match(line)
        if not line:
            return headers, "\n".join(lines[number + 1:]), number + 1
        if line[0] in " \t" and name:
            headers[name] += " " + line.strip()
        elif found:
            name = found.group(1).lower()
            headers[name] = found.group(2)
        elif number or not line.startswith("From "):
            return headers, "\n".join(lines[number:]), number
    return headers, "", len(lines)
