# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of the user, as `node_policy_check_files` names their files. PRIVATE to the collection.

They are data like those of the collection: nothing in them is run, imported or templated. An id begins with a prefix of
the user and a dash, which no id of the collection has.

Loads YAML that a user wrote; an error is one sentence that names file and line.
"""

import dataclasses
import functools
import pathlib
import re
import types

import yaml

from ...module_utils._errors import BadInput
from .._options import checked, close_to, shown, unknown_name
from .._plain import plain
from .._render.text import some
from .._role_data import LOADER
from . import catalogue, references
from .row_shapes import refuse_unknown_keys, sections_read


class _Loader(LOADER):
    """Refuses a key that a dictionary has twice; YAML would use the last one."""

    def construct_mapping(self, node, deep=False):
        """The dictionary of a node."""
        seen = set()
        for key, _value in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(None, None, "the key %s is there twice" % key.value,
                                                        key.start_mark)
            seen.add((key.tag, getattr(key, "value", None)) if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep=deep)


_DEPTH_LIMIT = 50
_LEVELS = "%s: line %d has more than %d levels"
# libyaml of PyYAML 6.0.4 reads ahead, and ends at its own limit of 1000 levels before ours is seen.
_TOO_DEEP = "exceeded maximum nesting depth"


def yaml_of(name, content):
    """The value of a document. Raises BadInput with `name` for one that is not YAML; aliases are refused, because a
    few of them make a document of any size."""
    try:
        text = content.decode("utf-8")
        _refuse_large(name, text)
        return plain(yaml.load(text, Loader=_Loader))
    except UnicodeDecodeError as error:
        raise BadInput("%s is not UTF-8 text at byte %d" % (name, error.start)) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        if mark and _TOO_DEEP in problem:
            raise BadInput(_LEVELS % (name, mark.line + 1, _DEPTH_LIMIT)) from None
        place = "line %d, column %d: " % (mark.line + 1, mark.column + 1) if mark else ""
        raise BadInput("%s is not valid YAML: %s%s" % (name, place, problem)) from None
    except ValueError as error:
        raise BadInput("%s is not valid YAML: %s" % (name, " ".join(str(error).split())[:200])) from None


def _refuse_large(name, text):
    """Reads no further than to the first alias or level too many; a few of either keep a parser busy for hours."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise BadInput("%s: line %d has a YAML alias; write the value out" % (name, line))
        if depth > _DEPTH_LIMIT:
            raise BadInput(_LEVELS % (name, line, _DEPTH_LIMIT))


VARIABLE = "node_policy_check_files"
SUFFIXES = (".yml", ".yaml")
# The folder of cases beside a file, which holds no checks.
CASES = "tests"
FILES_LIMIT, CHECKS_LIMIT, BYTES_LIMIT = 100, 500, 1024 * 1024
_KEY_LIMIT, _LISTED = 100, 20
_ID = re.compile(r"[A-Z][A-Z0-9]{1,9}-[A-Z]{1,10}[0-9]{3}\Z")
_FORM = "an id is a prefix of your own, a dash, letters and three digits, such as SITE-MTU001"
# A role fixes the settings that the policy names, not the failures that a check of the user finds.
_FIX = {"role": None, "part": None, "class": None, "manual": None, "safety": None}


def with_checks_of(given, folders):
    """All checks by id: those of the collection and those of the files `given`, paths relative to one of `folders`.
    Raises BadInput."""
    if not given:
        return catalogue.catalogue()
    return types.MappingProxyType(dict(catalogue.catalogue(), **user_checks(files_of(given, folders))))


def user_checks(files):
    """`{id: Check}` of `[(name, path)]`, in order. Raises BadInput for the first mistake."""
    checks = {}
    for name, path in files:
        for check in _checks_of(name, read(name, path, BYTES_LIMIT)):
            if check.id in checks:
                raise BadInput("%s: %s: the id is already in %s" % (name, check.id, checks[check.id].file))
            checks[check.id] = check
    if len(checks) > CHECKS_LIMIT:
        raise BadInput("%s names %d checks; give at most %d" % (VARIABLE, len(checks), CHECKS_LIMIT))
    return dict(sorted(checks.items()))


def files_of(given, folders):
    """`[(name, path)]` of the files with checks, each once; `name` is the path as the user wrote it. Raises
    BadInput."""
    files = {}
    for index, name in enumerate(given):
        where = "%s[%d]" % (VARIABLE, index)
        try:
            path = _found(where, name, folders)
            for file in _within(where, name, path) if path.is_dir() else [path]:
                files.setdefault(file.resolve(), str(pathlib.PurePath(name) / file.name) if path.is_dir() else name)
        except (OSError, RuntimeError, ValueError) as error:
            # An unknown user behind ~ and a loop of links are a RuntimeError, a text that is no path a ValueError.
            raise BadInput("%s: %s cannot be read: %s" % (
                where, shown(name), getattr(error, "strerror", None) or error)) from None
    if len(files) > FILES_LIMIT:
        raise BadInput("%s names %d files; give at most %d" % (VARIABLE, len(files), FILES_LIMIT))
    return [(name, path) for path, name in files.items()]


