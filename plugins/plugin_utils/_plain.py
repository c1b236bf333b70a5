# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts values to JSON types. PRIVATE to the collection.

Ansible marks text (unsafe in 2.16, tagged from 2.19 on) with subclasses of str, int, dict and list. jmespath compares
types by name and does not recognise such text; reports must not carry the marks either.
"""

import datetime


def plain(value):
    """`value` rebuilt from dict, list, str, int, float, bool and None; dates become ISO text, sets become sorted
    lists."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return datetime.date(value.year, value.month, value.day).isoformat()
    return str(value)
