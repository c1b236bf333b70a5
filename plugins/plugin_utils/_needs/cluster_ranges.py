# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranges of a cluster, from the policy or from the node, compared with each other. PRIVATE to the collection.

Address ranges: which of them overlap, and which addresses are in no range.

A range is written as `10.244.0.0/16`; bits after the prefix length are ignored, as in Kubernetes. IPv4 and IPv6 ranges
never overlap.
"""

import functools
import itertools
import re
import sys
from typing import NamedTuple

from ...module_utils._errors import BadInput
from .._options import checked

try:
    import netaddr
except ImportError:
    netaddr = None

# netaddr takes 10.1 and 0x0a as addresses, too.
_PART = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_RANGE = re.compile(r"(?:%s(?:\.%s){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)(/\d{1,3})?\Z" % (_PART, _PART))
_LIST = {"type": "list", "elements": "str"}


def ranges_in(name, texts, with_length=True):
    """[netaddr.IPNetwork] of a list of texts; `with_length`: each must have a prefix length. Raises BadInput that names
    `name`."""
    if netaddr is None:
        raise BadInput("The Python package netaddr is missing on the controller; install it for %s" % sys.executable)
    return [_range(name, text, with_length) for text in checked(name, texts, _LIST) or []]


def _range(name, text, with_length):
    found = range_of(text)
    if found is None or (with_length and "/" not in text):
        raise BadInput("%s: %r is not an address range; write it as 10.244.0.0/16 or fd00:10:244::/56"
                       % (name, text[:60]))
    return found


@functools.lru_cache(maxsize=1024)
def range_of(text):
    """The netaddr.IPNetwork of a range, or of one address; None if the text is neither of them, or null."""
    if text is None or not _RANGE.match(text):
        return None
    try:
        return netaddr.IPNetwork(text).cidr
    except (netaddr.AddrFormatError, ValueError):
        return None


def family_of(found) -> str:
    return "ipv%d" % found.version


def is_in(inner, outer):
    """True if every address of `inner` is in `outer`."""
    return inner.version == outer.version and inner in outer


def shared(one, another):
    """The common part of two ranges, which is the smaller of them; None if they do not overlap."""
    return one if is_in(one, another) else another if another.version == one.version and another in one else None


def overlapping(named):
    """[{"first", "first_range", "second", "second_range", "family", "range"}] of `{name: [range]}`, each pair of names
    once."""
    if not isinstance(named, dict):
        raise BadInput("needs a dictionary of lists of ranges, not %s" % type(named).__name__)
    parsed = [(name, ranges_in(name, texts)) for name, texts in named.items()]
    return [{"first": first, "first_range": str(one), "second": second, "second_range": str(other),
             "family": family_of(one), "range": str(shared(one, other))}
            for (first, ones), (second, others) in itertools.combinations(parsed, 2) for one in ones for other in others
            if shared(one, other)]


def outside(texts, ranges):
    """The addresses and ranges of a list that are not completely in one of `ranges`; unchanged and in their order."""
    if not isinstance(texts, (list, tuple)):
        raise BadInput("needs a list of addresses or ranges, not %s" % type(texts).__name__)
    around = ranges_in("ranges", ranges)
    parsed = ranges_in("input", texts, with_length=False)
    return [text for text, found in zip(texts, parsed) if not any(is_in(found, other) for other in around)]


POLICY = ("pod_ranges", "service_ranges", "node_ranges")
# Cilium serves the Services of pods itself, before kube-proxy's rules (Cilium documentation, kube-proxy replacement and
# eBPF host routing).
_WITHOUT_KUBE_PROXY = ("cilium",)
# Statuses in `collected`: of sources that hide nothing, and of sources that may hide a setting.
_READ, _UNREAD = ("ok", "absent"), ("denied", "unparsed", "timeout")


class _Side(NamedTuple):
    """The ranges of one kind of address, each a netaddr.IPNetwork with its source; `doubt` is why there may be others,
    or an empty text."""

    what: str
    ranges: list[tuple[object, str]]
    doubt: str


def check_policy(values):
    """Refuse invalid ranges. Raises BadInput."""
    for name in POLICY:
        ranges_in("node_policy_" + name, values[name])


def ranges_of(evidence, values, facts):
    """The results about the ranges of one host, from which checks select; `facts` are the result of
    _resolve.facts_of().

    Each of `pods_and_services`, `pods_and_nodes`, `services_and_nodes` and `cluster_cidr` is `{"judged", "offenders",
    "doubts"}`: whether both sides have ranges or may have them, the conflicts, and the evidence that could not be read.
    """
    pods, services, nodes = _pods(evidence, values), _services(evidence, values), _nodes(evidence, values)
    seen = [] if services.ranges else _seen(evidence, "services")
    # If pods have addresses of the nodes' network, Services outside of the cluster may have them, too.
    together = facts["cni"] in values["shared_range_cnis"]
    return {
        "pods_and_services": _with_seen(pods, services, [] if together else seen or [], evidence),
        "pods_and_nodes": _not_judged() if together else _compared(pods, nodes),
        "services_and_nodes": _with_shared(_compared(services, nodes), evidence),
        "cluster_cidr": _cluster_cidr(evidence, values, facts, nodes),
    }


def _pods(evidence, values):
    if values["pod_ranges"]:
        return _of_policy("pods", "pod_ranges", values)
    proxy = evidence.get("node_kube_proxy")
    if proxy is None:
        return _Side("pods", [], "node_kube_proxy was not collected")
    if proxy.get("cluster_cidr") is None:
        return _Side("pods", [], _unread_cidr(proxy))
    return _side_of("pods", proxy["cluster_cidr"], "clusterCIDR of kube-proxy")


def _unread_cidr(proxy):
    """Why the clusterCIDR of kube-proxy is not known, or an empty text if it may be unset."""
    unread = _unread_config(proxy)
    # A program that embeds kube-proxy may get the range from another node.
    if proxy.get("running") is False or proxy.get("running") and proxy.get("runs_in") == "embedded" and not unread:
        return ""
    return "the clusterCIDR of kube-proxy could not be read" + (": %s" % unread if unread else "")


def _unread_config(proxy):
    collected = proxy.get("collected") or {}
    return next((collected[source] for source in ("processes", "config") if collected.get(source) in _UNREAD), "")


def _services(evidence, values):
    if values["service_ranges"]:
        return _of_policy("Services", "service_ranges", values)
    cni = evidence.get("node_cni")
    if cni is None:
        return _Side("Services", [], "node_cni was not collected")
    status = (cni.get("collected") or {}).get("service_ranges")
    found = _side_of("Services", cni.get("service_ranges") or [], cni.get("service_ranges_source"))
    return found._replace(doubt=found.doubt or (
        "" if status in _READ else "the range of the API server on this node could not be read: %s" % status))


def _nodes(evidence, values):
    if values["node_ranges"]:
        return _of_policy("nodes", "node_ranges", values)
    cni = evidence.get("node_cni")
    if cni is None:
        return _Side("nodes", [], "node_cni was not collected")
    status = (cni.get("collected") or {}).get("routes")
    found = _side_of("nodes", [row["network"] for row in cni.get("node_networks") or []], "a network of this node")
    return found._replace(doubt=found.doubt
                          or ("" if status in _READ else "the node's routes could not be read: %s" % status))


def _of_policy(what, name, values):
    return _Side(what, [(found, "node_policy_" + name) for found in ranges_in(name, values[name])], "")


def _side_of(what, texts, source):
    parsed = [(range_of(text), source) for text in texts]
    return _Side(what, [row for row in parsed if row[0] is not None],
                 "%s is not an address range" % source if any(found is None for found, _source in parsed) else "")


def _seen(evidence, key):
    """Rows of node_iptables_chains.networks with their `range`; None where they are not known."""
    rows = ((evidence.get("node_iptables_chains") or {}).get("networks") or {}).get(key)
    return None if rows is None else [dict(row, range=range_of(row["network"])) for row in rows
                                      if range_of(row["network"]) is not None]


def _not_judged():
    return {"judged": False, "offenders": [], "doubts": []}


def _compared(first, second):
    if not (first.ranges or first.doubt) or not (second.ranges or second.doubt):
        return _not_judged()
    offenders = [{"subject": "%s %s and %s %s" % (first.what, one, second.what, other),
                  "range": str(shared(one, other)), "because": "%s; %s" % (source, other_source)}
                 for one, source in first.ranges for other, other_source in second.ranges
                 if shared(one, other) is not None]
    doubts = [{"subject": "the ranges of %s" % side.what, "evidence": side.doubt} for side in (first, second)
              if side.doubt]
    return {"judged": True, "offenders": offenders, "doubts": doubts}


def _with_seen(pods, services, seen, evidence):
    """_compared() of both. If the range of Services is not known, uses the addresses of Services in the rules
    instead."""
    answer = _compared(pods, services)
    if services.ranges or not pods.ranges:
        return answer
    offenders = [{"subject": "pods %s and Services in %s" % (one, row["network"]), "range": row["network"],
                  "because": "%s; kube-proxy serves %s there" % (source, _shown(row))}
                 for one, source in pods.ranges for row in seen if is_in(row["range"], one)]
    doubts = answer["doubts"] or ([] if seen or not _unread(evidence) else [
        {"subject": "the addresses of Services", "evidence": _unread(evidence)}])
    return {"judged": bool(seen or doubts), "offenders": offenders, "doubts": doubts}


def _with_shared(answer, evidence):
    """The same; networks of the node's interfaces in which kube-proxy serves Services do not need the ranges."""
    rows = ((evidence.get("node_iptables_chains") or {}).get("networks") or {}).get("shared") or []
    if answer["offenders"] or not rows:
        return answer
    offenders = [{"subject": "Services with %s and nodes %s" % (row["address"], row["network"]),
                  "range": row["network"], "because":
                  "the network of %s; default/kubernetes is %s, and its API server %s"
                  % (row["interface"], row["address"], row["server"])} for row in rows]
    return {"judged": True, "offenders": offenders, "doubts": answer["doubts"]}


