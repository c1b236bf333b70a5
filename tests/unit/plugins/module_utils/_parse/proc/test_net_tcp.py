# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/net/tcp and /proc/net/tcp6."""

import sys

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_tcp import parse_net_tcp

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   %d: %s 00000000:0000 %s 00000000:00000000 00:00000000 00000000     0        0 %s 1 0000 100 0 0 10 0\n"


@pytest.mark.skipif(sys.byteorder != "little", reason="the text is of a little endian machine")
def test_rows():
    text = HEAD + ROW % (0, "0100007F:2809", "0A",
                         "18404") + ROW % (1, "00000000000000000000000000000000:2810", "0A", "7")
    text += ROW % (2, "B80D0120000000000000000007000000:2810", "01", "8")
    text += ROW % (3, "00000000000000000000000001000000:2810", "02", "9") + ROW % (4, "070200C0:2810", "06", "0")
    assert [tuple(row) for row in parse_net_tcp(text)] == [
        ("127.0.0.1", 10249, "LISTEN", 18404), ("::", 10256, "LISTEN", 7),
        ("2001:db8:0:0:0:0:0:7", 10256, "ESTABLISHED", 8), ("::1", 10256, "SYN_SENT", 9),
        ("192.0.2.7", 10256, "OTHER", 0)]


@pytest.mark.parametrize("text", ["", HEAD, HEAD + "junk\n", HEAD + ROW % (0, "01:2809", "0A", "x"),
                                  HEAD + ROW % (0, "xx00007F:2809", "0A", "1"), HEAD + ROW % (0, "0100007F", "0A", "1"),
                                  HEAD + (ROW % (0, "0100007F:2809", "0A", "1")).rstrip("\n")])
def test_what_is_no_row(text):
    assert parse_net_tcp(text) == []
