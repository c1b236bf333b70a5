# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One observation: a dict with fixed keys and bounded size. PRIVATE to the collection.

The command that repairs an observation, for people to run.

A user of the cluster writes texts of rules, such as the name of a Service. A command is built only of words that a
shell passes on unchanged; the rule is otherwise deleted by its number.
"""

import re

from .._parse.iptables.save_rule import tokens
from .kube_proxy.anchor_table import CANARY, KUBELET_CANARY, breakage

TEXT_LIMIT = 200
# Longer than any chain name of a kernel (28 characters): only a dump can hold one that has to be cut.
NAME_LIMIT = 64
# At most so many observations of each kind are kept; a report shows fifty at most (max_offenders).
ROWS_LIMIT = 1000
# Further observations are counted by place, for at most this many places; beyond these they are counted by the first
# nine characters of the chain's name, as in `KUBE-SEP-`.
PLACES_LIMIT = 10000
_NAMES = ("kind", "family", "backend", "table", "chain", "text", "detail")

# Order of the observations: the kind that breaks most first, the kind that only needs to be tidied up last.
KINDS = (
    "chains_missing", "anchor_missing", "half_repaired", "emptied_chain", "lost_match", "mark_mismatch",
    "anchor_shadowed", "untracked", "mark_cleared", "forward_drop", "unexpected_drop", "foreign_jump",
    "hostport_capture", "hostport_stale", "masquerade_missing", "chain_loop", "dangling_jump", "unsound_endpoint",
    "wrong_probability", "empty_service_chain", "other_backend", "hint_missing", "canary_missing", "unrepaired",
    "other_mode", "other_cni", "duplicate_rule", "orphan_chain", "idle_leftover", "unsettled_chain",
    "dropped_by_policy", "unjudged_table", "other_rule", "without_endpoints")


def cut(text, limit=TEXT_LIMIT):
    """The text itself, or its start with three dots where it is longer than `limit` characters."""
    return text if len(text) <= limit else text[:limit - 3] + "..."


def observe(kind, rule_set, table, chain, text="", count=1, detail=""):
    """The dict of one observation; `text`: a rule as saved; `detail`: a short clause, or None: it is only counted."""
    return {
        "kind": kind, "family": rule_set.family, "backend": rule_set.backend, "table": table,
        "chain": cut(chain, NAME_LIMIT), "text": cut(text), "count": count, "detail": detail}


class Tally:
    """Any number of observations. Observations that differ only in `count` are added up, ROWS_LIMIT of each kind are
    kept, and all others are only counted.

    `more`: {(kind, family, backend, table, chain, whether they have a text): count} of the others.
    """

    def __init__(self, observations=()):
        self._counts, self._kinds, self.more = {}, {}, {}
        for row in observations:
            self.add(row)

    def add(self, row):
        """Adds one observation."""
        key, kind = tuple((name, row[name]) for name in _NAMES), row["kind"]
        if key in self._counts:
            self._counts[key] += row["count"]
        elif self._kinds.get(kind, 0) < ROWS_LIMIT and row["detail"] is not None:
            self._kinds[kind] = self._kinds.get(kind, 0) + 1
            self._counts[key] = row["count"]
        else:
            place = place_of(row)
            if place not in self.more and len(self.more) >= PLACES_LIMIT:
                place = place_of(dict(row, chain=row["chain"][:9]))
            self.more[place] = self.more.get(place, 0) + row["count"]

    def rows(self):
        """The observations that were kept, in a fixed order, most severe first."""
        return sorted([dict(key, count=count) for key, count in self._counts.items()], key=_rank)


def place_of(row):
    """The key of an observation in `Tally.more`."""
    return row["kind"], row["family"], row["backend"], row["table"], row["chain"], bool(row["text"])


def merged(observations):
    """The observations, limited as Tally limits them."""
    return Tally(observations).rows()


def _rank(row):
    kind = KINDS.index(row["kind"]) if row["kind"] in KINDS else len(KINDS)
    breaks = breakage(row["table"], row["chain"], row["text"]) if row["kind"] == "anchor_missing" else 0
    return [kind, breaks, -row["count"]] + [row[name] or "" for name in _NAMES]


# Kinds whose fault is one rule that its owner does not delete, or that has no owner in Kubernetes.
_OF_ONE_RULE = ("lost_match", "untracked", "mark_cleared", "foreign_jump", "anchor_shadowed", "unexpected_drop",
                "hostport_stale")
# Kinds that the owner of the chain repairs when it writes all its rules, as it does after its canary is deleted.
_OF_OWNER = ("anchor_missing", "half_repaired", "emptied_chain", "empty_service_chain", "unsound_endpoint")
_OF_KUBELET = ("KUBE-FIREWALL", "KUBE-MARK-DROP")
# Neither $, ` and \ nor what bash reads in double quotes (!), nor = and ~, which zsh expands at the start of a word.
_SAFE = re.compile(r'(?:[A-Za-z0-9_./:,+@%-]+|!|"[A-Za-z0-9_./:,+@%= -]*")\Z')
# What neither single quotes nor a pattern of sed changes, but for `.` and `/`.
_SAFE_NATIVE = re.compile(r'[A-Za-z0-9_./:,+@%={}<>!&|" -]+\Z')
_COUNTED = re.compile(r"packets [0-9]+ bytes [0-9]+")
_OF_API_SERVER = re.compile(r"API server of this node, \S+ port (\d{1,5}), the endpoint of default/kubernetes")
_OF_TUNNEL = re.compile(r"refuses packets of the tunnel \S+, \w+ on UDP port (\d{1,5}(?: or \d{1,5})?),")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*\Z")
_TABLE = re.compile(r"(?:ip|ip6|inet) [A-Za-z0-9_][A-Za-z0-9_.-]*\Z")


def with_repair(row, programs):
    """The observation with `repair`: a command, or how to delete the rule by its number; null for a kind that no single
    command repairs. `programs`: {(family, backend): the iptables of this backend}."""
    return dict(row, repair=_repair(row, programs))


def _repair(row, programs):
    kind, table, chain = row["kind"], row["table"], row["chain"]
    known = bool(_NAME.match(chain))
    if known and _TABLE.match(table) and row["text"] == "policy drop":
        return "nft 'add chain %s %s { policy accept; }'" % (table, chain)
    if kind in _OF_ONE_RULE and _TABLE.match(table):
        return _without_native_rule(table, chain, row["text"]) if known else None
    family, backend = row["family"], row["backend"]
    program = programs.get((family, backend)) or "%stables%s" % (
        "ip6" if family == "ipv6" else "ip", "-" + backend if backend in ("nft", "legacy") else "")
    if kind == "forward_drop":
        return "%s -w 5 -P FORWARD ACCEPT" % program
    if kind in _OF_OWNER and _NAME.match(table):
        of_kubelet = chain in _OF_KUBELET or row["text"].rpartition(" -j ")[2] in _OF_KUBELET
        return "%s -w 5 -t mangle -X %s" % (program, KUBELET_CANARY if of_kubelet else CANARY)
    if kind not in _OF_ONE_RULE or not known or not _NAME.match(table):
        return None
    if chain.startswith("KUBE-ROUTER-") and (row["detail"] or "").endswith(" is empty"):
        return "restart kube-router, which fills its sets: kubectl -n kube-system delete pod, with its pod of this node"
    tunnel = _OF_TUNNEL.match(row["detail"] or "")
    if tunnel:
        ports = tunnel.group(1).replace(" or ", ",")
        return "%s -w 5 -I INPUT -p udp %s %s -s NETWORK_OF_NODES -j ACCEPT" % (
            program, "-m multiport --dports" if "," in ports else "--dport", ports)
    if (row["detail"] or "").startswith("refuses ICMPv6"):
        return "%s -w 5 -I INPUT -p ipv6-icmp -j ACCEPT" % program
    if kind == "mark_cleared" and chain.startswith("KUBE-POD-FW-"):
        return ("update kube-router, which writes this rule again: from 1.1.0 on its rule has a mask and keeps the "
                "marks of others")
    port = _OF_API_SERVER.search(row["detail"] or "")
    if port and chain == "INPUT":
        # A firewall of the host stays one.
        return "%s -w 5 -I INPUT -p tcp --dport %s -j ACCEPT" % (program, port.group(1))
    if chain == "DOCKER-USER" and "ufw-docker" in row["text"]:
        return ("ufw route allow proto tcp from any to any port PORT, with the port of the pods, not of the Service, "
                "as kube-proxy has translated it before. To lift the block, delete the lines of ufw-docker from "
                "/etc/ufw/after.rules, then ufw reload")
    if row["text"] == ":INPUT DROP":
        # A firewall stays one: only packets to Services are accepted (sets of kubernetes pkg/proxy/ipvs/ipset.go).
        return ("%s -w 5 -I INPUT -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT, and for NodePorts the same "
                "with -p tcp and KUBE-NODE-PORT-TCP dst" % program)
    if row["text"] == ":%s DROP" % chain:
        return "%s -w 5 -t %s -P %s ACCEPT" % (program, table, chain)
    words = tokens(row["text"]) if len(row["text"]) < TEXT_LIMIT else None
    if words and words[:2] == ["-A", chain] and all(map(_SAFE.match, words)):
        return "%s -w 5 -t %s -D %s" % (program, table, " ".join(words[1:]))
    return ("%s -w 5 -t %s -L %s -n --line-numbers shows the number of the rule, and %s -w 5 -t %s -D %s NUMBER "
            "deletes it" % (program, table, chain, program, table, chain))


def _without_native_rule(table, chain, text):
    """nft deletes a rule by its handle, which is another one after the table was loaded again: it is looked up by the
    text of the rule as nft prints it, and only the first of equal rules is deleted."""
    if not _SAFE_NATIVE.match(text) or len(text) >= TEXT_LIMIT:
        return ("nft -a list chain %s %s shows the handle of the rule, and nft delete rule %s %s handle HANDLE deletes "
                "it" % (table, chain, table, chain))
    pattern = _COUNTED.sub("packets [0-9]* bytes [0-9]*", text.replace(".", r"\.").replace("/", r"\/"))
    return r"nft delete rule %s %s handle $(nft -a list chain %s %s | sed -n '/^\s*%s # handle /{s/.* //p;q}')" % (
        table, chain, table, chain, pattern)
