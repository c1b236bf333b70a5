# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests for changes since main (BASE), and the linters: a result within two minutes, and a list of tests that were
left out."""

import collections
import concurrent.futures
import os
import pathlib
import re
import sys
import time

import lint
import yaml
from changes import CATALOGUE, NoBase, base_of, changed_checks, changed_files
from mirror import tests_of
from results import BUILD, MAX_NAMES, TOP, VENV, Results, clean_env
from unit import trees

# Of the two minutes; linters and pages run at the same time as the tests.
SECONDS = 75
CASES = pathlib.PurePath("tests/checks")
CHECKS = "tests/unit/plugins/plugin_utils/test_checks.py"
OF_CATALOGUE = "tests/unit/plugins/plugin_utils/_checks/test_catalogue.py"
# Tests for all files, whatever changed.
HOUSE = ("tests/unit/test_import_law.py", "tests/unit/test_house.py")
DOCUMENTED = re.compile(r"plugins/(modules|filter|doc_fragments)/.*\.py|roles/[^/]+/meta/argument_specs\.yml|%s/."
                        r"*\.yml|docs/.*\.(md|rst|yml)|roles/[^/]+/(README\.md|defaults/.*)"
                        r"|galaxy\.yml|CHANGELOG\.rst|changelogs/.*" % re.escape(str(CATALOGUE)))
LINTED_BY_ANSIBLE = re.compile(r"(roles|playbooks|molecule|meta)/.*\.ya?ml|galaxy\.yml|\.ansible-lint")
# Files that cannot have unit tests; the linters and the house rules check them.
NO_TESTS = re.compile(r".*\.(md|rst|txt|cfg|ini)|changelogs/.*|LICENSE|\.[\w-]+")

Plan = collections.namedtuple("Plan", "tests checks documented ansible_lint untested")


def plan_of(files, base):
    """Return what to run for changed files."""
    tests, checks, untested = set(), set(), []
    for path in files:
        if path.parent == CATALOGUE and path.suffix == ".yml":
            checks.update(changed_checks(path, base))
            mine = [OF_CATALOGUE]
        elif path.parent == CASES and path.suffix == ".yml":
            checks.add(path.stem)
            continue
        else:
            mine = [test for test in tests_of(path) if (TOP / test).exists()]
        tests.update(mine)
        if not mine and (TOP / path).exists() and not NO_TESTS.fullmatch(str(path)):
            untested.append(str(path))
    # Changed tests run first, because the developer works on them. The house rules always run.
    ordered = sorted(tests.difference(HOUSE), key=lambda test: (pathlib.PurePath(test) not in files, test))
    with_cases = sorted(check for check in checks if CHECKS not in tests and (TOP / CASES / (check + ".yml")).exists())
    return Plan(ordered, with_cases, any(DOCUMENTED.fullmatch(str(path)) for path in files),
                any(LINTED_BY_ANSIBLE.fullmatch(str(path)) for path in files), untested)


def run_tests(results, plan, end):
    """Run tests as rows until the end: the tests of the files, the cases of the checks, the house rules."""
    for what, arguments in (("unit tests of what changed", plan.tests),
                            ("cases of %d changed checks" % len(plan.checks),
                             [CHECKS, "-k", " or ".join(plan.checks)] if plan.checks else []),
                            ("house rules and who may import whom", HOUSE)):
        if not arguments:
            continue
        if time.monotonic() >= end:
            results.left_out(what, "not begun within %d seconds" % SECONDS)
            continue
        junit = BUILD / "results" / ("quick-%s.xml" % what.partition(" ")[0])
        junit.unlink(missing_ok=True)
        with trees() as folder:
            command = [VENV / "bin/python", TOP / "tests/tools/pytest_until.py", max(1, round(end - time.monotonic())),
                       "-q", "-p", "no:cacheprovider", "--junit-xml", junit, *arguments]
            results.run(what, command, env=clean_env(PYTHONDONTWRITEBYTECODE="1", TMPDIR=folder), junit=junit)


def tell_what_is_left_out(results, plan):
    results.left_out("other Pythons and ansible-cores", "make unit")
    if not plan.ansible_lint:
        results.left_out("ansible-lint", "no role, playbook or scenario changed; make lint")
    if not plan.documented:
        results.left_out("pages", "nothing they are made of changed; make docs")
    if plan.untested:
        more = len(plan.untested) - MAX_NAMES
        results.left_out(", ".join(plan.untested[:MAX_NAMES]) + (" and %d more" % more if more > 0 else ""),
                         "no unit tests belong to this")
    results.left_out("sanity, build, site, bench and molecule", "make test")


def main():
    end = time.monotonic() + SECONDS
    try:
        base = base_of(os.environ.get("BASE") or "main")
        files = changed_files(base)
        plan = plan_of(files, base)
    except NoBase as error:
        return str(error)
    except yaml.YAMLError as error:
        return "A changed file of checks is no YAML: %s" % " ".join(str(error).split())
    if not files:
        print("  nothing differs from %s" % base[:12])
        return 0
    print("  %d files differ from %s" % (len(files), base[:12]), flush=True)
    results = Results("quick")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        jobs = [pool.submit(run_tests, results, plan, end), pool.submit(lint.run_linters, results, plan.ansible_lint)]
        if plan.documented:
            jobs.append(pool.submit(results.run, "pages",
                                    [VENV / "bin/python", TOP / "tests/tools/docs.py", "--check"]))
        for job in jobs:
            job.result()
    tell_what_is_left_out(results, plan)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
