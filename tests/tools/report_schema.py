# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/schema/node-report-1.json, made from the documented return values of the module assess.

docs/schema/fleet-1.json is written by hand; a test compares both with the reports.
"""

import ast
import json
import pathlib
import re

import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "schema" / "node-report-1.json"
FLEET = TOP / "docs" / "schema" / "fleet-1.json"
ASSESS = TOP / "plugins" / "modules" / "assess.py"

TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "list": "array"}
# The allowed values. Status and severity are the two independent axes of a finding, see docs/how-it-works.md.
ENUMS = {"status": ["pass", "fail", "skip", "unknown", "waived"], "severity": ["info", "low", "medium", "high"],
         "outcome": ["fixed", "would fix", "refused", "failed", None], "worst": ["info", "low", "medium", "high", None]}
MARKUP = re.compile(r"\b[A-Z]{1,2}\(([^)#]+)(?:#[^)]*)?\)")
NULL = re.compile(r"\bnull\b", re.IGNORECASE)
# Values that a report always has: the identity, status and texts of a finding, the counts, the identity of a waiver or
# of a disabled check. Any other scalar is null if the node did not report it.
NEVER_NULL = {"check", "subject", "title", "status", "severity", "observed", "expected", "reason", "remediation",
              "pass", "fail", "skip", "unknown", "waived", "run", "reached", "immutable"}


def documented():
    """The facts of a host, as RETURN of the module assess documents them."""
    tree = ast.parse(ASSESS.read_text(encoding="utf-8"))
    text = next(node.value.value for node in tree.body
                if isinstance(node, ast.Assign) and node.targets[0].id == "RETURN")
    return yaml.safe_load(text)["ansible_facts"]["contains"]


def described(entry):
    text = entry["description"]
    return MARKUP.sub(r"\1", " ".join(" ".join([text] if isinstance(text, str) else text).split()))


def of_entry(entry, name=""):
    """The schema of one documented value. A list or dictionary may be null only if its description has the word
    `null`."""
    kind = TYPES[entry["type"]]
    nullable = NULL.search(described(entry)) or kind not in ("array", "object") and name not in NEVER_NULL
    schema = {"description": described(entry), "type": [kind, "null"] if nullable else kind}
    if name in ENUMS:
        schema["enum"] = ENUMS[name]
    if kind == "array":
        schema["items"] = (of_keys(entry["contains"]) if "contains" in entry else
                           {"type": "array", "items": {"type": "string"}} if entry["elements"] == "list" else
                           {"type": TYPES[entry["elements"]]})
    elif "contains" in entry:
        schema.update(of_keys(entry["contains"]))
    return schema


def of_keys(entries):
    return {"type": "object",
            "required": [key for key, entry in entries.items() if entry.get("returned") == "always"],
            "properties": {key: of_entry(entry, key) for key, entry in entries.items()}}


def schema():
    facts = {name: of_entry(entry) for name, entry in documented().items()}
    shared, digest = json.loads(FLEET.read_text(encoding="utf-8"))["$defs"], facts["node_assess_digest"]
    properties = {
        "schema": {"const": 1, "description": "Version of this schema. A later version changes or removes a key; keys "
                                              "that are new do not change it."},
        "tool": {"$ref": "#/$defs/tool"},
        "host": {"type": "string", "description": "Name of the host in the inventory."},
        "run": {"$ref": "#/$defs/run"},
        "started": {"$ref": "#/$defs/started"},
        "summary": facts["node_assess_summary"],
        "causes": facts["node_assess_causes"],
        "findings": facts["node_assess_findings"],
        "required_modules": facts["node_assess_required_modules"],
        "conntrack_peak": {"type": "integer", "minimum": 0,
                           "description": "Highest number of conntrack entries in this run and earlier reports."},
        "conntrack_losses": dict(facts["node_assess_conntrack"]["properties"]["losses"], type=["object", "null"]),
        "numbers": facts["node_assess_numbers"],
        "digest": dict(digest, type=["object", "null"]),
        "items": {"type": "object", "required": ["modules", "sysctls", "hooks", "cni_files"],
                  "additionalProperties": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
                  "description": "What nodes are compared by: items of each kind with their values, null where they are "
                                 "not known."},
        "user_checks": facts["node_assess_user_checks"],
        "groups": {"type": "array", "items": {"type": "string"}, "description": "Groups of the inventory that the host "
                                                                                "is in."},
        "group_by": {"type": "object", "additionalProperties": {"type": "string"},
                     "description": "Values of the variables in node_report_group_by that are set for the host."},
    }
    evidence = {"type": "object", "description": "Sections as the module node_facts returns them, where "
                                                 "node_report_evidence is true.",
                "additionalProperties": {"type": "object", "required": ["schema", "collected"]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "node-report-1.json",
            "title": "Report of a node, nodes/<host>.json", "type": "object", "required": list(properties),
            "properties": dict(properties, evidence=evidence),
            "$defs": {name: shared[name] for name in ("tool", "run", "started")}}


def render_page():
    return json.dumps(schema(), indent=2) + "\n"
