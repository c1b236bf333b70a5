# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Healthy dumps of real iptables are damaged at random places: the audit reports exactly that damage, and a damaged
text does not count as a damaged node.

Live rules of real kube-proxies are damaged in a namespace by actions of people and programs. `make damage` runs all of
these scenarios, this file a sample.
"""

import os
import random
import re

import damaged_nodes
import dump_lines
import kube_audit
import kube_cluster
import kube_damage
import kube_dumps
import kube_ipvs
import kube_neighbours
import kube_rules
import node_processes
import pytest

pytestmark = node_processes.needs_root

ROUNDS = 40
VERSIONS = [(1, 25), (1, 28), (1, 33)]


def healthy(version, backend, family="ipv4", node="calico and portmap", mode="iptables", services=None):
    cluster = services or kube_cluster.every_kind(family)
    kube = kube_rules.restore_input(version, mode, family, cluster, nfacct=True).text()
    if family == "ipv6":
        node = "calico"
    sets = kube_neighbours.sets(node, family) + (kube_ipvs.ipset_input(cluster) if mode == "ipvs" else "")
    return kube_dumps.dump(backend, family, *kube_neighbours.restores(node, family, kube), sets=sets)


@pytest.fixture(scope="module")
def dumps():
    """[(version, backend, family, text)]; the audit has no observation for any text."""
    made = [(version, backend, family, healthy(version, backend, family))
            for version in VERSIONS for backend in kube_dumps.BACKENDS for family in kube_dumps.FAMILIES]
    for version, backend, family, text in made:
        assert told(text, version, backend, family) == []
    return made


def told(text, version, backend, family="ipv4", mode="iptables", source="live"):
    rule_set = kube_audit.read(text, family, backend, source)
    return kube_audit.told(kube_audit.observations([rule_set], mode, version))


def kinds(lines):
    return sorted({line.split()[0] for line in lines})


def rounds(count=ROUNDS):
    """A generator of (name of the round, its source of random numbers)."""
    seed = kube_audit.seed()
    for number in range(count):
        yield "seed %s, round %s" % (seed, number), random.Random("%s %s" % (seed, number))


@pytest.mark.parametrize("damage, expected", kube_damage.EXPECTED,
                         ids=[damage.__name__ for damage, _kinds in kube_damage.EXPECTED])
def test_exactly_the_damage_is_told(damage, expected, dumps):
    done = 0
    for name, source in rounds():
        version, backend, family, text = source.choice(dumps)
        try:
            damaged, what = damage(dump_lines.Dump(text), source)
        except LookupError:
            continue
        done += 1
        # The exit code already shows that a live save is cut short.
        lines = told(damaged, version, backend, family, source="live" if expected else "bundle")
        assert kinds(lines) == expected, "%s, %s %s %s: %s: %s" % (name, version, backend, family, what, lines)
    assert done > ROUNDS // 4


def test_two_damages_are_both_told(dumps):
    # A node without portals has no Services, so the audit cannot report that a drop affects a Service.
    single = [(damage, expected) for damage, expected in kube_damage.EXPECTED
              if damage.__name__ not in ("cut_end", "shuffle_rules", "delete_anchor", "shadow_anchors",
                                         "empty_service_chain", "empty_portal")]
    for name, source in rounds():
        version, backend, family, text = source.choice(dumps)
        both = source.sample(single, 2)
        done = []
        try:
            for damage, _expected in both:
                text, what = damage(dump_lines.Dump(text), source)
                done.append(what)
        except LookupError:
            continue
        # The chains that the descriptions name.
        touched = [set(re.findall(r"[A-Z]{2,}[A-Z0-9-]{3,}", what)) for what in done]
        if touched[0] & touched[1]:
            continue  # The second undid or hid the first.
        found = kinds(told(text, version, backend, family))
        wanted = {kind for _damage, expected in both for kind in expected}
        assert wanted <= set(found), "%s, %s: %s: %s" % (name, version, done, found)


def as_listed(text):
    """The output of `iptables -S` for each table, one after the other."""
    lines = []
    for line in text.splitlines():
        chain = re.match(r":(\S+) (\S+) ", line)
        if chain:
            lines.append("-N " + chain.group(1) if chain.group(2) == "-" else "-P %s %s" % chain.groups())
        elif line.startswith("-A "):
            lines.append(line)
        elif line.startswith("*"):
            lines.append("node-1 ~ # iptables -S -t " + line[1:])
    return "\n".join(lines) + "\n"


def grepped(text):
    """iptables-save | grep -A2 -E 'KUBE-SERVICES|KUBE-SVC-'"""
    lines = text.splitlines()
    kept = {place for number, line in enumerate(lines) if re.search("KUBE-SERVICES|KUBE-SVC-", line)
            for place in range(number, number + 3)}
    return "".join(("" if place - 1 in kept else "--\n") + lines[place] + "\n" for place in sorted(kept)
                   if place < len(lines))


# Texts as people paste them. Each changes the text only, so no observation may follow.
PASTED = {
    "windows line ends": lambda text: text.replace("\n", "\r\n"),
    "old mac line ends": lambda text: text.replace("\n", "\r"),
    "indented": lambda text: re.sub("(?m)^", "    ", text),
    "indented by a tab": lambda text: re.sub("(?m)^", "\t", text),
    "blanks at the end": lambda text: re.sub("(?m)$", "  ", text),
    "blank lines": lambda text: text.replace("\n", "\n\n"),
    "no header": lambda text: re.sub("(?m)^#.*\n", "", text),
    "no completed lines": lambda text: re.sub("(?m)^# Completed.*\n", "", text),
    "a byte order mark": lambda text: "\ufeff" + text,
    "a prompt around it": lambda text: "root@node-1:~# iptables-save\n" + text + "root@node-1:~# \n",
    "fenced": lambda text: "```\n" + text + "```\n",
    "the nat line lost": lambda text: text.replace("*nat\n", ""),
    "the filter line lost": lambda text: text.replace("*filter\n", ""),
    "all table lines lost": lambda text: re.sub(r"(?m)^\*.*\n", "", text),
    "COMMIT lost": lambda text: text.replace("COMMIT\n", ""),
    "the last COMMIT lost": lambda text: text[:text.rindex("COMMIT\n")],
    "chain lines lost": lambda text: re.sub(r"(?m)^:.*\n", "", text),
    "rules only": lambda text: "".join(line for line in text.splitlines(True) if line.startswith("-A ")),
    "listed by -S": as_listed,
    "grepped": grepped,
    "only kube-proxy's lines": lambda text: "".join(line for line in text.splitlines(True) if "KUBE-" in line),
    "one table only": lambda text: text[text.index("*nat"):].split("# Completed")[0],
    "a warning on top": lambda text: "# Warning: iptables-legacy tables present, use iptables-legacy-save to see them\n"
    + text,
}


@pytest.mark.parametrize("how", sorted(PASTED))
def test_a_pasted_text_says_nothing_of_the_node(how, dumps):
    for version, backend, family, text in dumps:
        assert told(PASTED[how](text), version, backend, family,
                    source="bundle") == [], "%s %s %s" % (version, backend, family)


@pytest.mark.parametrize("how", ["windows line ends", "no header", "all table lines lost", "COMMIT lost",
                                 "the last COMMIT lost", "a prompt around it"])
def test_what_is_odd_about_a_text_is_a_notice(how, dumps):
    for _version, backend, family, text in dumps:
        notices = kube_audit.read(PASTED[how](text), family, backend, "bundle").notices
        assert notices, "%s %s" % (backend, family)


def test_a_cut_inside_a_table_is_a_notice(dumps):
    """The tables before the cut are complete and judged, so no notice is about them."""
    for name, source in rounds():
        _version, backend, family, text = source.choice(dumps)
        place = source.randrange(len(text))
        begun = text[:place].count("\n*") > text[:place].count("\nCOMMIT")
        notices = kube_audit.read(text[:place], family, backend, "bundle").notices
        assert bool(set(notices) & {"cut_off", "no_commit"}) == begun, name


def flushed(backend, tables, delete, restored):
    """The dump of a node whose tables were flushed and to which kube-proxy then wrote `restored`."""
    kube = kube_rules.restore_input((1, 30), "iptables", "ipv4", kube_cluster.every_kind("ipv4")).text()
    program = kube_dumps.tool(backend, "ipv4", "").rstrip("-")
    steps = kube_dumps.restore_steps(backend, "ipv4", kube)
    steps += [[[program, "-w", "-t", table, action], ""] for table in tables for action in ("-F", "-X")[:1 + delete]]
    steps += kube_dumps.restore_steps(backend, "ipv4", restored)
    return kube_dumps.run_apart(steps + kube_dumps.save_steps(backend, "ipv4"))[-1]


def partial_sync(changed_services):
    """The input of a partial sync: all shared chains and the chains of changed Services, but no jump from a built-in
    chain."""
    given = kube_rules.restore_input((1, 30), "iptables", "ipv4", kube_cluster.every_kind("ipv4"), with_kubelet=False)
    kept = changed_services.union(name for name in given.chains["nat"]
                                  if not re.match("KUBE-(SVC|SVL|SEP|EXT|FW|XLB)-", name))
    given.chains.pop("mangle")
    for table in ("nat", "filter"):
        given.chains[table] = [name for name in given.chains[table]
                               if "CANARY" not in name and (table == "filter" or name in kept)]
        given.lines[table] = [line for line in given.lines[table] if line.startswith("-A ")
                              and (table == "filter" or line.split()[1] in kept)]
    return given.text()


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
def test_the_half_repaired_node(backend):
    """`iptables -F` of nat and filter without -X, then one Service changes: most service chains stay empty, and the
    canary chain in mangle still exists."""
    cluster = kube_cluster.every_kind("ipv4")
    service = next(service for service in cluster.services if service.name == "three")
    names = {kube_rules.kube_services.chains_of(service).svc} | {
        kube_rules.kube_services.endpoint_chain(service, endpoint) for endpoint in service.endpoints}
    text = flushed(backend, ("nat", "filter"), False, partial_sync(names))
    lines = told(text, (1, 30), backend)
    assert kinds(lines) == ["anchor_missing", "half_repaired"]
    assert sum(line.startswith("half_repaired") for line in lines) == 1


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
def test_the_flushed_node(backend):
    """`iptables -F; iptables -X; iptables -t nat -F; -X`: kube-proxy does not notice this, and its chains remain only
    in mangle."""
    text = flushed(backend, ("filter", "nat"), True, "")
    found = set(kinds(told(text, (1, 30), backend)))
    assert "anchor_missing" in found and found <= {"anchor_missing", "canary_missing"}


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
def test_policy_drop_without_a_pod_network(backend):
    kube = kube_rules.restore_input((1, 30), "iptables", "ipv4", kube_cluster.every_kind("ipv4")).text()
    drop = "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n"
    assert kinds(told(kube_dumps.dump(backend, "ipv4", kube, drop), (1, 30), backend)) == ["forward_drop"]
    flannel = kube_neighbours.restores("flannel", "ipv4", kube) + [drop]
    assert told(kube_dumps.dump(backend, "ipv4", *flannel), (1, 30), backend) == []


OF_OTHERS = (
    ("raw", "-A PREROUTING -j CT --notrack", "untracked"), ("raw", "-A OUTPUT -p tcp -j NOTRACK", "untracked"),
    ("mangle", "-A POSTROUTING -j MARK --set-mark 1", "mark_cleared"),
    ("mangle", "-A FORWARD -p tcp -j MARK --and-mark 0x3fff", "mark_cleared"),
    ("nat", "-I POSTROUTING -p tcp -j ACCEPT", "anchor_shadowed"),
    ("nat", "-A OUTPUT -p tcp --dport 8081 -j KUBE-EXT-%s", "foreign_jump"),
)


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
@pytest.mark.parametrize("family", kube_dumps.FAMILIES)
@pytest.mark.parametrize("table, rule, kind", OF_OTHERS, ids=[rule[1] for rule in OF_OTHERS])
def test_rules_of_others_as_real_programs_write_and_print_them(table, rule, kind, family, backend):
    kube = kube_rules.restore_input((1, 33), "iptables", family, kube_cluster.every_kind(family)).text()
    rule = rule % re.search("KUBE-EXT-([A-Z2-7]{16})", kube).group(1) if "%s" in rule else rule
    text = kube_dumps.dump(backend, family, kube, "*%s\n%s\nCOMMIT\n" % (table, rule))
    assert kinds(told(text, (1, 33), backend, family)) == [kind]


SVC, SEP = "KUBE-SVC-XPGD46QRK7WJZT7O", "KUBE-SEP-SXIVWICOYRO3J4NJ"
OTHER_MODE = {
    "iptables": ["*nat", ":KUBE-NODE-PORT - [0:0]", ":KUBE-LOAD-BALANCER - [0:0]",
                 "-A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ", "COMMIT", "*filter", ":KUBE-IPVS-FILTER - [0:0]",
                 '-A INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER', "COMMIT"],
    "ipvs": ["*nat", ":%s - [0:0]" % SVC, ":%s - [0:0]" % SEP, "-A %s -j %s" % (SVC, SEP),
             "-A %s -s 10.244.0.9/32 -j KUBE-MARK-MASQ" % SEP,
             "-A %s -p tcp -m tcp -j DNAT --to-destination 10.244.0.9:80" % SEP,
             "-A KUBE-SERVICES -d 10.96.0.9/32 -p tcp -m tcp --dport 80 -j %s" % SVC, "COMMIT"]}


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
@pytest.mark.parametrize("mode", sorted(OTHER_MODE))
def test_leftovers_of_the_other_mode(mode, backend):
    cluster = kube_cluster.every_kind("ipv4")
    kube = kube_rules.restore_input((1, 30), mode, "ipv4", cluster).text()
    text = kube_dumps.dump(backend, "ipv4", kube, "\n".join(OTHER_MODE[mode]) + "\n",
                           sets=kube_ipvs.ipset_input(cluster))
    assert kinds(told(text, (1, 30), backend, mode=mode)) == ["other_mode"]


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
def test_leftovers_in_the_other_backend(backend):
    other = [name for name in kube_dumps.BACKENDS if name != backend][0]
    cluster = kube_cluster.every_kind("ipv4")
    here = kube_rules.restore_input((1, 30), "iptables", "ipv4", cluster).text()
    there = kube_rules.restore_input((1, 30), "iptables", "ipv4", cluster, with_kubelet=False).text()
    read = [kube_audit.read(kube_dumps.dump(which, "ipv4", text), "ipv4", which)
            for which, text in ((backend, here), (other, there))]
    lines = kube_audit.told(kube_audit.observations(read, "iptables", (1, 30)))
    assert kinds(lines) == ["other_backend"]


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_damage_in_ipvs_mode(version, backend):
    text = healthy(version, backend, node="calico", mode="ipvs")
    assert told(text, version, backend, mode="ipvs") == []
    for name, source in rounds(ROUNDS // 4):
        for damage, kind in ((kube_damage.delete_anchor, "anchor_missing"), (kube_damage.strip_mark, "lost_match")):
            damaged, what = damage(dump_lines.Dump(text), source)
            assert kinds(told(damaged, version, backend, mode="ipvs")) == [kind], "%s: %s" % (name, what)


# This many live scenarios take a minute.
LIVE = 200
ALL_LIVE = damaged_nodes.runs()
SAMPLE = random.Random(os.environ.get("KUBENODE_SEED", "damage")).sample(ALL_LIVE, LIVE)


@pytest.mark.parametrize("row, version, place", SAMPLE,
                         ids=["%s, %s, %s" % (row["id"], version, place) for row, version, place in SAMPLE])
def test_live_damage_is_told_as_what_it_is(row, version, place):
    """Each scenario that is known to be judged wrongly has a row in damage_missed.yml. The row must be removed once the
    scenario is judged right."""
    findings = damaged_nodes.failures_after(version, place, row["does"])
    said, why = damaged_nodes.verdict(row, findings)
    missed = damaged_nodes.known(row, version, place)
    assert said == (missed["verdict"] if missed
                    else "right"), "%s: %s" % (why, [(found["check"], found["subject"]) for found in findings])


def test_scenarios_are_many_and_each_is_complete():
    rows = damaged_nodes.scenarios()
    names = [row["id"] for row in rows]
    assert len(names) == len(set(names)) and len([row for row in rows if row["expect"]]) >= 150
    assert [row["id"] for row in rows if set(row) != set(rows[0])
            or not set(row["places"]) <= set(damaged_nodes.PLACES)] == []
    assert damaged_nodes.unknown_names() == []
