# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a kube-proxy has just started and not written its rules yet. PRIVATE to the collection.

kube-proxy creates its chains with its first sync, which waits until it has all Services and endpoints of the API
server. Its metrics count from that sync on: kubeproxy_sync_proxy_rules_last_timestamp_seconds is 0 before (seen with
1.30.5). Since 1.33 each family has its own series. Before 1.33 one series covers both families, and one sync covers one
of them: in a cluster of one family the first two minutes cannot be distinguished from the first sync of the other
family. kube-proxy 1.34 and 1.36 do not listen at all until they have reached the API server once.
"""

# A kube-proxy that has not synced by then is not starting but failing.
SETTLED_SECONDS = 120


def starting(age, metrics):
    """Why the chains of a kube-proxy may not exist yet, as a sentence, or None; `age` in seconds, `metrics` as
    parse_kube_proxy_metrics() returns them."""
    if age is None or age >= SETTLED_SECONDS:
        return None
    if metrics and any(row["synced"] is None and (row["restore_failures"] or row["nftables_failures"])
                       for row in metrics["families"].values()):
        return None  # It has tried and failed, so it is not starting but failing.
    if metrics and all(row["synced"] is not None for row in metrics["families"].values()):
        one = metrics["families"].get("all")
        if not one or not one["duration"] or one["duration"].count != 1:
            return None
        return "kube-proxy has run for only %d seconds and has written the rules of one family so far" % age
    return "kube-proxy has run for only %d seconds%s" % (
        age, " and has not written its rules yet"
        if metrics else ", and its metrics do not show whether it has written its rules")
