# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tries the fix that each check of severity high prints on the state that it is for, see rows/*.yml, and writes what
came of it to outcomes.json and docs/fixes.md. Needs root.

    run.py [--only "BEGIN..."] [--page] [KUBE_PROXY]    BEGIN: how the id of a check begins; --page: try none
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(TOP / ".build"), str(TOP / "tests" / "kube_proxy"), str(TOP / "tests" / "fixtures"),
                str(TOP / "tests" / "checks")]

import fixes_page

OUTCOMES, PAGE = HERE / "outcomes.json", TOP / "docs" / "fixes.md"
# Most of them wait until kube-proxy writes its rules again.
AT_ONCE = 3 * (os.cpu_count() or 1)


def read_rows():
    return [row for path in sorted((HERE / "rows").glob("*.yml")) for row in yaml.safe_load(path.read_text("utf-8"))]


def read_outcomes():
    return json.loads(OUTCOMES.read_text("utf-8")) if OUTCOMES.exists() else {}


def version_of(binary):
    """The version of a kube-proxy as [1, 36]."""
    answer = subprocess.run([binary, "--version"], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    return [int(part) for part in re.search(r"v(\d+)\.(\d+)\.", answer).groups()]


def attempts(rows, version, words):
    """(row, place) of each attempt that a kube-proxy of this version can make."""
    return [(row, place) for row in rows if "node" in row and any(map(row["check"].startswith, words))
            and (row["node"] != "kube-proxy" or version and version >= row.get("since", []))
            for place in row.get("places", ["nft"])]


def tried(attempt):
    import trial
    row, place, binary = attempt
    return trial.tried(row, place, binary)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("binary", nargs="?", default="")
    asked = parser.parse_args()
    rows, outcomes, wrong = read_rows(), read_outcomes(), 0
    todo = [] if asked.page else attempts(
        rows, version_of(asked.binary) if asked.binary else [], asked.only.split() or [""])
    if todo:
        if os.geteuid():
            sys.exit("run as root: namespaces and rules are made")
        import trial  # noqa: F401  before the workers are forked: none of them imports it again
    with concurrent.futures.ProcessPoolExecutor(AT_ONCE) as pool:
        binary = os.path.abspath(asked.binary or "/bin/false")
        running = {pool.submit(tried, (row, place, binary)): (row, place) for row, place in todo}
        for future in concurrent.futures.as_completed(running):
            (row, place), outcome = running[future], future.result()
            print("%-10s %-8s %s" % (row["check"], place, outcome), flush=True)
            wrong += not fixes_page.mends(row, outcome)
            kept = {key: outcome[key] for key in fixes_page.KEPT if key in outcome}
            outcomes.setdefault(row["check"], {})[place] = kept
            OUTCOMES.write_text(json.dumps(outcomes, indent=1, sort_keys=True) + "\n", "utf-8")
    PAGE.write_text(fixes_page.text(rows, outcomes), "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