def _shown(row):
    return "%d addresses, as of %s" % (row["addresses"] or 0, row["name"] or "a Service")


def _unread(evidence):
    """Why the rules are not known, or an empty text; in ipvs mode Services are not in rules, which is no reason."""
    section = evidence.get("node_iptables_chains")
    if section is None:
        return "node_iptables_chains was not collected"
    return "; ".join(sorted({row["evidence"] for row in section.get("unread") or []})[:3])


def _cluster_cidr(evidence, values, facts, nodes):
    """Whether clusterCIDR covers all pods, if kube-proxy recognizes pods by clusterCIDR (detectLocalMode)."""
    proxy = evidence.get("node_kube_proxy") or {}
    pods = _side_of("pods", proxy.get("cluster_cidr") or [], "clusterCIDR of kube-proxy")
    if proxy.get("cluster_cidr") is None and _unread_config(proxy) and facts["cni"] not in _WITHOUT_KUBE_PROXY:
        return {"judged": True, "offenders": [],
                "doubts": [{"subject": "clusterCIDR", "evidence": _unread_cidr(proxy)}]}
    if not pods.ranges or proxy.get("detect_local_mode") not in (None, "",
                                                                 "ClusterCIDR") or facts["cni"] in _WITHOUT_KUBE_PROXY:
        return _not_judged()
    around, families = [found for found, _source in pods.ranges], {family_of(found) for found, _source in pods.ranges}
    if values["pod_ranges"]:
        outside = [found for found in ranges_in("pod_ranges", values["pod_ranges"]) if family_of(found) in families
                   and not any(is_in(found, other) for other in around)]
        return {"judged": True, "doubts": [],
                "offenders": [_outsider(str(found), "node_policy_pod_ranges", around) for found in outside]}
    # The file of flannel stays where another network plugin took its place.
    written = (evidence.get("node_cni") or {}).get("pod_networks") or () if facts["cni"] == "flannel" else ()
    outside = [found for found in map(range_of, written) if found is not None and family_of(found) in families
               and not any(is_in(found, other) for other in around)]
    if outside:
        return {"judged": True, "doubts": [], "offenders": [
            _outsider(str(found), "FLANNEL_NETWORK in /run/flannel/subnet.env", around) for found in outside]}
    return _seen_outside(evidence, nodes, around, families)


