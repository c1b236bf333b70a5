# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CNI network configurations. PRIVATE to the collection.

Sample: `{"name": "cbr0", "plugins": [{"type": "flannel"}, {"type": "portmap"}]}`. Format: CNI specification, section 1.
"""

import collections
import json

# flannel writes the configuration of these two plugins itself and runs them (flannel-io/cni-plugin, flannel_linux.go).
_FLANNEL_RUNS = ("bridge", "host-local")

# `name` of the network or None; `plugins`: their types in order; `programs`: all programs that run for them; `problem`:
# why a runtime rejects the file, or None; `entries`: the settings of each plugin.
CniConfig = collections.namedtuple("CniConfig", "name plugins programs problem entries")


def parse_cni_config(text, is_list):
    """The `CniConfig` of a file; `is_list` is true for a .conflist, which libcni reads differently."""
    fields, problem = _parsed(text)
    if problem:
        return CniConfig(None, [], [], problem, [])
    inner = fields.get("plugins")
    # A file for one plugin has a type; libcni ignores a list of plugins beside it.
    listed = isinstance(inner, list) and (is_list or not _text(fields.get("type")))
    entries = [entry for entry in (inner if listed else [fields]) if isinstance(entry, dict)]
    entries = [entry for entry in entries if _text(entry.get("type"))]
    return CniConfig(_text(fields.get("name")), [entry["type"] for entry in entries], _programs(entries),
                     _problem_of_list(fields) if is_list else _problem_of_one(fields), entries)


def _parsed(text):
    """(dict, None), or (None, why the text is not JSON). encoding/json of Go accepts neither NaN nor Infinity."""
    if not text.strip():
        return None, "is empty"
    try:
        fields = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return None, "is nested too deeply"
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        return None, "ends too early (truncated)" if cut else "is not valid JSON at line %d" % error.lineno
    except ValueError:
        return None, "is not valid JSON"
    return (fields, None) if isinstance(fields, dict) else (None, "is not a JSON object")


def _refuse(word):
    raise ValueError(word)


def _problem_of_list(fields):
    """libcni ConfListFromBytes()."""
    plugins = fields.get("plugins")
    if not _text(fields.get("name")):
        return "has no name"
    if not isinstance(plugins, list) or not plugins:
        return "has no plugins"
    if not all(isinstance(plugin, dict) and _text(plugin.get("type")) for plugin in plugins):
        return "has a plugin without type"
    return None


def _problem_of_one(fields):
    """libcni ConfFromBytes(): a list of plugins is read in files named .conflist only."""
    if _text(fields.get("type")):
        return None
    return "has a list of plugins, which is read from files named .conflist only" if "plugins" in fields \
        else "has no type"


def _programs(entries):
    """Names of the programs that a runtime runs for the plugins, each once."""
    names = []
    for entry in entries:
        names.append(entry["type"])
        if entry["type"] == "flannel":
            delegate = entry.get("delegate")
            own = _text(delegate.get("type")) if isinstance(delegate, dict) else None
            names += [own] if own else _FLANNEL_RUNS
        ipam = entry.get("ipam")
        names += [ipam["type"]] if isinstance(ipam, dict) and _text(ipam.get("type")) else []
    return sorted(set(names), key=names.index)


def _text(value):
    return value if isinstance(value, str) and value else None
