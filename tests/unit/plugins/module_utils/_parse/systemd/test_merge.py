# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a unit file and its drop-ins say together: what an empty assignment takes back, and what it does not."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd.merge import merge_assignments
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd.unit import parse_unit


def merged(*texts):
    found = merge_assignments([("/%d" % number, parse_unit(text.encode()).assignments)
                               for number, text in enumerate(texts)])
    return {key: [value.text for value in values] for (_section, key), values in found.items()}


@pytest.mark.parametrize(
    "texts, expected", [
        (["[Service]\nExecStart=/a\nExecStop=/b", "[Service]\nExecStop=\nExecStop=/c"],
         {"ExecStart": ["/a"], "ExecStop": ["/c"]}),
        (["[Service]\nExecStop=/b", "[Service]\nExecStop="], {}),
        (["[Unit]\nAfter=a.service", "[Unit]\nAfter=\nAfter=b.service"], {"After": ["a.service", "b.service"]}),
        (["[Unit]\nConditionPathExists=/a\nConditionHost=b\nAssertHost=c", "[Unit]\nConditionUser="],
         {"AssertHost": ["c"]}),
        (["[Timer]\nOnCalendar=daily\nOnBootSec=5\nPersistent=yes", "[Timer]\nOnBootSec=\nOnBootSec=7"],
         {"OnBootSec": ["7"], "Persistent": ["yes"]}),
        (["[Socket]\nListenStream=1\nListenDatagram=2", "[Socket]\nListenFIFO="], {}),
        (["[Unit]\nDefaultDependencies=no", "[Unit]\nDefaultDependencies="], {"DefaultDependencies": ["no"]}),
        (["[Install]\nWantedBy=a.target\nAlso=b.service", "[Install]\nWantedBy=\nAlso="], {"Also": ["b.service"]}),
    ])
def test_what_is_taken_back(texts, expected):
    assert merged(*texts) == expected


def test_every_value_tells_where_it_stands():
    values = merge_assignments([("/a", parse_unit(b"[Service]\nExecStop=/b").assignments)])["Service", "ExecStop"]
    assert [tuple(value) for value in values] == [("/b", "/a", 2)]


def test_many_keys_that_are_taken_back_again_and_again():
    # Quadratic work would take minutes.
    text = "".join("ConditionX%d=1\nKey%d=2\nConditionY=\n" % (number, number) for number in range(60000))
    assert len(merged("[Unit]\n" + text)) == 60000