def _seen_outside(evidence, nodes, around, families):
    """The same, judged by the endpoints. Endpoints of pods in the host network have node addresses, and others may not
    be pods at all; so an address family is reported only if not a single endpoint of it is in the range."""
    rows = _seen(evidence, "endpoints")
    if rows is None:
        reason = _unread(evidence)
        return {"judged": bool(reason), "offenders": [],
                "doubts": [{"subject": "the endpoints", "evidence": reason}] if reason else []}
    strangers = [row for row in rows if row["family"] in families
                 and not any(shared(row["range"], found) for found, _source in nodes.ranges)]
    inside = {row["family"] for row in rows if any(shared(row["range"], other) for other in around)}
    outside = [row for row in strangers if row["family"] not in inside]
    left_out = evidence["node_iptables_chains"]["networks"]["endpoints_left_out"]
    doubt = nodes.doubt or ("%d networks of endpoints are not listed" % left_out if left_out else "") if outside else ""
    if doubt:
        return {"judged": True, "offenders": [],
                "doubts": [{"subject": "whether %s is of pods" % row["network"], "evidence": doubt} for row in outside]}
    return {"judged": True, "doubts": [],
            "offenders": [_outsider(row["network"], _shown(row), around) for row in outside]}


def _outsider(network, because, around):
    return {"subject": "pods in %s" % network, "because": because, "cidr": ", ".join(str(found) for found in around)}
