# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dumps, their damage, and the observations of a question, as rows in tests/rules/*.yml.

A row begins with a healthy node (`node: ipv6 legacy`, by default `ipv4 nft`; `every` is all four) or with single
tables (`only: {nat: [chains in one string, rules]}`). Each step of `damage` changes the text: `without` and `gone`
remove lines (whole ones, or all that begin so), `instead` replaces text, `flush` and `delete` are -F and -F -X of a
table, `policy` sets DROP, `cut` ends the text before a piece; the name of a table adds lines at its end, or first
(`nat first`). `know` lists facts of the node. `found` lists what the question observes: `kind table chain`, then the
text of the rule where it matters, or a mapping of some keys. A row in `also` goes on from its row, `each` repeats a
row with $it or with the keys of a mapping, `of` limits the kinds of observations, `notices` is the number of lines that
cannot be read, `source: files` makes it a dump, which may leave out tables. Names in capitals, like
$SVC, are those of chain_texts.
"""

import functools
import itertools
import pathlib
import re

import chain_texts as texts
import pytest
import yaml

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules import duplicates, questions, structure
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy import (
    anchors, emptied, lost_match, marks,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others import (
    drops, foreign, hostports, leftovers, node_packets, pod_chains,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services import service_path, stale_endpoints

RULES = pathlib.Path(__file__).resolve().parents[4] / "rules"
# Questions to one rule set; the others ask all rule sets of a node at once.
ONE = {"anchors": anchors.ask_anchors, "before_services": hostports.ask_before_services,
       "cleared_marks": service_path.ask_cleared_marks, "dispatch": pod_chains.ask_dispatch, "drops": drops.ask_drops,
       "duplicates": duplicates.ask_duplicates, "emptied": emptied.ask_emptied,
       "exempt_ranges": foreign.ask_exempt_ranges, "host_input": node_packets.ask_input,
       "host_ports_of_ipvs": hostports.ask_host_ports_of_ipvs, "hostport_pods": hostports.ask_hostport_pods,
       "hostports": hostports.ask_hostports, "incomplete": emptied.ask_incomplete,
       "leftovers": leftovers.ask_other_mode, "loops": structure.ask_loops, "lost_match": lost_match.ask_lost_match,
       "marks": marks.ask_marks, "masquerade": foreign.ask_masquerade, "node_packets": node_packets.ask_node_packets,
       "node_ports": hostports.ask_node_ports, "path_rules": foreign.ask_path_rules,
       "redirections": hostports.ask_redirections, "repaired": anchors.ask_repaired,
       "stale_endpoints": stale_endpoints.ask_stale_endpoints, "structure": structure.ask_structure,
       "tunnel_marks": marks.ask_tunnel_marks, "without_endpoints": stale_endpoints.ask_without_endpoints}
ALL = {"all": lambda sets, setting_by: questions.ask(sets, setting_by)[0], "hint": anchors.ask_hint,
       "backends": lambda sets, _setting_by: leftovers.ask_backends(sets)}
NODES = ["ipv4 nft", "ipv4 legacy", "ipv6 nft", "ipv6 legacy"]
NAMES = dict({name: value for name, value in vars(texts).items() if name.isupper() and isinstance(value, str)},
             SEP=texts.SVC.replace("SVC", "SEP"), SVL=texts.SVC.replace("SVC", "SVL"))


def filled(value, names):
    """A value of a row with names put in; a value that is one name may become a list."""
    if isinstance(value, str):
        if value.startswith("$") and value[1:] in names:
            return names[value[1:]]
        return re.sub(r"\$(\w+)", lambda match: str(names[match.group(1)]), value)
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    if isinstance(value, dict):
        return {filled(key, names): filled(each, names) for key, each in value.items()}
    return value


def listed(value):
    return value if isinstance(value, list) else [value]


def add(text, table, lines, family, backend, first):
    if "*%s\n" % table in text:
        return texts.adding(text, table, *lines, first=first)
    return texts.small(table, " ".join(line.split()[0][1:] for line in lines if line[0] == ":"),
                       [line for line in lines if line[0] == "-"], family, backend) + text


def damaged(text, what, value, family, backend):
    if what == "without":
        return texts.without(text, *listed(value))
    if what == "gone":
        kept = [line for line in text.split("\n") if not line.startswith(tuple(listed(value)))]
        assert len(kept) < len(text.split("\n")), value
        return "\n".join(kept)
    if what == "instead":
        for old, new in value.items():
            text = texts.instead(text, old, new)
        return text
    if what in ("flush", "delete"):
        return texts.flushed(text, value, what == "delete")
    if what == "policy":
        (table, chain), = value.items()
        return texts.dropping(text, table, chain)
    if what == "cut":
        return text[:text.rindex(value)]
    return add(text, what.split()[0], listed(value), family, backend, what.endswith(" first"))


def text_of(row):
    family, backend = row.get("node", NODES[0]).split()
    text = "".join(texts.small(name, rules[0], rules[1:], family, backend)
                   for name, rules in row["only"].items()) if "only" in row else texts.healthy(family, backend)
    for step in row.get("damage", ()):
        for what, value in step.items():
            text = damaged(text, what, value, family, backend)
    return text


def seen(row, wanted):
    """An observation in the form in which it is wanted."""
    if isinstance(wanted, dict):
        return {key: row[key] for key in wanted}
    parts = [row["kind"], row["table"], row["chain"], row["text"]]
    return " ".join(parts[:3 if len(wanted.split()) == 3 else 4])


def expanded(row, subject):
    """Rows of one check each: for each value of `each`, the row and those in `also`."""
    nodes = NODES if row.get("node") == "every" else [row.get("node", NODES[0])]
    for node, value in itertools.product(nodes, filled(row.get("each", [None]), NAMES)):
        names = dict(NAMES, **(value if isinstance(value, dict) else {"it": value}))
        own = filled({key: each for key, each in row.items() if key not in ("each", "also")}, names)
        own = dict({"ask": subject}, **dict(own, node=filled(node, names)))
        for more in itertools.chain([{}] if "found" in own else [], filled(row.get("also", []), names)):
            yield dict(own, **dict(more, damage=own.get("damage", []) + more.get("damage", []),
                                   know=dict(own.get("know", {}), **more.get("know", {}))))


ROWS = [pytest.param(one, id="%s: %s" % (path.stem, row["name"])) for path in sorted(RULES.glob("*.yml"))
        for row in yaml.safe_load(path.read_text(encoding="utf-8")) for one in expanded(row, path.stem)]


@pytest.mark.parametrize("row", ROWS)
def test_what_is_observed(row):
    known = {key: tuple(value) if isinstance(value, list) else value for key, value in row["know"].items()}
    if "ports" in known:
        known["ports"] = {("tcp", port): "the API server" for port in known["ports"]}
    for name in {"tunnel", "addresses", "single_routes"}.intersection(known):
        known[name] = functools.partial(tuple, known[name])
    if "lacks" in known:
        known["lacks"] = known["lacks"].__contains__
    rule_sets = [texts.read(text_of(each), row.get("source", "live")) for each in [row] + row.get("beside", [])]
    assert len(rule_sets[0].notices) == row.get("notices", len(rule_sets[0].notices))
    if row["ask"] in ONE:
        rows = list(ONE[row["ask"]](rule_sets[0], texts.setting(rule_sets[0], **known)))
    else:
        rows = ALL[row["ask"]](rule_sets, texts.setting_by(**known))
    rows = [found for found in rows if found["kind"] in row.get("of", [found["kind"]])]
    wanted = row["found"]
    assert len(rows) == len(wanted) and [seen(*pair) for pair in zip(rows, wanted)] == wanted, rows


def begun(table, text):
    """The dump up to the end of a table, which is not there any more."""
    return text[:text.index("COMMIT", text.index("*%s\n" % table))]


@pytest.mark.parametrize("question, text", [
    *((question, texts.healthy()) for question in ("emptied", "loops", "lost_match", "repaired", "structure")),
    ("drops", begun("filter", texts.dropping(texts.healthy(), "filter", "FORWARD"))),
    ("drops", begun("filter", texts.node_with("filter", ":MINE - [0:0]", "-A FORWARD -j MINE",
                                              "-A MINE -d 10.244.0.0/16 -j DROP"))),
    ("masquerade", begun("nat", texts.adding(texts.healthy(), "nat", ":FLANNEL-POSTRTG - [0:0]")))])
def test_a_dump_that_ends_anywhere_lost_nothing(question, text):
    for at in [*range(0, len(text), 101), len(text)]:
        rule_set = texts.read(text[:at])
        assert list(ONE[question](rule_set, texts.setting(rule_set))) == [], at
