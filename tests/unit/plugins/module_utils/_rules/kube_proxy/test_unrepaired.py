# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lost rules that kube-proxy does not write again by itself."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.unrepaired import ask_unrepaired
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask

HEALTHY = texts.healthy()
CANARY = ":KUBE-PROXY-CANARY - [0:0]"


def unrepaired(text, **known):
    rule_set = texts.read(text)

    def setting_of(_rule_set):
        return texts.setting(rule_set, **known)

    observations = ask([rule_set], setting_of)[0]
    return [(row["family"], row["backend"], row["count"])
            for row in ask_unrepaired(observations, [rule_set], setting_of)]


@pytest.mark.parametrize("text", [
    texts.flushed(HEALTHY, "nat"), texts.flushed(HEALTHY, "nat", True), texts.without(HEALTHY, texts.TO_SERVICES)])
def test_the_canary_in_mangle_is_left(text):
    ((family, backend, count),) = unrepaired(text)
    assert (family, backend) == ("ipv4", "nft") and count > 0


def test_nothing_is_lost_or_kube_proxy_notices_it():
    assert unrepaired(HEALTHY) == []
    assert unrepaired(texts.without(texts.flushed(HEALTHY, "nat"), CANARY)) == [], "it notices that within 30 s"
    assert unrepaired(texts.flushed(HEALTHY, "nat"), mode="ipvs") == [], "it writes all rules every 30 s"
    emptied = "\n".join(line for line in HEALTHY.split("\n") if not line.startswith("-A %s " % texts.SVC))
    assert emptied != HEALTHY and unrepaired(emptied) == [], "a Service is no flush"
