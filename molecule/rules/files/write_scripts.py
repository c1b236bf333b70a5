# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write DIR/NODE.sh: the texts a node gets as shell functions, before what its own script beside this file does with
them.

    write_scripts.py DIR

One file for each node, since every file and every task costs seconds on an emulated one.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
METRICS = HERE.parents[1] / "hooks" / "files" / "node" / "metrics"
sys.path.insert(0, str(HERE.parents[2] / "tests" / "fixtures"))

import kube_cluster
import kube_ipvs
import kube_nft
import kube_rules

VERSION = (1, 34)


def small_cluster():
    """Three Services with two endpoints each, and one that waits for its first."""
    cluster = kube_cluster.plain_cluster("ipv4", 4, 2)
    return cluster._replace(services=cluster.services[:3] + (cluster.services[3]._replace(endpoints=()),))


def rules(mode, cluster, version=VERSION, **options):
    return kube_rules.restore_input(version, mode, cluster.family, cluster, **options).text()


def virtual_servers(cluster):
    """What ipvsadm --restore takes."""
    lines = []
    for service in cluster.services:
        place = "-t %s:%d" % (service.address, service.port)
        lines.append("-A %s -s rr" % place)
        lines += ["-a %s -r %s:%d -m -w 1" % (place, endpoint.address, endpoint.port) for endpoint in service.endpoints]
    return "\n".join(lines) + "\n"


def texts():
    """{node: {name of the function: what it prints}}"""
    small = small_cluster()
    # kube-proxy makes its chains for both families in a cluster of one family, too.
    other = kube_cluster.cluster("ipv6", [])
    nodes = {
        "node61": {"rules": rules("iptables", kube_cluster.every_kind("ipv4")),
                   "old_rules": rules("iptables", small, (1, 30), with_kubelet=False)},
        "node612": {"rules": rules("ipvs", small), "ipsets": kube_ipvs.ipset_input(small)
                    + kube_ipvs.ipset_input(other), "virtual_servers": virtual_servers(small), "addresses": "".join(
                        "address add %s/32 dev kube-ipvs0\n" % service.address for service in small.services)},
        "node72": {"rules": rules(None, small),
                   "tables": kube_nft.table(small, "1.34").text() + kube_nft.table(other, "1.34").text()},
    }
    for node, mode in (("node61", "iptables"), ("node612", "ipvs"), ("node72", None)):
        nodes[node].update(rules6=rules(mode, other), metrics=METRICS.read_text())
    return nodes


def script(node, functions):
    heads = ["%s() {\ncat <<'TEXT'\n%sTEXT\n}\n" % (name, functions[name]) for name in sorted(functions)]
    return "".join(heads) + (HERE / "pretend.sh").read_text() + (HERE / ("break-%s.sh" % node)).read_text()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for node, functions in texts().items():
        (folder / (node + ".sh")).write_text("#!/bin/sh\n" + script(node, functions))


if __name__ == "__main__":
    main()
