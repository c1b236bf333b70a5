# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every file of the collection must keep to: headers, sizes, words, and catalogue, tests and docs in step."""

import ast
import os
import pathlib
import re
import subprocess

import case_rows
import causes_page
import checks_page
import pytest
import yaml
from each_file import nothing_found

TOP = pathlib.Path(__file__).resolve().parents[2]

HEADER = """\
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""
CHECK_ID = re.compile(r"(KMOD|XLOCK|CHAIN|BACKEND|HOOK|CTRACK|IPVS|KPROXY|CNI|LOG|BUNDLE)\d{3}")
PYTHON_LINES = 350
COLUMNS = 120
# Characters of an expression of a check: a longer one becomes a join of plugins/plugin_utils/_joins.
EXPRESSION = 400
TASK_LINES = 80
# Work not finished, and ways to look away. In brackets, so that this file does not hold them.
UNWANTED = re.compile(r"\b(T[O]DO|F[I]XME|X[X]X|H[A]CK)\b|failed_when: f[a]lse|ignore_errors: "
                      r"t[r]ue|(extra-)?index-u[r]l|find-l[i]nks")
# Ansible's own modules that roles and playbooks may use. The first line runs on the controller alone; `reboot` and
# `wait_for_connection` talk to the node and return nothing of what it answers (their `run` builds the result itself).
# Every other module hands a node's answer to Ansible as it is.
MAY_USE = {"debug", "fail", "set_fact", "assert", "meta", "include_tasks", "include_role", "import_tasks",
           "import_role", "import_playbook", "reboot", "wait_for_connection"}
USED = re.compile(r"^\s*(?:- )?(ansible\.(?:builtin|legacy)|community\.\w+)\.(\w+):", re.MULTILINE)
# Words of identifiers that name no thing: result, message, options or predicted value are meant.
RIDDLES = {"told", "said", "says", "nobody", "whoever", "fate", "outlook", "yields", "way", "ways", "whereabouts"}
TEXT_SUFFIXES = {".py", ".yml", ".yaml", ".sh", ".md", ".rst", ".txt", ".cfg", ".ini", ".j2", ".json", ""}


def tracked_files():
    """Return the files git knows or would add, as paths relative to the top."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=str(TOP), stdout=subprocess.PIPE, check=True).stdout.decode()
    return sorted(name for name in set(listed.split("\0")) if name and (TOP / name).exists())


TRACKED = tracked_files()
PYTHON_FILES = [name for name in TRACKED if name.endswith(".py")]
PLUGINS = [name for name in PYTHON_FILES if name.startswith("plugins/")]
TASK_FILES = [name for name in TRACKED if re.fullmatch(r"roles/[^/]+/tasks/.+\.yml", name)]


def read(name):
    # Some evidence of strangers is UTF-16.
    errors = "replace" if name.startswith("tests/strangers/") else "strict"
    return (TOP / name).read_text(encoding="utf-8", errors=errors)


def test_python_files_carry_the_licence():
    assert [name for name in PYTHON_FILES if not re.sub(r"\A#!.*\n", "", read(name)).startswith(HEADER)] == []


def test_no_task_hands_an_answer_of_the_node_to_ansible():
    names = [name for name in TRACKED if re.fullmatch(r"(roles/[^/]+/(tasks|handlers)|playbooks)/.+\.yml", name)]
    nothing_found(names, lambda name: ["%s.%s" % used for used in USED.findall(read(name))
                                       if used[0] != "ansible.builtin" or used[1] not in MAY_USE])


def test_no_init_files_links_or_odd_names():
    assert [name for name in TRACKED if name.endswith("__init__.py")] == []
    assert [name for name in TRACKED if (TOP / name).is_symlink()] == []
    assert [name for name in TRACKED if not re.fullmatch(r"[A-Za-z0-9_./-]+", name)] == []


def lines_of(name):
    """The lines a reader goes through; the documentation of a module's options and answers is a page of its own."""
    text = read(name)
    if name.startswith("plugins/modules/"):
        text = re.sub(r'(?ms)^(DOCUMENTATION|EXAMPLES|RETURN) = r?""".*?^"""$', "", text)
    return len(text.splitlines())


@pytest.mark.parametrize("names, limit", [(PYTHON_FILES, PYTHON_LINES), (TASK_FILES, TASK_LINES)],
                         ids=["python", "tasks"])
def test_a_file_is_read_in_one_sitting(names, limit):
    nothing_found(names, lambda name: ["%d lines" % lines_of(name)] if lines_of(name) > limit else [])


def long_lines(name):
    """The lines above COLUMNS, but for those of texts of several lines that are no docstrings: what other
    programs print or read."""
    tree, literals = ast.parse(read(name)), set()
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in bare and node.end_lineno > node.lineno:
            literals.update(range(node.lineno, node.end_lineno + 1))
    return ["line %d" % number for number, line in enumerate(read(name).splitlines(), 1)
            if len(line) > COLUMNS and number not in literals]


def test_lines_are_read_without_scrolling():
    names = [name for name in PYTHON_FILES if not name.startswith("tests/fixtures/")]
    nothing_found(names, long_lines)


