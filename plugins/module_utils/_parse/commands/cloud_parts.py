# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of cloud-init's user data. PRIVATE to the collection.

A `Part` has `line`, where its text begins in the file, `sort`, `text` and `exact` (see `Command`). The first line or
the type of a MIME part decides the sort: `config`, `archive`, `script` (once per instance), `script_per_boot`,
`boothook`; any other part is left out. Format: cloud-init doc/rtd/explanation/format, cloudinit/user_data.py,
handlers/__init__.py.
"""

import base64
import binascii
import collections
import quopri
import re
import zlib

LIMIT = 4 * 1024 * 1024
_PARTS = 200
_DEPTH = 4
_GZIP = b"\x1f\x8b"
Part = collections.namedtuple("Part", "line sort text exact")

_STARTS = (("#!", "script"), ("#cloud-boothook", "boothook"), ("#cloud-config-archive", "archive"),
           ("#cloud-config", "config"))
TYPES = {
    "text/cloud-config": "config", "text/cloud-config-archive": "archive", "text/cloud-boothook": "boothook",
    "text/x-shellscript": "script", "text/x-shellscript-per-boot": "script_per_boot",
    "text/x-shellscript-per-instance": "script", "text/x-shellscript-per-once": "script",
}
# Parts of these types are classified by their first line; many files declare text/plain by mistake.
_UNTYPED = ("", "text/plain", "text/x-not-multipart", "application/octet-stream", "text/jinja2")
_TEMPLATE = re.compile(r"##\s*template:\s*jinja", re.IGNORECASE)
_STATEMENT = re.compile(r"^[ \t]*\{%.*%\}[ \t]*$", re.MULTILINE)
_HEADER = re.compile(r"([!-9;-~]+):[ \t]*(.*)\Z")
_BOUNDARY = re.compile(r"boundary=(?:\"([^\"]+)\"|([^\s;]+))", re.IGNORECASE)


def decoded(data, limit=LIMIT):
    """(text, whether the text is the unchanged file) of bytes or text; gzip is unpacked, up to `limit` bytes."""
    if not isinstance(data, bytes):
        return data, True
    if not data.startswith(_GZIP):
        return data[:limit].decode("utf-8", "replace"), True
    return unpacked(data, limit).decode("utf-8", "replace"), False


def unpacked(data, limit=LIMIT):
    """The bytes of a gzip file, up to the first damage and at most `limit`."""
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, limit)
    except zlib.error:
        return b""


def from_base64(text, limit=LIMIT):
    """The bytes that `text` encodes; empty where it is not base64."""
    compact = "".join(text[:limit * 2].split())
    try:
        return base64.b64decode((compact + "=" * (-len(compact) % 4)).encode("ascii"))[:limit]
    except (binascii.Error, ValueError):
        return b""


def parse_user_data(data, sort=None):
    """[Part] of user data, as bytes or as text. `sort`: the sort of a text that has no known first line; cloud-init
    itself does not run such a text."""
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
