# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages, descriptions, comments, docstrings, messages, causes, causes of log lines, names of tasks and the changelog
avoid the banned words.

The texts of checks are tested in plugins/plugin_utils/test_checks.py.
"""

import ast
import io
import pathlib
import re
import tokenize

import pytest
import yaml
from banned_words import BANNED
from each_file import nothing_found

TOP = pathlib.Path(__file__).resolve().parents[2]


def files(*patterns):
    return sorted(path for pattern in patterns for path in TOP.glob(pattern))


PAGES = files("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.rst", "roles/*/README.md", "docs/*.md")
PLUGINS = files("plugins/modules/*.py", "plugins/filter/*.py", "plugins/doc_fragments/*.py")
SPECS = files("roles/*/meta/argument_specs.yml")
DEFAULTS = files("roles/*/defaults/**/*.yml", "roles/node_policy/files/profiles/*.yml")
LOG_CAUSES, CAUSES = files("roles/node_policy/files/log_*/*.yml"), files("roles/node_policy/files/causes/*.yml")
TASKS = files("roles/*/tasks/**/*.yml", "playbooks/**/*.yml", "molecule/*/*.yml", "molecule/*/tasks/*.yml")
FRAGMENTS = files("changelogs/fragments/*.yml")
# Keywords of the shell, the documentation that modules share, and a mark that earlier versions have written into files.
NO_MESSAGES = {"_parse/secrets.py", "shell/grammar.py", "doc_fragments/common.py", "conntrack/files.py"}
# Values and names of code, which are no words of ours: O(), V(), RV(), M(), C() and E().
MARKUP = re.compile(r"\b(?:[OVMCE]|RV)\([^)]*\)")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def page_text(text):
    """A page without fenced and indented blocks, code spans and the targets of links, but with the comments of the
    blocks."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"^ {4}.*? # (.*)$", text, re.MULTILINE)
    text = re.sub(r"(?<=\n\n)(?: {4}.*\n+)+", "", text)
    return "\n".join([re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "_", text)), *blocks])


def described(value):
    """Texts below the keys that people read; samples, defaults and choices are data."""
    if isinstance(value, list):
        for element in value:
            yield from described(element)
    elif isinstance(value, dict):
        for key, below in value.items():
            if key in ("description", "short_description", "notes", "details") and not isinstance(below, dict):
                yield from [below] if isinstance(below, str) else below
            else:
                yield from described(below)


def plugin_text(path):
    """Descriptions of all blocks of documentation, and the comments and the names of tasks of the examples."""
    for name, text in re.findall(r'^ *([A-Z]+) = r"""(.*?)"""', path.read_text(encoding="utf-8"),
                                 re.MULTILINE | re.DOTALL):
        if name == "EXAMPLES":
            yield from re.findall(r"^\s*# (.*)$", text, re.MULTILINE)
            yield from task_names(yaml.load(text, Loader=LOADER))
        else:
            yield from described(yaml.load(text, Loader=LOADER))


def task_names(tasks):
    """Names of plays and tasks, also within blocks; the `name` of a module's arguments is data."""
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict):
            yield str(task.get("name", ""))
            for key in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
                yield from task_names(task.get(key))


def no_banned_word(paths, read):
    """No text that `read` finds in a file has a banned word; the failure names its line where the word stands as it
    is."""
    def look(name):
        lines = (TOP / name).read_text(encoding="utf-8").splitlines()
        for word in banned(read(TOP / name)):
            yield "line %s: %s" % (next((number for number, line in enumerate(lines, 1) if word in line), "?"), word)
    nothing_found([path.relative_to(TOP).as_posix() for path in paths], look)


def banned(texts):
    return [match.group() for text in texts for match in BANNED.finditer(" ".join(MARKUP.sub("_", text).split()))]


def texts(path):
    if path.suffix == ".py":
        return list(plugin_text(path))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [page_text(text)]
    if path.suffix == ".rst":
        return [re.sub(r"``[^`]*``", "_", text)]
    if path in DEFAULTS:
        return ["\n".join(re.findall(r"^\s*# (.*)$", text, re.MULTILINE))]
    data = yaml.load(text, Loader=LOADER)
    if path in LOG_CAUSES:
        return [cause[key] for cause in data for key in ("effect", "meaning", "fix") if key in cause]
    if path in CAUSES:
        return [text for cause in data for text in (cause["sentence"], cause["effect"], cause["fix"]["command"],
                                                    cause["then"])]
    if path in TASKS:
        return list(task_names(data))
    if path in FRAGMENTS:
        return [words for value in data.values() for words in ([value] if isinstance(value, str) else value)]
    return list(described(data))


def test_no_text_has_a_banned_word():
    kinds = (PAGES, SPECS, DEFAULTS, LOG_CAUSES, CAUSES, TASKS, FRAGMENTS, PLUGINS)
    assert all(kinds)
    paths = [path for paths in kinds for path in paths]
    # Scenarios have files of plain data, which name no task.
    assert [path for path in paths if not texts(path) and path.parent.parent.name != "molecule"] == []
    no_banned_word(paths, texts)


def test_words_are_found_in_texts_and_not_in_code():
    page = "A page says\n`yields`, [way](fate.md) and what\nis left.\n\n    nobody else  # told\n\nEnd\n"
    assert banned([page_text(page)]) == ["says", "way", "what is", "told"]
    tasks = [{"name": "What was told", "block": [{"name": "Nobody looks", "some.module": {"name": "fate"}}],
              "always": [{"meta": "else"}]}]
    assert banned(task_names(tasks)) == ["told", "Nobody"]
    assert banned(described({"a": {"description": ["Nobody has O(yields).", "b"], "sample": "else"}})) == ["Nobody"]


def messages_of(text):
    """Texts of more than one word in the code of a file, without its documentation."""
    tree = ast.parse(text)
    pages = [node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
             and getattr(node.targets[0], "id", None) in ("DOCUMENTATION", "EXAMPLES", "RETURN")]
    bodies = [node.body[0] for node in ast.walk(tree)
              if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body]
    documented = {id(node.value) for node in bodies if isinstance(node, ast.Expr)} | {id(page) for page in pages}
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and " " in node.value and id(node) not in documented]


def test_no_message_has_a_banned_word():
    no_banned_word([path for path in files("plugins/**/*.py") if "/".join(path.parts[-2:]) not in NO_MESSAGES],
                   lambda path: messages_of(path.read_text(encoding="utf-8")))


def comments_of(text):
    """The comments of a file, lines that follow each other as one, and its docstrings."""
    found, last = [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        words = token.string.lstrip("# ")
        if last and last.start == (token.start[0] - 1, token.start[1]):
            found[-1] += " " + words
        else:
            found.append(words)
        last = token
    bodies = [node for node in ast.walk(ast.parse(text))
              if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))]
    return found + [words for words in map(ast.get_docstring, bodies) if words]


@pytest.mark.parametrize("folder", ["plugins", "tests"])
def test_no_comment_has_a_banned_word(folder):
    no_banned_word(files(folder + "/**/*.py"), lambda path: comments_of(path.read_text(encoding="utf-8")))


def test_comments_and_docstrings_are_told_from_messages():
    text = """'Nobody knows.'\nX = 'it is told'  # What\n\n# what\n# is left\ndef f():\n    'Else.'\n"""
    assert messages_of(text) == ["it is told"]
    assert comments_of(text) == ["What", "what is left", "Nobody knows.", "Else."]
    assert banned(comments_of(text)) == ["what is", "Nobody", "Else"]
