# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of iptables and nft, from the bytes of their programs. PRIVATE to the collection.

/var/lib/dpkg/alternatives/NAME, /var/lib/alternatives/NAME: a group of alternatives.

Sample: `auto`, `/usr/sbin/iptables`, then name and link of each slave, an empty line, and for each choice its path, its
priority and the paths of its slaves. Debian and openSUSE (dpkg utils/update-alternatives.c) and the Red Hat family
(chkconfig alternatives.c) use the same format, except that the latter writes the family of a choice before its priority
(`@name@10`).
"""

import re

# The build of an iptables program, from its bytes.
# A build of 1.8.9 or later holds `1.8.9 (nf_tables)` or `1.8.9 (legacy)`, which it prints for `--version`; one of 1.8.7
# holds `%s v%s (nf_tables)` and, apart from it, `1.8.7`. Both forms are accepted for every version. Seen in Debian's
# xtables-nft-multi and xtables-legacy-multi of 1.8.7, 1.8.9, 1.8.11 and 1.8.13.
_BACKENDS = {b"nf_tables": "nft", b"legacy": "legacy"}
# A search for this constant beginning costs a tenth of a search for the number before it.
_SUFFIX = re.compile(rb" \((nf_tables|legacy)\)")
_BUILD = re.compile(rb"(?:^|[^0-9.])(\d+\.\d+(?:\.\d+)*)\Z")
_FORMAT = re.compile(rb"%s v?%s\Z")
# Longer than any version, and longer than the format that may stand in its place.
_BEFORE = 24
_ALONE = re.compile(rb"(?<=\0)v?(1\.\d+\.\d+(?:\.\d+)?)(?=\0)")


def parse_iptables_program(data):
    """(backend, version): nft, legacy, wrapper (also kubernetes-sigs/iptables-wrappers) or None; 1.8.9 or None."""
    if data.startswith(b"#!"):
        return "wrapper", None
    if not data.startswith(b"\x7fELF"):
        return None, None
    found = [(data[max(0, match.start() - _BEFORE):match.start()], match.group(1)) for match in _SUFFIX.finditer(data)]
    together = {(_BUILD.search(text).group(1), backend) for text, backend in found if _BUILD.search(text)}
    if len(together) == 1:
        version, backend = together.pop()
        return _BACKENDS[backend], version.decode("ascii")
    suffixes, alone = {backend for text, backend in found if _FORMAT.search(text)}, set(_ALONE.findall(data))
    if len(suffixes) == 1:
        return _BACKENDS[suffixes.pop()], alone.pop().decode("ascii") if len(alone) == 1 else None
    return ("wrapper", None) if b"Go buildinf:" in data else (None, None)


# The version of an nft program and whether it has JSON, from its bytes.
# nft holds its version as a separate string, which it prints for `--version`, and a build without libjansson holds the
# refusal of `--json` (nftables src/main.c, 0.9.0 to 1.1.6; seen in Debian's build of 1.0.6).

# Other libraries of a static build have versions from 2 on (jansson, libedit, GMP).
_NFT_VERSION = re.compile(rb"(?<=\0)([01]\.\d{1,2}(?:\.\d{1,2}){0,2})(?=\0)")
_NAME, _REFUSAL = b"\0nftables\0", b"JSON support not compiled-in"


def parse_nft_program(data):
    """(version or None, whether it has JSON or None); (None, None) if this is no nft."""
    if not data.startswith(b"\x7fELF") or _NAME not in data:
        return None, None
    versions = set(_NFT_VERSION.findall(data))
    return versions.pop().decode("ascii") if len(versions) == 1 else None, _REFUSAL not in data


MODES = ("auto", "manual")
_PRIORITY = re.compile(r"(?:@[^@]*@)?(-?\d{1,9})\Z")


def parse_alternatives(text):
    """`{"mode": auto | manual, "link": path, "slaves": {name: link}}`, or None for any other file."""
    head, empty, _choices = text.partition("\n\n")
    lines = head.split("\n")
    names, links = lines[2::2], lines[3::2]
    if not empty or len(lines) < 2 or lines[0] not in MODES or len(names) != len(links):
        return None
    if not all(path.startswith("/") for path in [lines[1]] + links):
        return None
    return {"mode": lines[0], "link": lines[1], "slaves": dict(zip(names, links))}


def parse_choices(text):
    """`[{"path", "priority", "slaves": {name: path}}]` of such a file, or None; a choice may lack slaves."""
    group = parse_alternatives(text)
    if group is None:
        return None
    head, _empty, choices = text.partition("\n\n")
    names, lines = head.split("\n")[2::2], choices.split("\n")
    found, size = [], 2 + len(names)
    while lines and lines[0]:
        row, lines = lines[:size], lines[size:]
        priority = _PRIORITY.match(row[1]) if len(row) == size else None
        if not priority or not all(path.startswith("/") for path in row[:1] + row[2:] if path):
            return None
        found.append({"path": row[0], "priority": int(priority.group(1)),
                      "slaves": {name: path for name, path in zip(names, row[2:]) if path}})
    return found
