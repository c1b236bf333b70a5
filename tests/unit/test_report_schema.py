# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published JSON Schemas: reports as they are written fit them, and no key of a report is missing from them."""

import copy
import json

import jsonschema
import pytest
import report_runs
import report_schema
from case_rows import cases

SCHEMAS = {"node": report_schema.PAGE, "fleet": report_schema.FLEET}


def schema_of(kind):
    return json.loads(SCHEMAS[kind].read_text(encoding="utf-8"))


def strict(schema):
    """The schema without keys that it does not name."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(part) for key, part in schema.items()}
    if isinstance(closed.get("properties"), dict) and "additionalProperties" not in closed and "required" in closed:
        closed["additionalProperties"] = False
    return closed


def problems(kind, document, schema=None):
    validator = jsonschema.Draft202012Validator(schema or strict(schema_of(kind)))
    return [error.message for error in validator.iter_errors(json.loads(json.dumps(document)))]


@pytest.fixture(scope="module")
def written():
    """The reports and the roll-up of a run with everything in it, as JSON has them."""
    reports, fleet = report_runs.everything()
    with_evidence = report_runs.report_of("with-evidence", evidence=True, groups=["workers", "ungrouped"])
    # A node that tells nothing of its Services.
    with_evidence["digest"] = dict(with_evidence["digest"], service_count=None)
    unreached = report_runs.report_of("unreached", not_reached="no route to host")
    reports = dict(reports, **{each["host"]: each for each in (with_evidence, unreached)})
    return reports, report_runs.roll_up(reports, lost=["gone"]), fleet


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
def test_the_schema_is_one(kind):
    jsonschema.Draft202012Validator.check_schema(schema_of(kind))


def test_the_schema_of_a_node_is_what_assess_documents():
    assert report_schema.PAGE.read_text(encoding="utf-8") == report_schema.render_page(), "run `make docs`"


def test_every_report_fits_and_has_no_key_that_the_schema_does_not_name(written):
    reports, *fleets = written
    assert {name: problems("node", report) for name, report in reports.items()} == dict.fromkeys(reports, [])
    assert [problems("fleet", fleet) for fleet in fleets] == [[], []]


@cases
def test_a_report_that_is_not_as_documented_is_refused(written, path, value):
    report = copy.deepcopy(written[0]["with-evidence"])
    assert problems("node", report) == []
    place = report
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert len(problems("node", report, schema_of("node"))) == 1


def test_a_key_of_a_later_release_does_not_break_a_reader(written):
    report = dict(written[0]["with-evidence"], added={"later": 1})
    assert problems("node", report, schema_of("node")) == [] != problems("node", report)
