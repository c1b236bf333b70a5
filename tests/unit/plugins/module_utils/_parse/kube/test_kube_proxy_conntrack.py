# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of connection tracking as numbers."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_conntrack import (
    FIELDS, FLAGS, parse_kube_proxy_conntrack)


def test_every_field_is_read():
    assert parse_kube_proxy_conntrack(
        {
            "maxPerCore": "0", "min": "262144", "tcpBeLiberal": "true", "tcpCloseWaitTimeout": "1h0m0s",
            "tcpEstablishedTimeout": "24h", "udpStreamTimeout": "0s",
            "udpTimeout": "90s"}) == {"maxPerCore": 0, "min": 262144, "tcpBeLiberal": 1, "tcpCloseWaitTimeout": 3600,
                                      "tcpEstablishedTimeout": 86400, "udpStreamTimeout": 0, "udpTimeout": 90}


def test_what_is_not_set_and_what_is_no_field_is_left_out():
    assert parse_kube_proxy_conntrack({"max": "5", "min": None}) == {}


@pytest.mark.parametrize("texts", [{"min": "many"}, {"tcpEstablishedTimeout": "one day"}, {"tcpBeLiberal": "perhaps"},
                                   {"min": "1", "maxPerCore": "1.5"}])
def test_a_value_that_cannot_be_read_makes_all_of_them_unknown(texts):
    assert parse_kube_proxy_conntrack(texts) is None


def test_each_field_has_its_flag():
    assert sorted(FLAGS.values()) == sorted(FIELDS) and len(FLAGS) == len(FIELDS)
