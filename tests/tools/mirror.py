# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which unit tests belong to a file: tests/unit mirrors plugins."""

import ast
import functools
import pathlib

from results import TOP

UNIT, PLUGINS = pathlib.PurePath("tests/unit"), pathlib.PurePath("plugins")
# Rows of tests: those of tests/rows are read by the test of the same name, those of tests/rules by DUMPS.
ROWS, RULES = pathlib.PurePath("tests/rows"), pathlib.PurePath("tests/rules")
DUMPS = UNIT / "plugins/module_utils/_rules/test_dumps.py"
# The test of the tables tests/looks/<folder>, for each source of the folder and for the tables.
LOOKS, LOOK = pathlib.PurePath("tests/looks"), "test_looks.py"
PACKAGE = "ansible_collections.kubenode.netfilter."
USERS_TESTS = 60
# Folders whose files tests and tools import by file name only.
HELPERS = tuple(pathlib.PurePath("tests") / name for name in ("tools", "checks", "fixtures", "unit"))


def is_test(path):
    """Return whether pytest collects tests from a file."""
    return path.name.startswith("test_") and path.suffix == ".py"


def tests_of(path, top=TOP):
    """Return the test files, relative to `top`, that belong to a Python file: for a test the file itself, for a source
    its mirror, for a table of rows the test that reads it.

    For a source without a mirror, or for a helper of tests, these are the tests that import it. If no test imports it,
    these are the tests of the files that import it.
    """
    path = pathlib.PurePath(path)
    if RULES in path.parents:
        return [str(DUMPS)]
    if ROWS in path.parents:
        place = path.relative_to(ROWS)
        folder = "plugins/module_utils" if place.parts[0].startswith("_") else "plugins" if place.parts[1:] else "."
        return [str(UNIT / folder / place.with_name("test_%s.py" % path.stem))]
    if LOOKS in path.parents:
        return [str(UNIT / PLUGINS / "module_utils/_look" / path.parent.name / LOOK)]
    if path.suffix != ".py" or path.parts[0] not in (str(PLUGINS), "tests"):
        return []
    if is_test(path) and UNIT in path.parents:
        return [str(path)]
    seen, wave = {path}, [path]
    while wave:
        found = sorted({str(test) for source in wave for test in mirror_of(source, top)})
        if any(pathlib.PurePath(test).name != LOOK for test in found):
            return found
        users = {user for source in wave for user in imported_by(top).get(source, ())} - seen
        tests = sorted(str(user) for user in users if is_test(user) and UNIT in user.parents)
        if found or tests:
            return sorted({*found, *tests})
        seen |= users
        wave = sorted(users)
    return []


def tests_of_users(path, top=TOP):
    """Return at most USERS_TESTS further tests: of the files that import a source, nearest first. Of files that reach
    it in more than two steps, these are only the tests of whole trees (directly in UNIT) and of sections (_look)."""
    path, waves = pathlib.PurePath(path), []
    seen, wave = {path}, {path}
    while wave:
        wave = {user for source in wave for user in imported_by(top).get(source, ())} - seen
        seen |= wave
        waves.append(sorted(wave))
    near = [[test for user in wave if UNIT in user.parents or not is_test(user) for test in tests_of(user, top)]
            for wave in waves[:2]]
    trees = sorted(str(user) for user in seen if user.parent == UNIT and is_test(user))
    sections = sorted({user.parent for user in seen if user.parent.parent.name == "_look"})
    of_sections = [str(test.relative_to(top)) for section in sections
                   for test in sorted((top / UNIT / section).glob("test_*.py"))]
    found = dict.fromkeys(near[0] + trees + sum(near[1:], []) + of_sections)
    return [test for test in found if test not in tests_of(path, top)][:USERS_TESTS]


def mirror_of(path, top):
    """Return the tests that have the name of a source, or the only test file of its folder, and the tables of looks."""
    folder = top / UNIT / path.parent
    looks = [folder / LOOK] if (folder / LOOK).exists() else []
    here = sorted(set(folder.glob("test_*.py")) - set(looks))
    found = [test for test in here if _owner(test, top / path.parent) == path.stem]
    if not found and len(here) == 1:
        found = here
    if "_rules" in path.parts and found and (top / RULES / (path.stem + ".yml")).exists():
        found.append(top / DUMPS)
    return [test.relative_to(top) for test in found + looks]


def _owner(test, sources):
    """The longest name of a source with which the name of a test begins: test_save_fold_bounds.py belongs to
    save_fold.py, not to save.py."""
    words = test.stem[len("test_"):].split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    return next((name for name in names if (sources / (name + ".py")).exists()), None)


@functools.lru_cache(maxsize=None)
def imported_by(top):
    """Return {file: files that import it}, sources and tests, relative to `top`."""
    users = {}
    for folder in (PLUGINS, *HELPERS):
        for path in sorted((top / folder).rglob("*.py")):
            user = pathlib.PurePath(str(path.relative_to(top)))
            for used in _imports(user, path.read_text(encoding="utf-8"), top):
                users.setdefault(used, set()).add(user)
    return users


def _imports(user, text, top):
    """A generator of the files of the collection that a file imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [folder / (alias.name + ".py") for alias in node.names for folder in HELPERS]
        elif not isinstance(node, ast.ImportFrom):
            continue
        elif not node.level and not node.module.startswith(PACKAGE):
            names = [folder / (node.module + ".py") for folder in HELPERS]
        else:
            base = user.parents[node.level - 1] / (node.module or "").replace(".", "/") if node.level else (
                pathlib.PurePath(node.module[len(PACKAGE):].replace(".", "/")))
            names = [base.with_suffix(".py"), *(base / (alias.name + ".py") for alias in node.names)]
        yield from (name for name in names if (top / name).exists())
