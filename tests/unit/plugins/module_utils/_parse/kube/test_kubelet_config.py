# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of the few fields of a KubeletConfiguration."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kubelet_config import (
    DEFAULTS, FIELDS, parse_kubelet_config)

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
KUBEADM = HEAD + """\
authentication:
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
  webhook:
    port: 1
clusterDNS:
- 10.96.0.10
port: 10260
staticPodURLHeader:
  Authorization: ["Bearer of a secret"]
makeIPTablesUtilChains: false
"""


@pytest.mark.parametrize(
    "text, found", [
        (HEAD, {}),
        (KUBEADM, {"port": 10260, "make_iptables_util_chains": False}),
        (HEAD + "readOnlyPort: 10255 # for the old agent\nhealthzPort: 10300\nhairpinMode: \"hairpin-veth\"\n",
         {"read_only_port": 10255, "healthz_port": 10300, "hairpin_mode": "hairpin-veth"}),
        (HEAD + "iptablesMasqueradeBit: 16\r\niptablesDropBit: 17\r\n",
         {"iptables_masquerade_bit": 16, "iptables_drop_bit": 17}),
        (HEAD + '"port": 10261\n', {"port": 10261}),
        (HEAD + "port: 1\nport: 2\n", {"port": 2}),
        # A value that makes no sense to us is not the default.
        (HEAD + "port: many\nmakeIPTablesUtilChains: perhaps\nhairpinMode: secret\nreadOnlyPort: -1\nhealthzPort: "
                "'10300'\niptablesDropBit: [1]\n",
         dict.fromkeys(("port", "make_iptables_util_chains", "hairpin_mode", "read_only_port", "healthz_port",
                        "iptables_drop_bit"))),
        (HEAD.replace("apiV", "  apiV").replace("kind", "  kind") + "  port: 10262\n", {"port": 10262}),
        ("{kind: KubeletConfiguration, 'port': 10264,\n  makeIPTablesUtilChains: false, clusterDNS: [10.96.0.10]}\n",
         {"port": 10264, "make_iptables_util_chains": False}),
        ("'kind': KubeletConfiguration\n'makeIPTablesUtilChains' : false\n", {"make_iptables_util_chains": False}),
        ("x: &port 10265\nkind: KubeletConfiguration\nport: *port\nmakeIPTablesUtilChains:\n  false\n",
         {"port": 10265, "make_iptables_util_chains": False}),
        ("kind: &kind KubeletConfiguration\nmakeIPTablesUtilChains: &no false\n", {"make_iptables_util_chains": False}),
        ("kind: InitConfiguration\nport: 1\n---\n" + HEAD + "port: 10266\n---\nport: 2\n", {"port": 10266}),
        (HEAD + "hairpinMode: ~\nport: null\nreadOnlyPort:\n", {}),
        ('{"kind": "KubeletConfiguration", "port": 10263, "makeIPTablesUtilChains": false, "clusterDNS": '
         '["10.96.0.10"], "hairpinMode": null}', {"port": 10263, "make_iptables_util_chains": False}),
        ("x: &x {port: 10267, readOnlyPort: 1}\n" + HEAD + "<<: *x\nreadOnlyPort: 0x10\nmakeIPTablesUtilChains: off\n",
         {"port": 10267, "read_only_port": 16, "make_iptables_util_chains": False}),
        ('{\n\t"kind":"KubeletConfiguration",\n\t"makeIPTablesUtilChains":false,\n\t"port":10268\n}\n',
         {"port": 10268, "make_iptables_util_chains": False}),
    ])
def test_fields(text, found):
    assert parse_kubelet_config(text) == (found, None)


@pytest.mark.parametrize("text", ["", "kind: KubeProxyConfiguration\nport: 1\n", '{"kind": "KubeletConfiguration"',
                                  "{}", "\x7fELF", "port: 10250\n", '{"kind":"KubeletConfiguration",' + "[" * 100000,
                                  "# kind: KubeletConfiguration\n", HEAD + "port: 1\n    more: 2\n", HEAD + "<<: *x\n",
                                  "x: &x {port: 1}\nport: 2\n" + HEAD + "<<: *x\n", HEAD + "? port\n: 1\n",
                                  HEAD + "port: !!int 10261\n", HEAD + "x: {port: *y}\n", "  " + HEAD + "port: 3\n",
                                  HEAD + "\tport: 3\n"])
def test_something_else_is_none(text):
    fields, problem = parse_kubelet_config(text)
    assert fields is None and problem


def test_every_field_has_a_default():
    assert set(DEFAULTS) == set(FIELDS)


@given(st.text() | st.dictionaries(st.sampled_from(sorted(field for field, _read in FIELDS.values()) + ["kind"]),
                                   st.none() | st.text() | st.integers() | st.booleans()
                                   | st.lists(st.integers())).map(json.dumps))
def test_any_text_is_read_without_an_exception_and_only_what_is_known_is_kept(text):
    for whole in (text, HEAD + text, '{"kind": "KubeletConfiguration", ' + text[1:]):
        found = parse_kubelet_config(whole).fields
        assert found is None or set(found) <= set(FIELDS)
        for value in (found or {}).values():
            assert value in ("promiscuous-bridge", "hairpin-veth", "none", None) or 0 <= value <= 99999
