# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which layer may import which other layer, and which files may access a machine: see docs/how-it-works.md."""

import ast
import pathlib
import re
import sys

import pytest
from case_rows import cases
from each_file import nothing_found

PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "plugins"

# (layer, pattern of its files, layers and packages that these files may import). A file belongs to the first layer
# whose pattern matches. `words` are the vocabularies that all layers share.
LAYERS = (
    ("host", r"module_utils/_host/.*", {"words", "host"}),
    ("parse", r"module_utils/_parse/.*", {"words", "parse"}),
    ("rules", r"module_utils/_rules/.*", {"words", "parse", "rules"}),
    ("script", r"module_utils/_script/.*", {"words", "parse", "rules", "script"}),
    ("conntrack", r"module_utils/_conntrack/.*", {"words", "conntrack"}),
    ("look", r"module_utils/_look/.*", {"words", "host", "parse", "rules", "script", "conntrack", "look"}),
    ("change", r"module_utils/_change/.*",
     {"words", "host", "parse", "rules", "script", "conntrack", "look", "change"}),
    ("archive", r"module_utils/_compile_once", set()),
    ("words", r"module_utils/_(errors|names|versions|module_data)", {"words", "archive"}),
    ("plugin_utils", r"plugin_utils/.*",
     {"plugin_utils", "words", "parse", "rules", "conntrack", "jmespath", "netaddr", "yaml", "ansible"}),
    ("modules", r"modules/.*", {"words", "look", "change", "ansible.module_utils"}),
    ("action", r"action/.*", {"words", "plugin_utils", "ansible"}),
    ("filter", r"filter/.*", {"words", "plugin_utils", "ansible"}),
    ("doc_fragments", r"doc_fragments/.*", set()),
)
# A collector only reads. Only code that changes a machine may import these files.
CHANGERS = re.compile(r"module_utils/(_host/(apart|write|lock)|_change/.*)")
MAY_CHANGE = re.compile(CHANGERS.pattern + r"|modules/(?!.*(_facts|_info|_audit)$).*")

# Modules of the standard library that open files or start processes or connections; and the few functions of `os` that
# only handle text.
TOUCHES = {"builtins", "codecs", "ctypes", "fcntl", "ftplib", "glob", "gzip", "http", "importlib", "io", "linecache",
           "lzma", "multiprocessing", "pathlib", "pty", "runpy", "select", "shutil", "signal", "socket", "sqlite3",
           "ssl", "subprocess", "tarfile", "tempfile", "urllib", "zipfile"}
OS_TEXT = {"os.path.basename", "os.path.dirname", "os.path.join", "os.path.normpath", "os.path.split",
           "os.path.splitext"}
# module_utils run on Python 3.6, so only its standard library is allowed. `__future__` annotations are newer.
YOUNGER = {"__future__", "dataclasses", "contextvars", "zoneinfo", "graphlib", "tomllib"}

FILES = sorted(PLUGINS.rglob("*.py"))
NODE_FILES = [path for path in FILES if "module_utils" in path.parts]


def key_of(path):
    return path.relative_to(PLUGINS).with_suffix("").as_posix()


def layer_of(key):
    return next((name for name, pattern, _allowed in LAYERS if re.fullmatch(pattern, key)), None)


