# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write DIR/NAME.sh for each script beside this file: before what it does, how it gets the stand-ins and rules of a
small cluster.

    write_scripts.py DIR

One file for each, since every file and every task costs seconds on an emulated node.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
HOOKS = HERE.parents[1] / "hooks" / "files"
sys.path.insert(0, str(HOOKS))

import write_script

STAND_INS = ("kubelet", "kubelet.service", "kube-proxy", "kube-proxy.service", "metrics")
SCRIPTS = ("part-node61", "part-node612", "part-node72")


def texts():
    return dict({name: (HOOKS / "node" / name).read_text() for name in STAND_INS}, **write_script.rules())


def head():
    cases = ["'%s') cat <<'TEXT' ;;\n%sTEXT\n" % item for item in sorted(texts().items())]
    return "#!/bin/sh\nset -eu\ntext() {\ncase $1 in\n%sesac\n}\n" % "".join(cases) + (HERE / "cluster.sh").read_text()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in SCRIPTS:
        (folder / (name + ".sh")).write_text(head() + (HERE / (name + ".sh")).read_text())


if __name__ == "__main__":
    main()
