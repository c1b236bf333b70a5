# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in the root of kube-proxy."""

import pytest

import node_tree
from node_manifests import merged, process

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_image import files_of, lacks_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import Process

MATCHES = ["addrtype", "comment", "conntrack", "mark", "statistic"]
WHOLE = dict({"usr/lib64/xtables/libxt_%s.so" % name: "" for name in MATCHES},
             **{"etc/protocols": "", "usr/lib64/libm.so.6": "", "lib64": node_tree.link("usr/lib64"),
                "usr/lib64/libc.so.6": "", "proc/500/environ": "PATH=/bin\0"})


def files(tmp_path, without=(), more=()):
    tree = {path: content for path, content in WHOLE.items() if not path.endswith(tuple(without) or ("-",))}
    root = node_tree.unpack(merged(tree, process(500, "kube-proxy", ["kube-proxy"]), dict(more)), tmp_path)
    return files_of(Host(str(root)), Process(Host(str(root)), 500, "kube-proxy"))


@pytest.mark.parametrize("without, more, mode, synced, names", [
    ([], {}, "iptables", False, []),
    (["libm.so.6"], {}, "iptables", False, ["libm.so.6"]), (["libm.so.6"], {}, "ipvs", True, ["libm.so.6"]),
    (["libm.so.6", "/protocols"], {}, "nftables", False, ["/etc/protocols"]),
    (["/protocols"], {}, "iptables", False, []), (["libm.so.6"], {}, None, False, []),
    (["libxt_mark.so"], {}, "iptables", False, ["libxt_mark.so"]), (["libxt_mark.so"], {}, "iptables", True, []),
    (["_statistic.so"], {}, "iptables", True, ["libxt_statistic.so"]),
    # musl, a program with all matches built in, another folder, and one that syncs without a library.
    (["libc.so.6", "libm.so.6", "/protocols"], {}, "nftables", False, []),
    (["libc.so.6", "libm.so.6"], {}, "iptables", False, []), ([".so"], {}, "iptables", False, []),
    (["_mark.so"], {"proc/500/environ": "XTABLES_LIBDIR=/opt\0"}, "iptables", False, []),
    (["_comment.so", "_statistic.so"], {}, "iptables", True, []),
])
def test_what_is_missing(without, more, mode, synced, names, tmp_path):
    assert [row["name"] for row in lacks_of(files(tmp_path, without, more), mode, None, synced)] == names


@pytest.mark.parametrize("version, names", [("1.32.9", []), ("1.33.0", ["/etc/protocols"])])
def test_versions_that_compare_texts(version, names, tmp_path):
    assert [row["name"] for row in lacks_of(files(tmp_path, ["/protocols"]), "nftables", version, True)] == names
