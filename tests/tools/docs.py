# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes docs/checks.md, docs/causes.md, docs/log-causes.md, the screens of the README, the schema of a report, the
tables of the roles' variables, the guides of the site and the changelog (with --check: only compares) and proves that
every page of the collection renders.

With --site it also builds the documentation site, which takes minutes.
"""

import concurrent.futures
import re
import subprocess
import sys
import time

import causes_page
import checks_page
import docsite
import guides
import log_causes_page
import report_schema
import screens
import variables
from results import BUILD, TOP, VENV, Results, clean_env

PAGES = (("module", "plugins/modules/*.py"), ("filter", "plugins/filter/*.py"),
         ("role", "roles/*/meta/argument_specs.yml"))


def name_of(kind, path):
    return "kubenode.netfilter." + (path.parents[1].name if kind == "role" else path.stem)


def problem_with(kind, names):
    """Return why ansible-doc does not render pages, or None."""
    done = subprocess.run([str(VENV / "bin/ansible-doc"), "-t", kind, *names], cwd=str(BUILD), stdin=subprocess.DEVNULL,
                          env=clean_env(ANSIBLE_COLLECTIONS_PATH=str(BUILD)), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)
    if done.returncode or done.stderr.strip():
        return (done.stderr or done.stdout).strip()
    headings = {word for line in done.stdout.splitlines() if line.startswith("> ")
                for word in re.findall(r"[\w.]+", line.lower())}
    missing = sorted(set(names) - headings)
    return "no page of " + ", ".join(missing) if missing else None


def problems_with(kind, names):
    """Return {name: problem}. One process renders all pages; only if that fails, each page is rendered alone."""
    if problem_with(kind, names) is None:
        return {}
    return {name: problem for name, problem in ((name, problem_with(kind, [name])) for name in names) if problem}


def render(results, kind, pattern):
    """Prove that the pages of one type render."""
    start = time.monotonic()
    names = [name_of(kind, path) for path in sorted(TOP.glob(pattern))]
    problems = problems_with(kind, names)
    results.add("ansible-doc, pages of type %s" % kind, len(names) - len(problems), len(problems),
                seconds=time.monotonic() - start)
    for name, problem in problems.items():
        print("    %s: %s" % (name, problem))


def write_page(results, path, page, check):
    """Write a page that is rendered from data of the collection, or compare it."""
    name, fresh = path.relative_to(TOP), path.exists() and path.read_text(encoding="utf-8") == page
    if check:
        results.add("%s is what its data renders to" % name, int(fresh), int(not fresh))
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
        print("  wrote %s" % name)


def main(check, site):
    results = Results("docs")
    for module in (checks_page, causes_page, log_causes_page, report_schema):
        write_page(results, module.PAGE, module.render_page(), check)
    for path, page in [*variables.pages(), *guides.pages(), (screens.README, screens.render_readme())]:
        write_page(results, path, page, check)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        jobs = [pool.submit(render, results, kind, pattern) for kind, pattern in PAGES]
        tools = docsite.prepared(results)
        if tools:
            docsite.changelog(results, *tools, check)
        for job in jobs:
            job.result()
    if tools and site:
        docsite.site(*tools)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:], "--site" in sys.argv[1:]))
