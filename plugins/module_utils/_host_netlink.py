# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking the kernel for the counters of connection tracking where it has no file of them. PRIVATE to the collection.

A dump over netlink, which takes no lock and changes nothing. Asking would load the module that answers, so who asks makes sure that it is
there (include/uapi/linux/netfilter/nfnetlink_conntrack.h, net/netfilter/nf_conntrack_netlink.c ctnetlink_ct_stat_cpu_dump()).
"""

import socket
import struct

from . import _host

_NETLINK_NETFILTER = 12
_STATS_OF_CPUS = (1 << 8) | 4  # NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_GET_STATS_CPU
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
_FAMILY_BYTES = 4
_SECONDS = 1.0
_BLOCK = 1 << 16
# Numbers of attributes and the names that the columns of /proc/net/stat/nf_conntrack have.
_NAMES = {2: "found", 4: "invalid", 5: "ignore", 8: "insert", 9: "insert_failed", 10: "drop", 11: "early_drop", 12: "icmp_error",
          13: "search_restart", 14: "clashres", 15: "chainlength"}


def conntrack_counters():
    """(status, {counter: sum over all CPUs since boot}) of this network namespace."""
    try:
        channel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
    except OSError as error:
        return _host.status_of(error), {}
    try:
        channel.settimeout(_SECONDS)
        channel.sendall(_HEADER.pack(_HEADER.size + _FAMILY_BYTES, _STATS_OF_CPUS, _REQUEST_DUMP, 1, 0) + b"\0" * _FAMILY_BYTES)
        return _sums(channel)
    except socket.timeout:
        return _host.TIMEOUT, {}
    except OSError as error:
        return _host.status_of(error), {}
    finally:
        channel.close()


def _sums(channel):
    sums = {}
    while True:
        data = channel.recv(_BLOCK)
        if not data:
            return _host.UNPARSED, {}
        while len(data) >= _HEADER.size:
            length, kind = _HEADER.unpack_from(data)[:2]
            if kind == _DONE:
                return _host.OK, sums
            if kind == _ERROR or length < _HEADER.size:
                return _host.DENIED, {}
            for name, value in _attributes(data[_HEADER.size + _FAMILY_BYTES:length]):
                sums[name] = sums.get(name, 0) + value
            data = data[_aligned(length):]


def _attributes(data):
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        if kind in _NAMES and length == 8:
            yield _NAMES[kind], struct.unpack_from("!I", data, _ATTRIBUTE.size)[0]
        data = data[_aligned(length):]


def _aligned(length):
    return (length + 3) & ~3
