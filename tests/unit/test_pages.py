# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages: links between them resolve, the README is short, each module, role, filter and playbook that people use
has its place, and pages name no other. What `make docs` writes is fresh."""

import dataclasses
import itertools
import pathlib
import re
import textwrap

import guides
import screens
import variables
import yaml
from each_file import nothing_found

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases import run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes.judge import Cause, causes_from
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.kinds import KINDS
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._joins.table import JOINS

TOP = pathlib.Path(__file__).resolve().parents[2]
README = TOP / "README.md"
WORDS = 700
PAGES = sorted([README, TOP / "SECURITY.md", TOP / "CONTRIBUTING.md", *TOP.glob("roles/*/README.md"),
                *TOP.glob("docs/**/*.md")])
LINK = re.compile(r"!?\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^()\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}[^\n]*(?:\n+|\Z))+")
NAMED = re.compile(r"kubenode\.netfilter\.([a-z]\w*)")


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


def test_the_readme_is_read_in_two_minutes_and_has_the_parts_that_people_look_for():
    assert len(read(README).split()) <= WORDS
    headings = re.findall(r"^## (.+)$", read(README), re.MULTILINE)
    assert [part for part in ("Installation", "Use cases", "Compatibility", "Testing", "Support", "Release notes",
                              "Communication") if part not in headings] == []


def names(pattern):
    return {path.stem for path in TOP.glob(pattern)}


MODULES, FILTERS, PLAYBOOKS = names("plugins/modules/*.py"), names("plugins/filter/*.py"), names("playbooks/*.yml")
ROLES = {path.name for path in TOP.glob("roles/*") if path.is_dir()}


def test_every_public_module_and_filter_has_a_row_and_every_filter_an_example():
    groups = yaml.safe_load(read(TOP / "meta/runtime.yml"))["action_groups"]
    page = read(TOP / "docs/modules.md").partition("## Modules that look")
    named = re.findall(r"^\| `(?:kubenode\.netfilter\.)?(\w+)`", page[2], re.MULTILINE)
    assert set(named) == {*groups["all"], *FILTERS}
    assert [name for name in sorted(FILTERS) if r"\| kubenode.netfilter." + name not in "".join(page)] == []


def test_what_is_written_by_make_docs_is_fresh():
    """The screens of the README, the guides of the documentation site, and the tables of variables of the roles."""
    written = [(README, screens.render_readme()), *guides.pages(), *variables.pages()]
    assert [path.name for path, text in written if read(path) != text] == [], "run `make docs`"
    assert {path for path, _text in guides.pages()} == set((guides.DOCS / "docsite/rst").iterdir())


def test_every_playbook_and_role_has_its_place():
    pages = "".join(read(page) for page in PAGES if page.parent.name == "docs")
    assert [name for name in sorted(PLAYBOOKS) if "kubenode.netfilter." + name not in pages] == []
    playbooks = read(TOP / "docs/playbooks.md")
    assert [name for name in sorted(ROLES) if "../roles/%s/README.md" % name not in playbooks] == []


def test_pages_name_nothing_that_does_not_exist():
    """Groups of modules and the fragment of their documentation are named like modules."""
    known = {*MODULES, *FILTERS, *PLAYBOOKS, *ROLES, "all", "internal", "git"}
    nothing_found([page.relative_to(TOP).as_posix() for page in PAGES],
                  lambda name: sorted(set(NAMED.findall(read(TOP / name))) - known))


def test_a_role_has_an_example_its_variables_and_what_can_go_wrong():
    for role in sorted(ROLES):
        headings = re.findall(r"^## (.+)$", read(TOP / "roles" / role / "README.md"), re.MULTILINE)
        assert headings == ["Example", "Variables", "What can go wrong"], role


def test_every_page_is_found_from_the_index():
    index = read(TOP / "docs/README.md")
    assert [path.name for path in sorted(TOP.glob("docs/*.md"))
            if path.name != "README.md" and "](%s" % path.name not in index] == []


ADDING = read(TOP / "docs/adding-a-check.md")


def test_the_samples_of_a_check_and_of_a_cause_have_every_key():
    lines = ADDING.splitlines()
    begins = [number for number, line in enumerate(lines) if line.lstrip().startswith("- id: ")]
    [[check], [cause]] = [yaml.safe_load(textwrap.dedent("\n".join(itertools.takewhile(str.strip, lines[begin:]))))
                          for begin in begins]
    assert set(check) == {field.name for field in dataclasses.fields(catalogue.Check)} - {"file"}
    assert [each.id for each in causes_from([("sample", cause)])] == [cause["id"]]
    assert set(cause) == {field.name for field in dataclasses.fields(Cause)}


def test_the_index_of_adding_a_check_names_every_kind_join_source_and_word_of_a_case():
    def cells_below(heading):
        """[[the names in a cell]] of the rows of the table below a heading."""
        text = ADDING.partition("### %s\n" % heading)[2].partition("\n#")[0]
        return [[re.findall(r"`([\w.]+)`", cell) for cell in line.strip("|").split("|")]
                for line in text.splitlines() if line.startswith("| `")]

    assert sorted(cells[0][0] for cells in cells_below("Kinds")) == sorted(KINDS)
    assert [cells[0][0] for cells in cells_below("Joins")] == sorted(JOINS)
    assert {cells[0][0]: cells[1] for cells in cells_below("Sources")} == {
        name: sorted(shape.contains["collected"].sampled) for name, shape in validate.documented_sections().items()}
    assert sorted(word for cells in cells_below("Words of a case") for word in cells[0]) == sorted(run.WORDS)
