# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The port that the name of an endpoint's chain was made of, found again among all ports."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.chain_hash import (chain_hash,
                                                                                                    endpoint_text,
                                                                                                    port_of_hash)

SERVICE, PROTOCOL = "ns1/service-\udc80:web", "tcp"


@pytest.mark.parametrize("address", ["10.244.0.7", "fd00:10:244::7"])
@pytest.mark.parametrize("port", [1, 9, 80, 8080, 65535])
def test_the_port_is_found(address, port):
    ending = chain_hash(SERVICE, PROTOCOL, endpoint_text((address, port)))
    assert port_of_hash(ending, SERVICE, PROTOCOL, address) == port


@pytest.mark.parametrize(
    "ending", [
        chain_hash(SERVICE, "udp", "10.244.0.7:80"), chain_hash(SERVICE, PROTOCOL, "10.244.0.8:80"),
        chain_hash(SERVICE, PROTOCOL, "10.244.0.7:0"), chain_hash(SERVICE, PROTOCOL, "10.244.0.7:65536"),
        chain_hash(SERVICE, PROTOCOL, "10.244.0.7:080"), chain_hash(SERVICE, PROTOCOL, "10.244.0.7:80")[:8],
        "ABCDEFGHIJKLMNO1", "abcdefghijklmnop", "\xe4", "",
    ])
def test_there_is_none(ending):
    assert port_of_hash(ending, SERVICE, PROTOCOL, "10.244.0.7") is None
