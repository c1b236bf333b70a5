# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What workers of one run share: made once, read by all, and never a reason to fail."""

import os

import pytest
from ansible import constants

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls import shared


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """The folder of the run."""
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(folder))
    return folder


def in_workers(number, work):
    """What `work(index)` returns, a text, in each of so many processes that are forked before one of them ends."""
    pipes = [os.pipe() for _each in range(number)]
    for index, (_reading, writing) in enumerate(pipes):
        if os.fork() == 0:
            try:
                os.write(writing, work(index).encode("utf-8"))
            finally:
                os._exit(0)
    found = []
    for reading, writing in pipes:
        os.close(writing)
        with open(reading, "rb") as stream:
            found.append(stream.read().decode("utf-8"))
    for _each in range(number):
        os.wait()
    return found


def test_one_worker_makes_it_and_the_others_read_it(run_folder):
    found = in_workers(8, lambda index: str(shared.remembered("key", lambda: {"by": index})["by"]))
    assert len(set(found)) == 1 and found[0] != ""
    assert shared.remembered("key", lambda: {"by": "this process"}) == {"by": int(found[0])}
    assert shared.remembered("other", lambda: {"by": "this process"}) == {"by": "this process"}


def test_a_damaged_file_is_made_again(run_folder):
    shared.remembered("key", lambda: [1])
    next(run_folder.glob("*-key")).write_text("[", encoding="utf-8")
    assert shared.remembered("key", lambda: [2]) == [2]
    assert shared.remembered("key", lambda: [3]) == [2]


def test_a_folder_that_is_gone_costs_only_time(run_folder):
    run_folder.rmdir()
    assert shared.remembered("key", lambda: [1]) == [1]
    assert shared.remembered("key", lambda: [2]) == [2]


def test_what_cannot_be_made_is_not_remembered(run_folder):
    def fails():
        raise ValueError("no")

    for _attempt in range(2):
        with pytest.raises(ValueError):
            shared.remembered("key", fails)
    assert shared.remembered("key", lambda: [1]) == [1]


def test_who_does_not_wait_gets_nothing_while_another_makes_it(run_folder):
    def meanwhile():
        return {"by": in_workers(1, lambda _index: str(shared.remembered("key", lambda: 2, wait=False)))[0]}

    assert shared.remembered("key", meanwhile) == {"by": "None"}
    assert shared.remembered("key", lambda: 3, wait=False) == {"by": "None"}


def test_a_note_of_one_worker_is_known_to_all(run_folder):
    before = shared.is_noted("refused")
    in_workers(1, lambda _index: str(shared.note("refused")))
    assert (before, shared.is_noted("refused")) == (False, True)
