# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""States of containers as three runtimes keep them."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.container_state import (
    parse_container_state, seconds_of)

CONTAINERD = '{"Version":"v1","Pid":%s,"CreatedAt":5,"StartedAt":1764110000000000000,"FinishedAt":%s,"ExitCode":%s,' \
             '"Reason":"%s","Message":"%s"}'
CRIO = '{"ociVersion":"1.0","status":"stopped","created":"2025-11-25T22:33:19Z","started":"2025-11-25T22:33:20Z",' \
       '"finished":"%s","exitCode":%s}'
DOCKER = '{"ID":"5e","Config":{"Env":["TOKEN=x"]},"State":{"Running":%s,"OOMKilled":%s,"ExitCode":137,"Error":"",' \
         '"StartedAt":"2025-11-25T22:33:20.5Z","FinishedAt":"2025-11-25T23:33:21+01:00"}}'
STARTED = 1764110000


@pytest.mark.parametrize("text, state", [
    (CONTAINERD % (0, "1764110001000000000", 1, "Error", ""), (STARTED, STARTED + 1, 1, "Error", "")),
    (CONTAINERD % (0, "1764110001000000000", 128, "StartError", "not found"),
     (STARTED, STARTED + 1, 128, "StartError", "not found")),
    (CONTAINERD % (7, 0, 0, "", ""), (STARTED, None, None, None, "")),
    (CONTAINERD % (0, "9" * 400, 0, "", ""), (STARTED, None, None, None, "")),
    (CRIO % ("2025-11-25T22:33:21.000000001Z", 0), (STARTED, STARTED + 1, 0, "Completed", "")),
    (CRIO % ("2025-11-25T22:33:21Z", '137,"oomKilled":true'), (STARTED, STARTED + 1, 137, "OOMKilled", "")),
    (CRIO % ("0001-01-01T00:00:00Z", '0'), (STARTED, None, None, None, "")),
    (DOCKER % ("false", "true"), (STARTED, STARTED + 1, 137, "OOMKilled", "")),
    (DOCKER % ("false", "false"), (STARTED, STARTED + 1, 137, "Error", "")),
    (DOCKER % ("true", "false"), (STARTED, None, None, None, "")),
    (CONTAINERD % (0, '"x"', '"y"', "<b>", ""), (STARTED, None, None, None, "")),
    ("", None), ("[]", None), ("{}", None), ("[" * 100000, None), ('{"State": 5, "Version": "v2"}', None),
])
def test_states(text, state):
    assert parse_container_state(text) == state


@pytest.mark.parametrize("text, seconds", [
    ("2025-11-25T22:33:20Z", STARTED), ("2025-11-25T17:03:20.1-05:30", STARTED), ("0001-01-01T00:00:00Z", None),
    ("2025-11-25T22:99:20Z", None), ("2025-11-25 22:33:20", None), (5, None), (None, None)])
def test_times(text, seconds):
    assert seconds_of(text) == seconds