def test_no_unwanted_words():
    texts = [name for name in TRACKED if pathlib.PurePath(name).suffix in TEXT_SUFFIXES and name != "LICENSE"]
    nothing_found(texts, lambda name: ["line %d: %s" % (number, match.group(0))
                                       for number, line in enumerate(read(name).splitlines(), 1)
                                       for match in UNWANTED.finditer(line)])


def riddles(text):
    """`line N: name` for the names that a file gives or uses: functions, classes, parameters, variables, attributes and
    keyword arguments."""
    named = [(part, getattr(part, key, None)) for part in ast.walk(ast.parse(text))
             for key in ("id", "attr", "arg", "name")]
    return ["line %d: %s" % (part.lineno, name) for part, name in named
            if isinstance(name, str) and RIDDLES & set(name.lower().split("_"))]


def test_identifiers_name_things():
    nothing_found(PLUGINS, lambda name: riddles(read(name)))
    assert [name for name in PLUGINS if RIDDLES & set(pathlib.PurePath(name).stem.split("_"))] == []


def ids_in(text):
    """`line N: id` for the ids of checks in the code of a file; its documentation and comments may name some."""
    tree = ast.parse(text)
    pages = [node.value for node in tree.body
             if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) in (
                 "DOCUMENTATION", "EXAMPLES", "RETURN")]
    documented = {id(part) for page in pages for part in ast.walk(page)}
    return ["line %d: %s" % (part.lineno, match.group(0)) for part in ast.walk(tree)
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in documented
            for match in CHECK_ID.finditer(part.value)]


def test_no_code_knows_a_check_by_its_id():
    nothing_found(PLUGINS, lambda name: ids_in(read(name)))


def test_riddles_are_found_in_names_and_ids_of_checks_in_code():
    assert ids_in("DOCUMENTATION = 'KMOD001'\nX = ('KMOD002',)\n# KMOD003\n") == ["line 2: KMOD002"]
    assert sorted(riddles("def _told(said):\n    'Nobody says'\n    return unsaid(said.fate, told='told')\n")) == [
        "line 1: _told", "line 1: said", "line 3: fate", "line 3: said", "line 3: told"]


def catalogue():
    return [check for _subject, checks in checks_page.subjects() for check in checks]


def test_every_check_has_its_own_id_a_table_of_cases_short_expressions_a_fix_and_sources():
    ids = [check["id"] for check in catalogue()]
    tables = {pathlib.PurePath(name).stem for name in TRACKED if re.fullmatch(r"tests/checks/\w+\.yml", name)}
    assert len(ids) == len(set(ids)) and set(ids) == tables
    for check in catalogue():
        role = check["fix"]["role"]
        assert CHECK_ID.fullmatch(check["id"]) and check["sources"] and (check["fix"]["manual"] or role), check["id"]
        assert role in (None, "repair") or (TOP / "roles" / role).is_dir(), check["id"]
        assert max(len(check.get(name) or "") for name in ("select", "unknown", "left_out", "applies_when")
                   ) <= EXPRESSION, check["id"]


def test_the_pages_of_checks_and_causes_are_fresh():
    assert read("docs/checks.md") == checks_page.render_page(), "run `make docs`"
    assert read("docs/causes.md") == causes_page.render_page(), "run `make docs`"


def test_the_changelog_begins_with_the_version_and_names_every_module_and_role():
    changelog = read("CHANGELOG.rst")
    newest = re.search(r"^v(\d+\.\d+\.\d+)\n=+$", changelog, re.MULTILINE).group(1)
    assert str(yaml.safe_load(read("galaxy.yml"))["version"]) == newest
    names = [pathlib.PurePath(name).stem for name in TRACKED if re.fullmatch(r"plugins/modules/\w+\.py", name)]
    names += sorted({name.split("/")[1] for name in TRACKED if name.startswith("roles/")})
    assert [name for name in names if "- kubenode.netfilter.%s - " % name not in changelog] == []


def test_no_other_collection_is_needed():
    assert yaml.safe_load(read("galaxy.yml"))["dependencies"] == {}
    used = {match.group(0) for name in TRACKED if re.match(r"(roles|playbooks)/.*\.yml$", name)
            for match in re.finditer(r"^\s+(?:- )?([a-z_]+\.[a-z_]+)\.[a-z_]+:", read(name), re.MULTILINE)
            if match.group(1) not in ("ansible.builtin", "kubenode.netfilter")}
    assert used == set()


def test_scripts_are_executable():
    scripts = [name for name in TRACKED if name.startswith((".ci/", "tests/tools/")) and read(name).startswith("#!")]
    assert scripts
    assert [name for name in scripts if not os.access(str(TOP / name), os.X_OK)] == []


def test_each_table_of_rows_is_read_by_its_test():
    for path in sorted(case_rows.ROWS.rglob("*.yml")):
        test = case_rows.test_of(path)
        assert sorted(case_rows.tables_of(test)) == sorted(re.findall(r"(?m)^@cases\n(?:@.*\n)*def test_(\w+)",
                                                                      test.read_text(encoding="utf-8"))), path