def _found(where, name, folders):
    if not name or "\0" in name:
        raise BadInput("%s is %r; give the path of a file or a folder" % (where, name))
    relative = pathlib.Path(name).expanduser()
    paths = [folder / relative for folder in folders or [pathlib.Path.cwd()]]
    for path in paths:
        if path.is_dir() or path.is_file():
            return path
    near = close_to(paths[0].name, _names_in(paths[0].parent))
    raise BadInput("%s: %s is not a file or a folder%s" % (
        where, paths[0], "; did you mean %s?" % near if near else "; a path is relative to the inventory"))


def _names_in(folder):
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _within(where, name, folder):
    files = sorted(path for path in folder.iterdir()
                   if path.suffix in SUFFIXES and path.is_file() and not path.name.startswith("."))
    if not files:
        raise BadInput("%s: the folder %s has no file that ends in .yml or .yaml" % (where, name))
    return files


def read(name, path, limit):
    """The bytes of a file. Raises BadInput for one that cannot be read or has more than `limit`."""
    try:
        with open(path, "rb") as stream:
            content = stream.read(limit + 1)
    except OSError as error:
        raise BadInput("%s could not be read: %s" % (name, error.strerror)) from None
    if len(content) > limit:
        raise BadInput("%s has more than %d bytes" % (name, limit))
    return content


@functools.lru_cache(maxsize=FILES_LIMIT)
def _checks_of(name, content):
    """The checks of a file."""
    entries = yaml_of(name, content)
    if not isinstance(entries, list) or not entries:
        raise BadInput("%s must be a list of checks, not %s" % (name, _kind_of(entries)))
    return [_check_of(name, number, entry) for number, entry in enumerate(entries, 1)]


def _check_of(name, number, entry):
    if not isinstance(entry, dict):
        raise BadInput("%s: entry %d must be a dictionary, not %s" % (name, number, _kind_of(entry)))
    for key in entry:
        if not isinstance(key, str):
            raise BadInput("%s: entry %d: the key %r must be a text" % (name, number, key))
        if len(key) > _KEY_LIMIT:
            raise BadInput("%s: entry %d: a key has %d characters; give at most %d"
                           % (name, number, len(key), _KEY_LIMIT))
    if "id" not in entry:
        raise BadInput("%s: entry %d lacks id; there is: %s" % (
            name, number, some(sorted(entry), _LISTED) or "nothing"))
    where = "%s: %s" % (name, " ".join(str(entry["id"]).split())[:40])
    _refuse_wrong_id(where, entry["id"])
    fix = entry.get("fix")
    if isinstance(fix, dict):
        entry = dict(entry, fix=_fix_of(where, fix))
    check = dataclasses.replace(catalogue.check_of(where, entry), file=name)
    _refuse_wrong_expressions(where, check)
    return check


def _refuse_wrong_expressions(where, check):
    """Raises BadInput for an expression that would make the check unknown on every node."""
    sections = {need.partition(".")[0] for need in check.needs} | {"node_host"}
    for name in references.EXPRESSIONS:
        expression = getattr(check, name)
        if expression is None:
            continue
        refuse_unknown_keys(where, name, expression)
        for section in sorted(sections_read(expression) - sections):
            raise BadInput("%s: %s reads %s, which needs does not name" % (where, name, section))


def _refuse_wrong_id(where, check_id):
    if not isinstance(check_id, str):
        raise BadInput("%s: id must be a text; %s" % (where, _FORM))
    ours = {check.section for check in catalogue.catalogue().values()}
    if check_id in catalogue.catalogue() or check_id.upper() in catalogue.catalogue():
        raise BadInput("%s: the id belongs to a check of the collection; did you mean SITE-%s?"
                       % (where, check_id.upper()))
    if not _ID.match(check_id):
        near = check_id.strip().upper().replace("_", "-").replace(" ", "-")
        raise BadInput("%s: %s%s" % (where, _FORM, "; did you mean %s?" % near if _ID.match(near) else ""))
    prefix = check_id.partition("-")[0]
    if prefix in ours:
        raise BadInput("%s: the prefix %s is a section of the collection; did you mean SITE-%s?"
                       % (where, prefix, check_id.partition("-")[2]))


def _fix_of(where, fix):
    for key in fix:
        if key not in _FIX:
            raise unknown_name("%s: fix: the key" % where, key, _FIX)
    if fix.get("role") or fix.get("part"):
        raise BadInput("%s: fix.%s: no role fixes a check of your own; describe the fix in fix.manual"
                       % (where, "role" if fix.get("role") else "part"))
    if not fix.get("manual"):
        raise BadInput("%s: fix lacks manual, the command or the steps of the fix" % where)
    checked("%s: fix.class" % where, fix.get("class"), {"type": "str", "choices": catalogue.FIX_CLASSES})
    return {key: fix.get(key) for key in _FIX if key != "part"}


def _kind_of(value):
    return {dict: "a dictionary", list: "an empty list", str: "a text", type(None): "empty"}.get(
        type(value), type(value).__name__)
