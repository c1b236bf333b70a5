# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The value of one sysctl: a later write overrides an earlier one, and an unknown value stays unknown."""

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack import predict
from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack import kube_proxy as proxy
from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.predict import Assignment, Stage, Write
from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.keys import BUCKETS, MAX

DEFAULT = Stage(262144, None)
LINE = Assignment("524288", "/etc/sysctl.d/90.conf:3")
UFW = Write(MAX, "ufw (/etc/ufw/sysctl.conf:1)", lambda before: 65536, True)
TUNED = Write(MAX, "tuned (x:1)", lambda before: None if before is None else max(before, 131072), False)


@pytest.mark.parametrize(
    "early, assignment, writes, stage", [
        (True, None, [], DEFAULT), (True, LINE, [], Stage(524288, LINE.where)), (False, LINE, [], DEFAULT),
        (None, LINE, [], Stage(None, LINE.where)), (None, None, [], DEFAULT), (True, LINE, [UFW], Stage(65536, UFW.by)),
        (False, LINE, [UFW], Stage(65536, UFW.by)), (True, LINE, [UFW, TUNED], Stage(131072, TUNED.by)),
        (True, LINE, [TUNED], Stage(524288, TUNED.by)), (False, LINE, [TUNED], Stage(None, TUNED.by)),
        (None, None, [TUNED], Stage(None, TUNED.by)),
        (True, None, [Write(BUCKETS, "other", lambda before: 1, True)], DEFAULT),
    ])
def test_at_boot(early, assignment, writes, stage):
    assert predict.at_boot(MAX, early, assignment, DEFAULT, writes) == stage


def test_buckets_are_rounded_as_the_kernel_rounds_them():
    assert predict.at_boot(BUCKETS, True, Assignment("100000", "a:1"), Stage(None, None), []).value == 100352
    assert predict.overruled(Assignment("100000", "a:1"), BUCKETS, Stage(100352, "a:1")) is False
    assert predict.overruled(Assignment("100000", "a:1"), MAX, Stage(100352, "a:1")) is True


@cases
def test_after_kube_proxy(value, wish, after):
    assert predict.after_kube_proxy(Stage(value, "before"), proxy.Wish(*wish), "kube-proxy", "fields") == after


def test_survival_and_overruling():
    assert [predict.survives(now, Stage(final, None))
            for now, final in ((1, 1), (2, 1), (None, 1), (1, None))] == [True, False, None, None]
    assert [predict.overruled(line, MAX, Stage(value, None))
            for line, value in ((None, 1), (LINE, 524288), (LINE, 1), (LINE, None))] == [
                False, False, True, None]


@cases
def test_values(text, value):
    assert predict.number(text) == value