def imports(path):
    """A generator of (line, key of a file of this collection or None, dotted name) for each import of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, None, alias.name
        elif isinstance(node, ast.ImportFrom):
            if not node.level:
                for alias in node.names:
                    yield node.lineno, None, "%s.%s" % (node.module, alias.name)
                continue
            base = path.parents[node.level - 1] / (node.module or "").replace(".", "/")
            if base.with_suffix(".py").exists():
                yield node.lineno, key_of(base.with_suffix(".py")), node.module
                continue
            for alias in node.names:
                yield node.lineno, key_of(base / alias.name), alias.name


def group_of(key, name):
    """Return the group of an import: a layer, `stdlib`, or the package name of any other import."""
    if key:
        return layer_of(key)
    if name.startswith("ansible.module_utils."):
        return "ansible.module_utils"
    top = name.split(".")[0]
    return "stdlib" if top in sys.stdlib_module_names else top


def breaches(path):
    mine = layer_of(key_of(path))
    allowed = next((allowed for name, _pattern, allowed in LAYERS if name == mine), set())
    for line, key, name in imports(path):
        group = group_of(key, name)
        if group not in allowed | {"stdlib"} and not (group == "ansible.module_utils" and "ansible" in allowed):
            yield "line %d: %s may not import %s (%s)" % (line, mine, name, group)
        if key and CHANGERS.fullmatch(key) and not MAY_CHANGE.fullmatch(key_of(path)):
            yield "line %d: only looks, may not import %s" % (line, name)


def touches(path):
    """A generator of the places in a file that access the machine without a Host."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("open", "exec", "eval", "compile", "__import__", "input",
                                                      "print"):
            yield "line %d: %s" % (node.lineno, node.id)
        elif isinstance(node, ast.Attribute):
            dotted = ast.unparse(node)
            if re.match(r"os\.(?!path$)", dotted) and dotted not in OS_TEXT:
                yield "line %d: %s" % (node.lineno, dotted)
    for line, key, name in imports(path):
        if not key and (name.split(".")[0] in TOUCHES or (name.startswith("os") and name != "os")):
            yield "line %d: imports %s" % (line, name)


def test_every_file_has_its_layer_and_imports_only_what_that_may():
    assert {layer_of(key_of(path)) for path in FILES} == {name for name, _pattern, _allowed in LAYERS}
    nothing_found(FILES, breaches)


def test_only_the_host_touches_a_machine():
    # The archive layer reads the archive that Ansible sent, which does not count as access to the machine.
    files = [path for path in NODE_FILES if layer_of(key_of(path)) not in ("host", "archive")]
    nothing_found(files, touches)


def test_module_utils_import_relatively_and_nothing_younger_than_python_3_6():
    nothing_found(NODE_FILES, lambda path: [
        "line %d: %s" % (line, name) for line, key, name in imports(path)
        if not key and (group_of(None, name) != "stdlib" or name.split(".")[0] in YOUNGER)])


def reachable(start, graph):
    seen, left = set(), list(graph[start])
    while left:
        key = left.pop()
        if key not in seen:
            seen.add(key)
            left.extend(graph[key])
    return seen


def circles(files):
    """{key: files of its circle} for files that import each other in a circle, wherever in a file an import stands."""
    graph = {key_of(path): {key for _line, key, _name in imports(path) if key} for path in files}
    graph = {key: targets & set(graph) for key, targets in graph.items()}
    behind = {key: reachable(key, graph) for key in graph}
    return {key: {other for other in behind[key] if key in behind[other]} for key in graph if key in behind[key]}


def test_only_the_shell_interpreter_imports_in_a_circle():
    # A script starts commands, and a command may be a shell with a script of its own.
    assert set(circles(NODE_FILES)) == {"module_utils/_script/" + name
                                        for name in ("commands", "foreign", "launchers", "streams", "walk")}


@pytest.mark.parametrize("side", ["module_utils", "plugin_utils"])
def test_both_sides_are_private_rooms(side):
    keys = [key_of(path) for path in FILES if side in path.parts]
    loose = [key for key in keys if key.count("/") == 1]
    assert len(loose) <= 6, loose
    assert [key for key in keys if not key.startswith(side + "/_")] == []


def test_the_documentation_names_the_rooms_of_the_controller():
    text = (PLUGINS.parent / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    rooms = sorted(path.name for path in (PLUGINS / "plugin_utils").glob("_*/") if any(path.glob("*.py")))
    assert sorted(re.findall(r"^\| `(_\w+)` \|", text, re.MULTILINE)) == rooms


@cases
def test_the_law_sees_a_breach(tmp_path, monkeypatch, text, wrong):
    monkeypatch.setitem(globals(), "PLUGINS", tmp_path)
    for name in ("module_utils/_look/kube/kubelet.py", "module_utils/_look/lock/holder.py",
                 "module_utils/_host/write.py", "plugin_utils/_policy.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    collector = tmp_path / "module_utils/_look/kube/kubelet.py"
    assert bool([*breaches(collector), *touches(collector)]) is wrong
