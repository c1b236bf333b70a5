# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-core, the shell, sudo and pyenv print where no module can run, as one sentence with the next step."""

import re

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import documented, node_errors
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls.looking import sections_of


@cases
def test_a_known_error(printed, words):
    """Real programs printed the texts; `words` is a regular expression."""
    answer = {"failed": True, "msg": "Module result deserialization failed: No start of json char found",
              "module_stderr": printed}
    _sections, _problems, reason = sections_of(answer)
    assert re.match(words, reason), reason
    assert not re.search("Traceback|deserialization|stdin|\\n", reason)
    assert documented.documented_part(answer, "node_facts") == {
        "changed": False, "failed": True, "msg": "The module could not run on the node: " + reason}


@pytest.mark.parametrize("answer", [
    {"failed": True, "msg": "/etc/sysctl.d/90-x.conf could not be written: No space left on device"},
    {"failed": True, "msg": "MODULE FAILURE", "module_stderr": "OSError: no room"}, {"failed": True}])
def test_other_errors_stay_as_they_are(answer):
    assert node_errors.reason_of(answer) is None


@pytest.mark.parametrize("oldest, words", [
    ((3, 9), r"its Python 3.7 is too old for ansible-core \d.\d+, which needs 3.9; .*, or use ansible-core 2.16, .*"),
    (True, r"its Python 3.7 is too old for ansible-core \d.\d+, which needs 3.6; [^,]*")])
def test_the_version_that_this_ansible_core_needs(monkeypatch, oldest, words):
    monkeypatch.setattr(node_errors.basic, "_PY_MIN", oldest, raising=False)
    message = "Ansible requires Python 3.9 or newer on the target. Current version: 3.7.3 (default, Oct 31 2022)"
    assert re.fullmatch(words, node_errors.reason_of({"msg": message}))


def test_a_node_has_no_say_in_the_sentence():
    reason = node_errors.plain_reason("a{core}b\x1b/python9: not found {needed}")
    assert reason.startswith("/python9 is not on it; ")
