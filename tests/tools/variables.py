# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of variables in the README of each role, from its argument specification and its defaults."""

import re

import yaml
from results import TOP

HEADING = "## Variables\n"
# A longer default would tear the table apart.
MAX_DEFAULT = 40
MARKUP = re.compile(r"\b(?:[OVCMPE]|RV)\(([^)]*)\)")


def pages():
    """A generator of (path, text): the README of each role that has a section for its variables."""
    for specs in sorted(TOP.glob("roles/*/meta/argument_specs.yml")):
        page = specs.parents[1] / "README.md"
        before, heading, rest = page.read_text(encoding="utf-8").partition(HEADING)
        if heading:
            yield page, before + section(specs) + "".join(rest.partition("\n## ")[1:])[1:]


def section(specs):
    options = yaml.safe_load(specs.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    lines = [HEADING, "| variable | default | meaning |", "| --- | --- | --- |"]
    defaults = defaults_of(specs.parents[1])
    for name, option in options.items():
        lines.append("| `%s` | %s | %s |" % (name, default_of(name, defaults), meaning(option)))
    return "\n".join(lines) + "\n\n"


def defaults_of(role):
    """Return {variable: (value, file below the role)}."""
    return {name: (value, path.relative_to(role).as_posix())
            for path in sorted(role.glob("defaults/**/*.yml"))
            for name, value in (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).items()}


def default_of(name, defaults):
    if name not in defaults:
        return ""
    value, file = defaults[name]
    shown = yaml.safe_dump(value, default_flow_style=True, width=10 ** 6).split("\n...")[0].strip()
    return "`%s`" % cell(shown) if len(shown) <= MAX_DEFAULT else "[%s](%s)" % (file.rpartition("/")[2], file)


def meaning(option):
    described = option["description"]
    text = described if isinstance(described, str) else " ".join(described)
    return cell(" ".join(MARKUP.sub(lambda found: "`%s`" % named(found.group(1)), text).split()))


def named(text):
    """The name in a markup: `role#role:main:variable` is that variable."""
    return re.sub(r"^.*#role:main:", "", text)


def cell(text):
    return text.replace("|", r"\|")
