# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run in every format, byte for byte as people have read it."""

import re

import golden
import golden_run
import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import files
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.text import width_of


@pytest.fixture(scope="module")
def texts():
    return golden_run.texts()


def test_every_format_is_among_them(texts):
    assert sorted(path.name for path in golden_run.FOLDER.iterdir()) == sorted(texts)
    assert {name for name, _render in files.FILES.values()} < set(texts)


@pytest.mark.parametrize("name", sorted(path.name for path in golden_run.FOLDER.iterdir()))
def test_each_format_is_as_people_have_read_it(texts, name):
    kept = (golden_run.FOLDER / name).read_bytes().decode("utf-8")
    assert texts[name].splitlines() == kept.splitlines(), "run `make golden`, and read the difference"
    assert texts[name] == kept


@pytest.mark.parametrize("name, width", [("terminal-80.txt", 80), ("terminal-many-80.txt", 80), ("changes-80.txt", 80),
                                         ("terminal-160.txt", 160), ("changes-160.txt", 160)])
def test_tables_keep_the_width_and_are_ascii_but_for_texts_of_a_node(texts, name, width):
    # A command with a quoted name is not broken.
    assert max(width_of(line) for line in texts[name].splitlines() if not line.startswith("    fix: ")) <= width
    ours = texts[name].replace("gr\u00f6\u00dfe \u4e16\u754c", "")
    assert ours.isascii() and "\033" not in ours


@pytest.mark.parametrize("name", ["summary.md", "changes.md", "junit.xml", "report.html", "terminal-80.txt",
                                  "terminal-160.txt", "changes-160.txt"])
def test_no_machine_value_is_where_a_person_reads(texts, name):
    """Such as base64 or a digest."""
    text = re.sub(r'(?s)<script type="text/plain".*?</script>', "", texts[name])
    assert re.findall(r"[A-Za-z0-9+/]{40,}|\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b", text) == []


def test_the_command_writes_what_differs_and_removes_what_is_left_over(tmp_path, texts):
    assert golden.written(tmp_path) == sorted(texts)
    assert golden.written(tmp_path) == []
    (tmp_path / "junit.xml").write_text("<old/>")
    (tmp_path / "left-over.txt").write_text("")
    assert golden.written(tmp_path) == ["junit.xml", "left-over.txt"]
    assert (tmp_path / "junit.xml").read_text() == texts["junit.xml"] and not (tmp_path / "left-over.txt").exists()
