# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the nodes of a cluster route the same Services, by the digests of their rules. PRIVATE to the collection.

Nodes are read one after the other, and the cluster changes meanwhile. A node `differs` only if the others had the same
digest before and after it was read; otherwise the cluster may have changed in between, and the node counts as `moving`
until the next look.
"""

PARTS = ("services", "endpoints")
# Part of a digest -> key of the number of Services or endpoints in it.
_COUNTS = {"services": "service_count", "endpoints": "endpoint_count"}


def compare(digests, baseline=None):
    """`{part: {"most", "hosts", "differs", "moving", "unknown", "count", "counts"}}` for `{host: digest or None}`; None
    for a part if fewer than two digests are known, or the digest of the host `baseline` is not known.

    `most` is the digest of the host `baseline` or, without a baseline, of most hosts (of two equally frequent digests,
    the one read last). `hosts` is the number of hosts with it, `count` the number of Services or endpoints in it,
    `counts` the same number for each host with another digest.
    """
    known = {part: {host: digest for host, digest in digests.items() if digest and digest.get(part)} for part in PARTS}
    return {part: _compared(part, known[part], len(digests) - len(known[part]), baseline) for part in PARTS}


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
    return texts


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
