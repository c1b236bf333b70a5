# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write FILE: a script that puts all of node/ and the rules of a small cluster on a node, as install.sh or the scripts
named say.

    write_script.py FILE [SCRIPT ...]

One file, since every file and every task costs seconds on an emulated node.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "fixtures"))

import kube_cluster
import kube_rules

VERSION = (1, 34)


def rules():
    """{name: input of iptables-restore}: kube-proxy's first synchronisation and kubelet's initialisation, each of both
    families."""
    cluster = kube_cluster.plain_cluster("ipv4", 3, 2)
    return {"kubelet.v4": initialisation("ipv4", cluster), "kubelet.v6": initialisation("ipv6", cluster),
            "kube-proxy.v4": synchronisation("ipv4", cluster),
            "kube-proxy.v6": synchronisation("ipv6", kube_cluster.cluster("ipv6", []))}


def synchronisation(family, cluster):
    return kube_rules.restore_input(VERSION, "iptables", family, cluster, with_kubelet=False).text()


def initialisation(family, cluster):
    """Without the jumps: the stand-in adds those only where they are missing, as kubelet does."""
    lines = kube_rules.restore_input(VERSION, None, family, cluster).text().splitlines(True)
    return "".join(line for line in lines if not line.startswith("-I "))


def texts():
    return dict({path.name: path.read_text() for path in (HERE / "node").iterdir()}, **rules())


def script(parts):
    cases = ["'%s') cat <<'TEXT' ;;\n%sTEXT\n" % item for item in sorted(texts().items())]
    put = 'text() {\ncase $1 in\n%sesac\n}\nput() { text "$3" > "$2"; chmod "$1" "$2"; }\n' % "".join(cases)
    return "#!/bin/sh\n" + put + "".join(part.read_text() for part in parts)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[1]).write_text(script([pathlib.Path(name) for name in sys.argv[2:]] or [HERE / "install.sh"]))
