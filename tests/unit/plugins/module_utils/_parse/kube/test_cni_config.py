# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of CNI network configurations."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.cni_config import parse_cni_config


@pytest.mark.parametrize(
    "text, plugins", [
        ('{"cniVersion": "0.3.1", "name": "cbr0", "plugins": [{"type": "flannel"}, {"type": "portmap"}]}',
         ["flannel", "portmap"]), ('{"name": "x", "type": "cilium-cni"}', ["cilium-cni"]),
        ('{"plugins": ["text", {"no": "type"}, {"type": "calico"}]}', ["calico"]), ('{"plugins": []}', None),
        ('{"plugins": "calico"}', None), ("[]", None), ("null", None), ("", None), ("type: calico", None),
        ('{"type": ', None),
    ])
def test_types_in_order(text, plugins):
    assert parse_cni_config(text) == plugins


def test_nesting_without_end():
    assert parse_cni_config('{"plugins":' + "[" * 100000) is None


JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(
                        st.sampled_from(["plugins", "type", "x"]), inner), max_leaves=12)


@given(JSON.map(json.dumps) | st.text())
@example('{"type": 1e999}')
@example('{"type": ' + "9" * 5000 + "}")
def test_any_text_is_read_without_an_exception(text):
    plugins = parse_cni_config(text)
    assert plugins is None or (plugins and all(isinstance(plugin, str) for plugin in plugins))
