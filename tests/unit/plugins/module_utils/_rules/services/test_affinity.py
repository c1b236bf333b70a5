# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services with sessionAffinity that send no client back to its endpoint, on real nodes and folded or not."""

import re

import chain_texts as texts
import kube_audit
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask

RETURNING = re.compile(r"-A (KUBE-SV[CL]-\S+) .*--rcheck .*")


def found(text):
    return [(row["kind"], row["chain"], row["detail"])
            for row in ask([texts.read(text)], texts.setting_by(kubelet=False))[0]]


def unfolded(text):
    """The same text with every rule in a form that kube-proxy does not write, so that it is kept as a rule."""
    return re.sub(r"(-A KUBE-S(?:EP|VC|VL)-\S+ )", r"\1-m comment --comment read-as-a-rule ", text)


@pytest.mark.parametrize("form", [str, unfolded])
@pytest.mark.parametrize("name", ["kube-proxy-1.36.3-nft-ipv4", "kube-proxy-1.36.3-nft-ipv6",
                                  "kube-proxy-1.30.5-legacy-ipv4", "kube-proxy-1.30.5-legacy-ipv6"])
def test_rules_of_affinity_that_are_gone(name, form):
    text = form(kube_audit.sample(name))
    assert found(text) == []
    rules = [line for line in text.split("\n") if RETURNING.match(line)]
    chain = RETURNING.match(rules[0]).group(1)
    mine = [rule for rule in rules if " %s " % chain in rule]
    assert len(mine) > 1
    detail = "sessionAffinity: no rule sends returning clients to %d of its %d endpoints"
    assert found(texts.without(text, *mine)) == [("emptied_chain", chain, detail % (len(mine), len(mine)))]
    assert found(texts.without(text, mine[0])) == [("emptied_chain", chain, detail % (1, len(mine)))]


@pytest.mark.parametrize("form", [str, unfolded])
@pytest.mark.parametrize("name", ["kube-proxy-1.36.3-nft-ipv4", "kube-proxy-1.30.5-legacy-ipv6"])
def test_endpoints_that_no_longer_note_their_clients(name, form):
    text = kube_audit.sample(name)
    mine = [RETURNING.match(line).group(1) for line in text.split("\n") if RETURNING.match(line)]
    count = len([chain for chain in mine if chain == mine[0]])
    detail = "sessionAffinity: %d of the %d endpoints of returning clients do not record clients"
    noting = re.compile(r"-m recent --set --name \S+ --mask \S+ --rsource ")
    told = [("emptied_chain", chain, detail % (mine.count(chain), mine.count(chain))) for chain in sorted(set(mine))]
    assert sorted(found(form(noting.sub("", text)))) == told
    endpoint = re.search(r"-A %s .*--rcheck .*-j (\S+)" % mine[0], text).group(1)
    one = re.sub(r"(-A %s .*)-m recent --set --name \S+ --mask \S+ --rsource " % endpoint, r"\1", text)
    assert found(form(one)) == [("emptied_chain", mine[0], detail % (1, count))]


def test_endpoints_that_note_nobody():
    assert found(texts.healthy()) == [], "without sessionAffinity there is no such rule"
