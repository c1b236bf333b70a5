# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in names of log files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.pod_log_names import (parse_container_link,
                                                                                                   parse_pod_folder)

UID, ID = "a5c1f8d5-1919-434d-add7-4afaafdaef89", "5e" * 32
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True)


def test_folders_of_pods():
    assert parse_pod_folder("kube-system_kube-proxy-hx7cw_" + UID) == (UID, "kube-system", "kube-proxy-hx7cw")
    assert parse_pod_folder("kube-system_kube-apiserver-node.example_" + "c9" * 16) == ("c9" * 16, "kube-system",
                                                                                        "kube-apiserver-node.example")


def test_links_of_containers():
    assert parse_container_link("calico-node-x_kube-system_install-cni-%s.log"
                                % ID) == (ID, "kube-system", "calico-node-x", "install-cni")


@pytest.mark.parametrize("name", ["", "lost+found", "a_b", "a_b_c", "a_b_%s_d" % UID, "a_b_%s\n" % UID, "A_b_%s" % UID,
                                  "\x1b_b_%s" % UID])
def test_other_names(name):
    assert parse_pod_folder(name) is None and parse_container_link(name) is None


@given(NAMES, NAMES, NAMES, st.uuids(), st.integers(0, 2 ** 256 - 1))
def test_what_kubelet_writes_is_read_back(namespace, pod, container, uid, number):
    assert parse_pod_folder("%s_%s_%s" % (namespace, pod, uid)) == (str(uid), namespace, pod)
    assert parse_container_link("%s_%s_%s-%064x.log" % (pod, namespace, container,
                                                        number)) == ("%064x" % number, namespace, pod, container)


@given(st.text())
def test_any_name(name):
    assert parse_pod_folder(name) is None or name.count("_") == 2
    assert parse_container_link(name) is None or name.endswith(".log")
