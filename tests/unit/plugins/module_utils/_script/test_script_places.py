# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which part of a script a finding is: what would have to go, no more, and a script is left."""

import subprocess


from shell_commands import ONE_COMMAND
from shell_scripts import SCRIPTS
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.script import read_script

# What would have to go stands between ⟦ and ⟧.


@cases
def test_the_place_of_a_finding(marked):
    text = marked.replace("⟦", "").replace("⟧", "")
    start = marked.index("⟦")
    found = read_script(text).effects
    assert [effect.span
            for effect in found] == [(start, marked.index("⟧") - 1)], [text[slice(*effect.span)] for effect in found]
    assert found[0].line == text.count("\n", 0, start) + 1


@cases
def test_the_command_is_told_in_one_line(text, command):
    assert [effect.command for effect in read_script(text).effects] == [command]


def scripts():
    return [text for text in list(ONE_COMMAND) + [text for text, _expected in SCRIPTS.values()] if "@(" not in text]


def without_findings(text):
    """The text with a colon in the place of all that was found."""
    done, before = text, len(text) + 1
    for start, end in sorted({effect.span for effect in read_script(text).effects}, reverse=True):
        if end <= before:
            done, before = done[:start] + ":" + done[end:], start
    return done


def test_a_script_is_left_and_does_nothing():
    seen = 0
    for text in scripts():
        done = without_findings(text)
        if done == text or text.startswith(("#!/usr/bin/p", "#!/usr/bin/ruby", "#!/usr/bin/env python",
                                            "#!/usr/sbin/nft")):
            continue
        seen += 1
        checked = subprocess.run(["bash", "-n"], input=done.replace("\r", "").encode(), stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, check=False)
        assert (checked.returncode, checked.stdout) == (0, b""), (text, done)
        assert read_script(done).effects == [], (text, done)
    assert seen > 150


def test_what_was_found_says_the_same_alone():
    """Where nothing comes from the text around it."""
    seen = 0
    for text in scripts():
        for effect in read_script(text).effects:
            alone = text[slice(*effect.span)]
            if effect.confidence == "certain" and not any(more in text
                                                          for more in ("$", "{}", "<<", "/tmp/", "()", "#!")):
                found = read_script(alone).effects
                assert effect._replace(line=0, span=None, comes_back=None) in [
                    one._replace(line=0, span=None, comes_back=None) for one in found], (text, alone)
                seen += 1
    assert seen > 150
