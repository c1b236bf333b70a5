# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges cases of strangers' evidence below the named folders and prints how many are right, by the part of their names
before the first hyphen; the sentences on the others with -v."""

import argparse
import collections
import pathlib
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / ".build"), str(TOP / "tests" / "fixtures"), str(TOP / "tests" / "unit")]

from strangers_cases import verdict_of  # noqa: E402

WORDS = ("right", "partly", "missed", "wrong")


def main(folders, verbose):
    counts = collections.defaultdict(collections.Counter)
    for case in sorted(path for folder in folders for path in pathlib.Path(folder).resolve().iterdir()):
        with tempfile.TemporaryDirectory() as copy:
            verdict = verdict_of(case, pathlib.Path(copy))
        counts[case.name.split("-")[0]][verdict.word] += 1
        counts["all"][verdict.word] += 1
        if verdict.word != "right":
            print("%-7s %s" % (verdict.word, case.name))
            for sentence in (verdict.false + verdict.missing) * verbose:
                print("    " + sentence)
    print("%-12s %s" % ("", " ".join("%7s" % word for word in WORDS)))
    for group in sorted(counts, key=lambda name: (name == "all", name)):
        print("%-12s %s" % (group, " ".join("%7d" % counts[group][word] for word in WORDS)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("-v", "--verbose", action="store_true")
    given = parser.parse_args()
    main(given.folders, given.verbose)
