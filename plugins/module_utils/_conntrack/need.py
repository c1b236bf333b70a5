# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conntrack table size that a node needs, from the evidence and the policy. PRIVATE to the collection."""

from . import kube_proxy as proxy
from .keys import MAX, dotted
from .size import CEILING, MEMORY_PERCENT, MOST, USED_PERCENT, checked, conntrack_size, is_possible


def need_of(section, used_percent=USED_PERCENT, memory_percent=MEMORY_PERCENT, ceiling=CEILING, peak=0, earlier=0):
    """The result of conntrack_size() for the section node_conntrack, with `peak`, `peak_because`, `enough` and `advice`
    (the kube-proxy setting, or None); None where memory or processors are unknown. `enough` is whether the present
    limit is sufficient, or the limit that the module will have once it is loaded; 0 means no limit.

    `peak` is a known number of connections, `earlier` the number of an earlier look. Raises BadInput.
    """
    checked(peak=peak, used_percent=used_percent, memory_percent=memory_percent, ceiling=ceiling)
    if not (is_possible("memory_bytes", section["memory_bytes"]) and is_possible("cpus", section["cpus"])):
        return None
    most, because = peak_of(section, peak, earlier)
    described = section["kube_proxy"]
    value = described["value"] if described and described["writes"] != proxy.LEAVES else None
    answer = conntrack_size(section["memory_bytes"], section["cpus"], min(most, MOST), used_percent, memory_percent,
                            ceiling, min(value, MOST) if value and value > 0 else None)
    answer.update(peak=most, peak_because=because, enough=_enough(section, answer["max"]),
                  advice=_advice(section, answer["max"]))
    return answer


def peak_of(section, known=0, earlier=0):
    """(the highest known number of connections, its source); where connections were dropped for lack of room, the limit
    was reached once."""
    peaks = [(known, "the policy sets it")] if known else []
    peaks += [(earlier, "an earlier report has it")] if earlier else []
    if is_possible("peak", section["count"]):
        peaks.append((section["count"], "the current count"))
    if section["rates"] and is_possible("peak", section["rates"]["highest_count"]):
        peaks.append((section["rates"]["highest_count"],
                      "the highest count in %s s" % section["rates"]["window_seconds"]))
    if section["max"] and is_possible("peak", section["max"]) and was_full(section):
        peaks.append((section["max"], "the table was full since %s" % section["lost"]["since"]
                      if section["lost"] else "the kernel log shows that it was full"))
    return max(peaks) if peaks else (0, "no count is known")


def was_full(section):
    """Whether connections were dropped because the table was full; None where that is not known."""
    lost = section["lost"]
    if section["kernel_log"]["table_full"] or (lost and (lost["dropped"] or lost["evicted"])):
        return True
    return None if lost is None else False


def _enough(section, wanted):
    limit = section["limit_when_loaded"] if section["max"] is None else section["max"]
    return None if limit is None else limit == 0 or limit >= wanted


def _advice(section, wanted):
    return advice_for(section,
                      max(
                          wanted, next((row["assigned"] for row in section["sysctls"]
                                        if row["key"] == dotted(MAX) and isinstance(row["assigned"], int)), 0)))


def advice_for(section, limit):
    """The kube-proxy setting with which it leaves this limit alone, or None."""
    described = section["kube_proxy"]
    if described is None:
        return None
    wish = proxy.Wish(described["value"], described["writes"], described["capped"])
    return proxy.advice(limit, wish, section["cpus"], described["by"])
