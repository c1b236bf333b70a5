# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How kube-proxy changes the sysctls, by version: a table of expected values, and a model of its start."""

from case_rows import cases
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack import predict

EXACTLY, RAISES, LEAVES, UNKNOWN = predict.EXACTLY, predict.RAISES, predict.LEAVES, predict.UNKNOWN


def start(version, cpus, per_core, minimum, current):
    """The limit after kube-proxy's start, modelled on its source code; `version` is for example (1, 30)."""
    wanted = 0
    if per_core > 0:
        scaled = per_core * cpus
        if version >= (1, 36) and scaled > 1048576:
            wanted = 1048576
        else:
            wanted = scaled if scaled > minimum else minimum
    if wanted > 0:
        only_raise = (1, 23) <= version <= (1, 28) or version >= (1, 38)
        if current != wanted and not (only_raise and current > wanted):
            return wanted
    return current


@cases
def test_the_table(version, cpus, settings, before, after):
    wish = predict.limit_wish([version], cpus, settings, "kube-proxy")
    assert predict.after_its_start(before, wish) == after


@given(st.integers(16, 45), st.integers(1, 512), st.integers(0, 100000), st.integers(0, 1 << 22),
       st.integers(1, 1 << 22))
def test_a_stand_in_does_the_same(minor, cpus, per_core, minimum, current):
    wish = predict.limit_wish(["1.%d.3" % minor], cpus, {"maxPerCore": per_core, "min": minimum}, "kube-proxy")
    assert predict.after_its_start(current, wish) == start((1, minor), cpus, per_core, minimum, current)


@given(st.integers(16, 45), st.integers(1, 512), st.integers(1, 1 << 22), st.booleans(), st.booleans())
def test_what_is_told_without_its_version_is_true_of_every_version_it_may_have(minor, cpus, current, known, embedded):
    """Only kubelet's version is known, or no version is known."""
    versions = predict.versions_of(None, "1.%d.2" % minor if known else None, embedded)
    told = predict.after_its_start(current, predict.limit_wish(versions, cpus, {}, "kube-proxy"))
    possible = range(minor - (0 if embedded else 3), minor + 1) if known else range(16, 46)
    assert told is None or {start((1, each), cpus, 32768, 131072, current) for each in possible} == {told}


@cases
def test_versions_that_come_into_question(kube_proxy, kubelet, embedded, versions):
    assert predict.versions_of(kube_proxy, kubelet, embedded) == versions


def test_the_wish_by_version():
    def wish(versions, cpus=4, settings=None, by="kube-proxy"):
        return tuple(predict.limit_wish(versions, cpus, settings or {}, by))

    assert wish(["1.30"]) == (131072, EXACTLY, False) and wish(["1.27"]) == (131072, RAISES, False)
    assert wish(["1.37"], 64) == (1048576, EXACTLY, True) and wish(["1.38"], 64) == (1048576, RAISES, True)
    # 1.28 raises, 1.29 writes exactly; both write the same value.
    assert wish(["1.31", "1.30", "1.29", "1.28"]) == (131072, UNKNOWN, False)
    assert wish(["1.38", "1.35"], 64) == (None, UNKNOWN, True) and wish([], 64) == (None, UNKNOWN, False)
    assert wish([]) == (131072, UNKNOWN, False)
    # k3s sets the limit itself, without a bound and the same in every version.
    assert wish(["1.37"], 64, by="k3s") == (2097152, EXACTLY, False)
    assert wish([], 4, {"maxPerCore": 0}, "k3s") == (None, LEAVES, False)
    assert tuple(predict.limit_wish(["1.30"], 4, None, "kube-proxy")) == (None, UNKNOWN, False)
    assert wish(["1.30"], None) == (None, UNKNOWN, False)


@cases
def test_timeouts_follow_the_old_ways_of_the_limit(version, before, after):
    assert predict.after_its_start(before, predict.number_wish([version], 86400, "kube-proxy")) == after
    assert predict.after_its_start(before, predict.number_wish([version], 0, "kube-proxy")) == before


def test_a_value_that_is_not_known_is_known_after_an_exact_write_only():
    assert predict.after_its_start(None, predict.Wish(131072, EXACTLY, False)) == 131072
    assert [predict.after_its_start(None, predict.Wish(131072, way, False)) for way in (RAISES, UNKNOWN)] == [
        None, None]
    assert predict.after_its_start(None, predict.NOTHING) is None and predict.after_its_start(5, predict.NOTHING) == 5


def test_advice_only_where_it_would_be_undone():
    exact = predict.limit_wish(["1.30"], 4, {}, "kube-proxy")
    assert predict.advice(131072, exact, 4, "kube-proxy") is None
    advice = predict.advice(524288, exact, 4, "kube-proxy")
    assert "conntrack.min to 524288 and conntrack.maxPerCore to at most 131072" in advice
    nothing = "set conntrack.maxPerCore to 0 in kube-proxy's configuration; then sysctl.d decides"
    assert predict.advice(65536, exact, 4, "kube-proxy") == nothing
    assert "kube-proxy-arg" in predict.advice(524288, predict.limit_wish([], 4, {}, "k3s"), 4, "k3s")
    assert predict.advice(524288, predict.limit_wish(["1.27"], 4, {}, "kube-proxy"), 4, "kube-proxy") is None
    assert predict.advice(524288, predict.NOTHING, 4, "kube-proxy") is None


@given(st.integers(23, 45), st.integers(1, 512), st.integers(131072, 1 << 24))
def test_who_follows_the_advice_gets_the_limit(minor, cpus, wanted):
    version = "1.%d" % minor
    advice = predict.advice(wanted, predict.limit_wish([version], cpus, {}, "kube-proxy"), cpus, "kube-proxy")
    if advice is None:
        assert start((1, minor), cpus, 32768, 131072, wanted) == wanted
        return
    per_core = int(advice.rsplit(" ", 1)[1])
    for before in (1, wanted, 1 << 25):
        after = start((1, minor), cpus, per_core, wanted, before)
        assert after == wanted or (after == before > wanted)
    assert start((1, minor), cpus, 0, 131072, wanted) == wanted
