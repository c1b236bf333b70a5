# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rewrites the golden files of the report formats, tests/fixtures/golden, and prints the names of changed files. Read
the difference like a reader of that format before you commit it."""

import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / ".build"), str(TOP / "tests" / "fixtures")]

import golden_run


def written(folder=golden_run.FOLDER):
    """Write changed golden files, remove obsolete ones; return the names of both."""
    folder.mkdir(exist_ok=True)
    texts = {name: text.encode("utf-8") for name, text in golden_run.texts().items()}
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in set(kept) - set(texts):
        (folder / name).unlink()
    changed = sorted(name for name in texts if kept.get(name) != texts[name])
    for name in changed:
        (folder / name).write_bytes(texts[name])
    return changed + sorted(set(kept) - set(texts))


if __name__ == "__main__":
    print("\n".join(written()) or "nothing changed")
