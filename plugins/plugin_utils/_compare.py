# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the nodes of a cluster route the same Services, by the digests of their rules. PRIVATE to the collection.

Nodes are read one after the other, and the cluster changes meanwhile. A node `differs` only if the others had the same
digest before and after it was read; otherwise the cluster may have changed in between, and the node counts as `moving`
until the next look.
"""

import collections

from ..module_utils._rules.services.sketch import differences

PARTS = ("services", "endpoints")
# Part of a digest -> key of the number of Services or endpoints in it.
_COUNTS = {"services": "service_count", "endpoints": "endpoint_count"}
# The lists of Services that differ in each part, and the text for the hosts of each list.
_WHICH = {"services": (("missing", "services missing on %s"), ("extra", "services on %s alone"),
                       ("served", "services whose endpoints are missing or extra on %s")),
          "endpoints": (("endpoints", "services with other endpoints on %s"),)}
# Limits: Services kept for each host, Services named in a line, and lines; fleet.json has more than the lines.
_MOST_LISTED, _MOST_NAMED, _MOST_LINES = 25, 8, 8


def compare(digests, baseline=None):
    """`{part: {"most", "hosts", "differs", "moving", "unknown", "count", "counts", "which"}}` for `{host: digest or
    None}`; None for a part if fewer than two digests are known, or the digest of the host `baseline` is not known.

    `most` is the digest of the host `baseline` or, without a baseline, of most hosts (of two equally frequent digests,
    the one read last). `hosts` is the number of hosts with it, `count` the number of Services or endpoints in it,
    `counts` the same number for each host with another digest. `which` has the Services in which each differing host
    differs: `{host: {kind: names, "complete"}}`, without hosts for which these are not known.
    """
    known = {part: {host: digest for host, digest in digests.items() if digest and digest.get(part)} for part in PARTS}
    found = {part: _compared(part, known[part], len(digests) - len(known[part]), baseline) for part in PARTS}
    for part, row in found.items():
        if row is not None:
            row["which"] = _which(part, row, known[part], baseline)
    return found


def _which(part, row, known, baseline):
    """`{host: the differences of its sketch from the usual one}`: the sketch of the baseline or, without a baseline,
    the most frequent sketch of the hosts with the digest `most`."""
    alike = [host for host, digest in sorted(known.items()) if digest[part] == row["most"] and digest.get("sketch")]
    sketches = collections.Counter(known[host]["sketch"] for host in alike)
    usual = known[baseline].get("sketch") if baseline else max(sketches, key=sketches.get, default=None)
    found = {}
    for host in row["differs"]:
        listed = differences(known[host].get("sketch") or "", usual or "")
        if listed is not None:
            lists = {kind: listed[kind] for kind, _text in _WHICH[part]}
            found[host] = dict({kind: names[:_MOST_LISTED] for kind, names in lists.items()},
                               complete=listed["complete"] and all(
                                   len(names) <= _MOST_LISTED for names in lists.values()))
    return found


def compared_texts(compared, some):
    """A sentence for each part in which nodes differ; `some(names)` shortens a list of names. A node with other
    Services also has other endpoints, so it is named only for its Services."""
    texts, named = [], set()
    for part in PARTS:
        row = compared[part]
        listed = {word: [host for host in row[word] if host not in named]
                  for word in ("differs", "moving")} if row else {}
        if any(listed.values()):
            texts.append("%s: the same on %d %s%s%s" % (
                part, row["hosts"], "node" if row["hosts"] == 1 else "nodes", "".join(
                    ", others on %s" % some([_with_count(host, row) for host in listed[word]])
                    + (" (read at another time than the others: run it again)" if word == "moving" else "")
                    for word in listed if listed[word]), ", unknown on %d" % row["unknown"] if row["unknown"] else ""))
            named.update(*listed.values())
    return texts + _which_texts(compared, some)


def _which_texts(compared, some):
    """A sentence for each list of Services in which hosts differ; hosts with the same list share a sentence."""
    alike = {}
    for part, kinds in _WHICH.items():
        for host, row in sorted(((compared[part] or {}).get("which") or {}).items()):
            for kind, text in kinds:
                if row[kind]:
                    alike.setdefault((text, tuple(row[kind]), row["complete"]), []).append(host)
    texts = ["%s: %s" % (text % some(hosts), _list(names, complete))
             for (text, names, complete), hosts in alike.items()]
    return texts[:_MOST_LINES] + (["and %d more such lines" % (len(texts) - _MOST_LINES)]
                                  if len(texts) > _MOST_LINES else [])


def _list(names, complete):
    left = len(names) - _MOST_NAMED
    rest = ["and more"] if not complete else ["and %d more" % left] if left > 0 else []
    return ", ".join([*names[:_MOST_NAMED], *rest])


def _with_count(host, row):
    more = (row["counts"][host] or 0) - (row["count"] or 0)
    if not more or row["count"] is None or row["counts"][host] is None:
        return host
    return "%s (%d %s)" % (host, abs(more), "more" if more > 0 else "missing")


def _compared(part, known, unknown, baseline):
    if len(known) < 2 or baseline and baseline not in known:
        return None
    groups = {}
    for host, digest in known.items():
        groups.setdefault(digest[part], []).append((digest.get("read_at") or "", host))
    most = known[baseline][part] if baseline else max(
        groups, key=lambda value: (len(groups[value]), max(groups[value]), value))
    times = [read_at for read_at, _host in groups[most]]
    # The baseline is read only once. So hosts with one digest that were read before and after it differ from it, too.
    around = {value for value, readings in groups.items()
              if baseline and _spans(min(readings)[0], times, max(readings)[0])}
    others = sorted((host, value, read_at) for value, readings in groups.items() if value != most
                    for read_at, host in readings)
    rows = [(host, min(times) <= read_at <= max(times) or value in around) for host, value, read_at in others]
    counts = {host: digest.get(_COUNTS[part]) for host, digest in known.items()}
    return {
        "most": most, "hosts": len(times), "unknown": unknown,
        "differs": [host for host, differs in rows if differs],
        "moving": [host for host, differs in rows if not differs],
        "count": counts[groups[most][0][1]], "counts": {host: counts[host] for host, _differs in rows},
    }


def _spans(first, times, last):
    return any(first <= time <= last for time in times)
