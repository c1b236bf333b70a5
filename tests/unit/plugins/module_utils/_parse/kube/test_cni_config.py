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
        ('{"plugins": ["text", {"no": "type"}, {"type": "calico"}]}', ["calico"]), ('{"plugins": []}', []),
        ('{"plugins": "calico"}', []), ("[]", []), ("null", []), ("", []), ("type: calico", []), ('{"type": ', []),
    ])
def test_types_in_order(text, plugins):
    assert parse_cni_config(text, True).plugins == plugins


@pytest.mark.parametrize(
    "text, is_list, problem", [
        ('{"name": "x", "plugins": [{"type": "bridge"}]}', True, None),
        ('{"name": "x", "type": "bridge"}', False, None), ('{"type": "bridge"}', False, None),
        ('{"name": "x", "type": "bridge"}', True, "has no plugins"),
        ('{"plugins": [{"type": "a"}]}', True, "has no name"),
        ('{"name": "x", "plugins": []}', True, "has no plugins"),
        ('{"name": "x", "plugins": [{"type": "a"}, {}]}', True, "has a plugin without type"),
        ('{"name": "x", "plugins": [{"type": "a"}]}', False,
         "has a list of plugins, which is read from files named .conflist only"), ("{}", False, "has no type"),
        ("", True, "is empty"), (" \n", False, "is empty"), ("[]", True, "is not a JSON object"),
        ('{"name": "x",\n "plugins": [{"type": "fl', True, "ends too early (truncated)"),
        ('{"name": "x", "plugins": [{"type": "flannel"}', True, "ends too early (truncated)"),
        ('{"name": "x",\n}', True, "is not valid JSON at line 2"),
        ('{"name": "x"} x', False, "is not valid JSON at line 1"),
        ('{"type": "a", "mtu": NaN}', False, "is not valid JSON"),
        ('\ufeff{"type": "a"}', False, "is not valid JSON at line 1"),
        ('{"plugins":' + "[" * 100000, True, "is nested too deeply"),
    ])
def test_what_libcni_refuses(text, is_list, problem):
    assert parse_cni_config(text, is_list).problem == problem


@pytest.mark.parametrize(
    "plugins, programs", [
        ([{"type": "flannel"}, {"type": "portmap"}], ["flannel", "bridge", "host-local", "portmap"]),
        ([{"type": "flannel", "delegate": {"type": "macvlan"}}], ["flannel", "macvlan"]),
        ([{"type": "bridge", "ipam": {"type": "host-local"}}], ["bridge", "host-local"]),
        ([{"type": "calico", "ipam": {"type": "calico-ipam"}}, {"type": "calico", "ipam": []}],
         ["calico", "calico-ipam"]),
        ([{"type": "bridge", "ipam": {"type": 5}}], ["bridge"]),
    ])
def test_programs_of_a_chain(plugins, programs):
    assert parse_cni_config(json.dumps({"name": "x", "plugins": plugins}), True).programs == programs


def test_a_list_of_plugins_beside_the_type_of_a_single_one_is_ignored():
    config = parse_cni_config('{"name": "n", "type": "bridge", "plugins": [{"type": "portmap"}]}', False)
    assert (config.plugins, config.problem) == (["bridge"], None)


JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(
                        st.sampled_from(["plugins", "type", "x"]), inner), max_leaves=12)


@given(JSON.map(json.dumps) | st.text())
@example('{"type": 1e999}')
@example('{"type": "bridge", "plugins": []}')
@example('{"type": ' + "9" * 5000 + "}")
def test_any_text_is_read_without_an_exception(text):
    for is_list in (False, True):
        config = parse_cni_config(text, is_list)
        assert all(isinstance(plugin, str) and plugin for plugin in config.plugins + config.programs)
        assert config.problem or config.plugins
