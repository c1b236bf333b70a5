# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guides of the documentation site are the pages in docs, and the tables of variables those of the roles."""

import guides
import pytest
import variables

PAGE = """\
# A `page` of *ours*

Text with `code`s, **bold**, [a page](known.md#two-words), [itself](#a-list),
[the
checks](checks.md#kmod001), [a site](https://e.org/x_) and KMOD*.

![no image](images/report.png)

    code | with a
    blank line

    in it

After it.

```yaml
- a: [b](c.md)
```

## A list

- one
  goes on
- two `x|y`

1. first
2. second

| a | b |
| --- | --- |
| `x \\| y` | [k](known.md) |
"""
GUIDE = """\
..
  Written by ``make docs`` from docs/page.md; change that page.

.. _ansible_collections.kubenode.netfilter.docsite.page:

A page of \\*ours\\*
================

Text with ``code``\\ s, **bold**, :ref:`a page <ansible_collections.kubenode.netfilter.docsite.known.two-words>`, \
:ref:`itself <ansible_collections.kubenode.netfilter.docsite.page.a-list>`,
`the checks <https://github.com/kubenode/kubenode.netfilter/blob/main/docs/checks.md#kmod001>`__, \
`a site <https://e.org/x_>`__ and KMOD\\*.

.. code-block:: text

    code | with a
    blank line

    in it

After it.

.. code-block:: yaml

    - a: [b](c.md)

.. _ansible_collections.kubenode.netfilter.docsite.page.a-list:

A list
------

- one
  goes on
- two ``x|y``

1. first
2. second

.. list-table::
   :header-rows: 1
   :widths: auto

   * - a
     - b
   * - ``x | y``
     - :ref:`k <ansible_collections.kubenode.netfilter.docsite.known>`
"""


@pytest.fixture
def docs(monkeypatch, tmp_path):
    monkeypatch.setattr(guides, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(guides, "TOP", tmp_path)
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


def test_a_page_becomes_a_guide(docs):
    (docs / "page.md").write_text(PAGE, encoding="utf-8")
    assert guides.guide("page", ["page", "known"]) == GUIDE


def test_every_guide_is_a_page_and_fresh():
    written = list(guides.pages())
    assert [path.name for path, text in written if path.read_text(encoding="utf-8") != text] == [], "run `make docs`"
    assert {path for path, _text in written} == set((guides.DOCS / "docsite/rst").iterdir())


def test_the_tables_of_variables_are_fresh():
    assert [path.parent.name for path, text in variables.pages() if path.read_text(encoding="utf-8") != text] == [], (
        "run `make docs`")


def test_a_table_of_variables(monkeypatch, tmp_path):
    role = tmp_path / "roles/r"
    (role / "meta").mkdir(parents=True)
    (role / "defaults").mkdir()
    (role / "meta/argument_specs.yml").write_text("""\
argument_specs:
  main:
    options:
      r_a: {type: str, description: [V(x|y) or O(r_b)., See O(ns.c.q#role:main:q_x).]}
      r_b: {type: list, description: Long.}
      r_c: {type: str, description: Without a default.}
""")
    (role / "defaults/main.yml").write_text("r_a: x\nr_b: [%s]\n" % ", ".join("element%d" % n for n in range(9)))
    monkeypatch.setattr(variables, "TOP", tmp_path)
    (role / "README.md").write_text("# r\n\n## Variables\n\nold\n\n## End\n")
    table = """\
# r

## Variables

| variable | default | meaning |
| --- | --- | --- |
| `r_a` | `x` | `x\\|y` or `r_b`. See `q_x`. |
| `r_b` | [main.yml](defaults/main.yml) | Long. |
| `r_c` |  | Without a default. |

"""
    assert list(variables.pages()) == [(role / "README.md", table + "## End\n")]
    (role / "README.md").write_text(table)
    assert list(variables.pages()) == [(role / "README.md", table)]
    (role / "README.md").write_text("# r\n")
    assert list(variables.pages()) == []
