# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads YAML that a user wrote; an error is one sentence that names file and line. PRIVATE to the collection."""

import yaml

from ...module_utils._errors import BadInput
from .._plain import plain
from .._role_data import LOADER


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
