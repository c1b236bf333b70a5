# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The YAML files of the collection's roles. PRIVATE to the collection."""

import functools
import pathlib

import yaml

ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"
# libyaml is ten times faster, but not in every build of PyYAML.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(path):
    """The document in a file of the collection."""
    with open(path, encoding="utf-8") as stream:
        return yaml.load(stream, Loader=LOADER)


@functools.lru_cache(maxsize=None)
def profile(name: str) -> dict:
    """The variables that a profile of roles/node_policy sets, by full name."""
    return load_yaml(ROLES / "node_policy" / "files" / "profiles" / (name + ".yml"))


@functools.lru_cache(maxsize=1)
def defaults() -> dict:
    """The defaults of roles/node_policy by full name."""
    values = {}
    for path in sorted((ROLES / "node_policy" / "defaults" / "main").glob("*.yml")):
        values.update(load_yaml(path))
    return values


@functools.lru_cache(maxsize=None)
def options_of(role: str) -> dict[str, dict]:
    """The options of a role's main entry point, as its argument_specs state them."""
    return load_yaml(ROLES / role / "meta" / "argument_specs.yml")["argument_specs"]["main"].get("options") or {}


@functools.lru_cache(maxsize=None)
def role_defaults(role: str) -> dict:
    """The defaults of a role other than node_policy."""
    return load_yaml(ROLES / role / "defaults" / "main.yml")
