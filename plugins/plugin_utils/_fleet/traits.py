# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Traits of a node in reports: kernel, OS image, iptables, kube-proxy. PRIVATE to the collection."""

# Name of the trait and key of the summary.
TRAITS = (("kernel", "kernel"), ("OS image", "os"), ("iptables", "iptables"), ("kube-proxy", "kube_proxy"))


def traits_of(reports: list) -> dict:
    """`{trait: {value or None where it is not known: {host}}}` of reports."""
    found = {name: {} for name, _key in TRAITS}
    for report in reports:
        for name, key in TRAITS:
            # The summary has "kernel 6.1".
            value = (report["summary"].get(key) or "").removeprefix("kernel ") or None
            found[name].setdefault(value, set()).add(report["host"])
    return found
