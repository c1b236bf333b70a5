# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time and memory of a module on nodes that hold very much of one thing: the numbers of docs/security.md, "Bounds".

    .venv/bin/python tests/benchmarks/bounds.py ["dangling jumps" ...]

Seconds are CPU seconds, so a busy machine measures about the same.
"""

import argparse
import sys

from measure import BUILD, TOP, quiet, workplace

sys.path[:0] = [str(BUILD), str(TOP / "tests" / "fixtures")]

import big_nodes


def row(name, folder):
    """Measure a case at its full and half its size; return its line of the table."""
    case = big_nodes.CASES[name]
    (half, _told), (whole, _told) = [big_nodes.look(name, number, folder) for number in (case.number // 2, case.number)]
    return "| {:,} {} | {:.0f} | {:.1f} | {:.1f} |".format(case.number, case.what, whole.peak_bytes / 1e6,
                                                           whole.seconds, whole.seconds / half.seconds)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("name", nargs="*", choices=[*sorted(big_nodes.CASES), []], help="all of them by default")
    arguments = parser.parse_args()
    quiet([TOP / "tests" / "tools" / "link_collection.sh"])
    print("| what a node holds | peak memory in MB | seconds | against half of it |\n| --- | --- | --- | --- |")
    with workplace() as folder:
        for name in arguments.name or big_nodes.CASES:
            print(row(name, folder), flush=True)


if __name__ == "__main__":
    main()
