# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of a check, as its table in this folder lists them: what each one changes on a healthy node."""

import pathlib

import yaml
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _policy

TABLES = pathlib.Path(__file__).resolve().parent
# Word of a case -> what it sets in the row of a module.
_OF_MODULES = (("state", "state"), ("boot", "at_boot"), ("persisted", "persisted"))


def table(check_id):
    """The cases of a check."""
    return yaml.safe_load((TABLES / (check_id + ".yml")).read_text(encoding="utf-8"))


def case_of(row):
    """(evidence, policy) of a case."""
    policy = _policy.policy_of(row.get("policy") or {})
    evidence = healthy(policy.module_names, row.get("modules"), row.get("evidence"))
    for word, field in _OF_MODULES:
        for name, value in (row.get(word) or {}).items():
            next(module for module in evidence["node_kernel_modules"]["modules"]
                 if module["name"] == name)[field] = value
    return evidence, policy
