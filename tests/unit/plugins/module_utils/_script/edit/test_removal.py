# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command is removed from a script, and all other commands run as before: real shells parse and run the script before
and after."""

import re
import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._script.edit import removal


def spans(text):
    return [found.span() for found in re.finditer(r"(?:exec )?FLUSH\b(?!\(| it)", text)]


def parses(text, shell="bash"):
    return subprocess.run([shell, "-n"], input=text.encode(), stderr=subprocess.PIPE, check=False).returncode == 0


@cases
def test_what_is_left(before, after):
    assert removal.edited(before, spans(before)) == after
    assert parses(before) and parses(after)
    assert parses(before, "dash") == parses(after, "dash")


def test_the_outer_of_two_spans_counts():
    assert removal.edited("a | b | c\nd\n", [(0, 9), (4, 5)]) == "d\n"


def test_text_is_put_in_where_it_belongs():
    text = "iptables-restore < /etc/rules\nFLUSH\nmore\n"
    place = removal.noflush_at(text[:29])
    assert removal.edited(text, spans(text),
                          [(place, place, " --noflush")]) == "iptables-restore --noflush < /etc/rules\nmore\n"


@cases
def test_where_noflush_belongs(source, place):
    assert removal.noflush_at(source) == place


# Every command prints that it ran and ends with its own status.
STUBS = ("FLUSH() { echo 'FLUSH it'; }\nyes_() { echo \"yes $*\"; }\nno_() { echo \"no $*\"; return 1; }\nst() { echo "
         "\"status $?\"; }\n")
SIMPLE = st.sampled_from(["FLUSH", "FLUSH", "yes_ a", "no_ b", "yes_ 'c;d'", "echo $?", "st", ":", "FLUSH # not now",
                          "yes_ e # if"])


def blocks(inner):
    joined = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        st.tuples(inner, st.sampled_from(["\n", "\n\n", "\n# note\n"]), inner).map("".join),
        st.tuples(SIMPLE.filter(lambda text: "#" not in text),
                  st.sampled_from(["; ", " && ", " || ", " &&\n  ", " | "]), SIMPLE).map("".join),
        joined.map(lambda text: "if yes_ x; then\n%s\nfi" % text),
        st.tuples(joined, joined).map(lambda pair: "if no_ x\nthen\n%s\nelse\n%s\nfi" % pair),
        joined.map(lambda text: "for i in 1 2; do\n%s\ndone" % text),
        joined.map(lambda text: "g() {\n%s\n}\ng; st" % text),
        joined.map(lambda text: "( %s\n)" % text),
        joined.map(lambda text: "case x in\ny) no_ ;;\nx) %s\n;;\nesac" % text),
        joined.map(lambda text: "while no_ w || FLUSH; do\n%s\nbreak\ndone" % text),
        joined.map(lambda text: "{ %s\n}" % text),
    )


SCRIPTS = st.lists(st.recursive(SIMPLE, blocks, max_leaves=8), min_size=1, max_size=5).map("\n".join)


def trace(script):
    done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return [line for line in done.stdout.decode().split("\n")
            if line != "FLUSH it"], done.returncode, done.stderr.decode().replace("\n", "")


@given(SCRIPTS, st.booleans())
@settings(max_examples=2 * settings.default.max_examples)
def test_everything_else_runs_as_before_and_ends_the_same(script, ended):
    script = STUBS + script + ("\n" if ended else "")
    after = removal.edited(script, spans(script))
    assert after.count("FLUSH") == STUBS.count("FLUSH")
    assert trace(after)[:2] == trace(script)[:2], after
    assert trace(removal.edited(script, spans(script), nothing=":"))[:2] == trace(script)[:2]
