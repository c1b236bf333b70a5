# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known hooks, wrapped in random harmless shell code: the reader still finds exactly these hooks, at their lines.

To repeat a failure, use --hypothesis-seed or the example that hypothesis prints.
"""

import os
import pathlib
import subprocess

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._script.script import read_script

DAMAGED = 2000 if os.environ.get("KUBENODE_ROBUST") == "1" else 300

# Hooks, harmless code, and the code around them.
PIECES = yaml.safe_load((pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "hooks_wrapped.yml").read_text())
HOOKS = [(hook["command"], hook["sort"], hook["tables"] and tuple(hook["tables"])) for hook in PIECES["hooks"]]
HARMLESS, PREFIXES, SUFFIXES, ENDS = (PIECES[name] for name in ("harmless", "prefixes", "suffixes", "ends"))


class Text:
    """Lines under construction, and the line numbers at which the hooks begin."""

    def __init__(self, elements, first=""):
        self.lines, self.wanted, self.numbers = [first] if first else [], [], 0
        self.write(elements)

    def add(self, text):
        self.lines.extend(text.split("\n"))

    def number(self):
        self.numbers += 1
        return self.numbers

    def write(self, elements):
        for kind, *parts in elements:
            getattr(self, "add" if kind == "harmless" else kind)(*parts)

    def place(self, before, command, after, sort, tables):
        """Add a hook; `before` ends where its command begins."""
        self.wanted.append((len(self.lines) + 1 + before.count("\n"), sort, tables))
        self.add(before + command + after)

    def here(self, suffix, prefix):
        """A hook that is a here-document."""
        self.place("", "%siptables-restore <<RULES" % prefix,
                   "%s\n*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT\nRULES" % suffix, "restore", ("nat",))

    def block(self, kind, inner):
        number = str(self.number())
        opening, closing = (part.replace("%d", number) for part in PIECES["blocks"][kind])
        self.add(opening)
        if kind == "heredoc":
            self.add("LOG=/dev/null")
        self.write(inner)
        self.add(":" if kind != "heredoc" else "true")
        self.add(closing)

    def hook(self, hook, prefix, form, suffix, by_variable):
        command, sort, tables = hook
        first, _blank, rest = command.partition(" ")
        if by_variable:
            name = "TOOL_%d" % self.number()
            self.add("%s=%s" % (name, first))
            command = "$%s %s" % (name, rest)
            # Another shell does not know the variable, and quotes prevent its expansion.
            if form(command).startswith(("sh ", "su ", "'$", "\\", "eval '", "$T''", "nsenter")):
                form = FORMS[0]
        if prefix not in OF_THE_SHELL and form(command).startswith("eval"):
            form = FORMS[0]  # A builtin of the shell, which no other program can start.
        end = ENDS.get(prefix, "")
        suffix = "" if end and suffix in (" # tail", ";", " &") else suffix
        self.place(prefix, form(command), suffix + end, sort, tables)


# After these stands a command of the shell that runs the script.
OF_THE_SHELL = ("", "! ", "true && ", "false || ", "if ", "while ! ", "x=1; ", "( ", "{ ", "out=$( ", "if true; then ",
                "for _ in 1 2; do ", "echo y | ", "[ -n \"$x\" ] && ", "time ", "exec 3>&1; ")
# Other spellings of the same command.
FORMS = [
    lambda command: command, lambda command: command, lambda command: command,
    lambda command: command.replace(" ", " \\\n    "), lambda command: command.replace(" ", "  \t"),
    lambda command: "sh -c '%s'" % command, lambda command: "bash -ec \"%s\"" % command,
    lambda command: "eval '%s'" % command, lambda command: "eval %s" % command,
    lambda command: "'%s' %s" % tuple(command.split(" ", 1)),
    lambda command: " ".join(['"%s"' % word for word in command.split(" ")[:2]] + command.split(" ")[2:]),
    lambda command: "\\" + command, lambda command: command[:2] + "''" + command[2:],
    lambda command: "su - root -c '%s'" % command, lambda command: "nsenter -t 1 -m -n -- " + command,
]

LEAVES = st.one_of(
    st.tuples(st.just("hook"), st.sampled_from(HOOKS), st.sampled_from(PREFIXES), st.sampled_from(FORMS),
              st.sampled_from(SUFFIXES), st.booleans()),
    st.tuples(st.just("here"), st.sampled_from(["", " || true", " >/dev/null 2>&1", " # tail", "; echo done"]),
              st.sampled_from(["sudo ", "", "x=1 "])),
    st.tuples(st.just("harmless"), st.sampled_from(HARMLESS)))
BLOCKS = list(PIECES["blocks"])
TREES = st.recursive(LEAVES, lambda inner: st.tuples(st.just("block"), st.sampled_from(BLOCKS),
                                                     st.lists(inner, min_size=1, max_size=3)), max_leaves=8)


def compare(script, wanted):
    found = sorted((effect.line, effect.sort, effect.tables) for effect in read_script(script).effects)
    wanted = sorted(wanted, key=lambda each: each[:2])
    assert [each[:2] for each in found] == [each[:2] for each in wanted], "\n%s" % script
    for (_line, _sort, tables), (line, _wanted_sort, wanted_tables) in zip(found, wanted):
        assert wanted_tables is None or tables == wanted_tables, "line %d of\n%s" % (line, script)


def parses(script):
    """(whether `bash -n` accepts the script, its output)."""
    done = subprocess.run(["bash", "-n"], input=script.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    return done.returncode == 0, done.stdout.decode()


SLOW = {"deadline": None, "print_blob": True,
        "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}


@settings(max_examples=600, **SLOW)
@given(st.lists(TREES, min_size=1, max_size=6), st.sampled_from(["#!/bin/bash", "#!/bin/sh -e", "#!/usr/bin/env bash"]))
def test_exactly_the_hooks_are_found(elements, first):
    text = Text(elements, first)
    script = "\n".join(text.lines) + "\n"
    good, message = parses(script)
    assert good, "no script at all: %s\n%s" % (message, script)
    compare(script, text.wanted)


def without_effects(script):
    """The script with a colon in place of each command that destroys something."""
    spans = sorted({effect.span for effect in read_script(script).effects})
    outer = [span for span in spans
             if not any(other != span and other[0] <= span[0] and span[1] <= other[1] for other in spans)]
    for start, end in reversed(outer):
        script = script[:start] + ":" + script[end:]
    return script


@settings(max_examples=300, **SLOW)
@given(st.lists(TREES, min_size=1, max_size=6))
def test_a_colon_in_place_of_a_command_leaves_a_script(elements):
    script = "\n".join(Text(elements, "#!/bin/bash").lines) + "\n"
    left = without_effects(script)
    good, message = parses(left)
    assert good, "%s\n%s\nbecame\n%s" % (message, script, left)
    assert read_script(left).effects == [], "%s\nbecame\n%s" % (script, left)


@settings(max_examples=200, deadline=None, print_blob=True)
@given(st.lists(st.one_of(
    st.tuples(st.just("hook"), st.sampled_from(HOOKS), st.sampled_from(["", "sudo ", "true && ", "LC_ALL=C "]),
              st.sampled_from(FORMS[:3]), st.sampled_from(["", " || true", "; true", " # tail"]), st.booleans()),
    st.tuples(st.just("harmless"), st.sampled_from([each for each in HARMLESS if "\n" not in each]))),
    min_size=1, max_size=8))
def test_lines_that_end_as_on_dos(elements):
    text = Text(elements)
    compare("\r\n".join(text.lines) + "\r\n", text.wanted)


@pytest.mark.robust(damaged_scripts=DAMAGED)
@settings(max_examples=DAMAGED, deadline=None, print_blob=True)
@given(st.lists(TREES, min_size=1, max_size=5), st.data())
def test_a_damaged_script_is_read_without_an_exception(elements, data):
    script = "\n".join(Text(elements).lines)
    start = data.draw(st.integers(0, len(script)))
    end = data.draw(st.integers(start, min(len(script), start + 20)))
    damaged = script[:start] + data.draw(st.sampled_from(["", "'", '"', "`", "$(", "${", "<<", "((", "\\", ")", "fi",
                                                          "\0", "\n"])) + script[end:]
    reading = read_script(damaged)
    for effect in reading.effects:
        assert 1 <= effect.line <= damaged.count("\n") + 1
        assert damaged[:effect.span[0]].count("\n") + 1 <= effect.line <= damaged[:effect.span[1]].count("\n") + 1


@pytest.mark.parametrize("command, sort, tables", HOOKS, ids=[hook[0] for hook in HOOKS])
def test_the_hooks_themselves_are_seen(command, sort, tables):
    compare("#!/bin/sh\n%s\n" % command, [(2, sort, tables)])
