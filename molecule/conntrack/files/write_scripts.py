# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write DIR/setup-NODE.sh for each node: a script that puts all of node/ on it and then does what setup-NODE.sh beside
this says.

    write_scripts.py DIR

One file for each node, since every file and every task costs seconds on an emulated one.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def script(setup):
    cases = ["%s) cat <<'TEXT' ;;\n%sTEXT\n" % (path.name, path.read_text())
             for path in sorted((HERE / "node").iterdir())]
    put = 'text() {\ncase $1 in\n%sesac\n}\nput() { text "$3" > "$2"; chmod "$1" "$2"; }\n' % "".join(cases)
    return "#!/bin/sh\n" + put + (HERE / "install.sh").read_text() + setup.read_text()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for path in HERE.glob("setup-*.sh"):
        (pathlib.Path(sys.argv[1]) / path.name).write_text(script(path))
