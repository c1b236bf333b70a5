# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages: links between them resolve, and the README is short."""

import pathlib
import re

from each_file import nothing_found

TOP = pathlib.Path(__file__).resolve().parents[2]
README = TOP / "README.md"
WORDS = 700
PAGES = sorted([README, TOP / "SECURITY.md", TOP / "CONTRIBUTING.md", *TOP.glob("roles/*/README.md"),
                *TOP.glob("docs/**/*.md")])
LINK = re.compile(r"!?\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^()\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}[^\n]*(?:\n+|\Z))+")


def read(path):
    return path.read_text(encoding="utf-8")


def without_blocks(text):
    return INDENTED.sub("", FENCED.sub("", text))


def anchors(text):
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(name):
    """The targets of a page that are no file or folder of the repository, or no heading of the page there."""
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", without_blocks(read(TOP / name)))):
        path, _sharp, anchor = target.partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        file = ((TOP / name).parent / path).resolve() if path else TOP / name
        if not file.exists() or TOP not in [file, *file.parents]:
            yield target
        elif anchor and anchor not in anchors(read(file)):
            yield target


def test_links_between_pages_resolve():
    assert sum(len(LINK.findall(read(page))) for page in PAGES) > 100
    nothing_found([page.relative_to(TOP).as_posix() for page in PAGES], broken_links)


def test_broken_links_are_found(monkeypatch, tmp_path):
    monkeypatch.setattr("test_pages.TOP", tmp_path)
    (tmp_path / "b.md").write_text("# How `it` works: now\n")
    (tmp_path / "a.md").write_text(
        "# A\n\n[1](b.md#how-it-works-now) [2](c.md) [3](b.md#no) [4](#a) [two\nlines](d.md) [5](https://e.org)\n"
        "`[6](f.md)`\n\n    [7](g.md)\n\n[8](../h.md)\n")
    assert list(broken_links("a.md")) == ["c.md", "b.md#no", "d.md", "../h.md"]


def test_the_readme_is_read_in_two_minutes():
    assert len(read(README).split()) <= WORDS


def test_the_readme_has_the_parts_that_people_look_for():
    headings = re.findall(r"^## (.+)$", read(README), re.MULTILINE)
    assert [part for part in ("Installation", "Use cases", "Compatibility", "Testing", "Support", "Release notes",
                              "Communication") if part not in headings] == []


def test_every_page_is_found_from_the_index():
    index = read(TOP / "docs/README.md")
    assert [path.name for path in sorted(TOP.glob("docs/*.md"))
            if path.name != "README.md" and "](%s" % path.name not in index] == []
