# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records tell the time of a change; tests compare those of two runs as bytes."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._change import record


@pytest.fixture(autouse=True)
def one_moment(monkeypatch):
    monkeypatch.setattr(record, "_now", lambda: "2026-01-02T03:04:05Z")
