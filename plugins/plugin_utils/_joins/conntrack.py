# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins about the conntrack table and the sysctls of networks. PRIVATE to the collection."""

from ...module_utils._conntrack.keys import dotted
from .values import above, doubt, rows_of, section

_MAX, _BRIDGE = "net.netfilter.nf_conntrack_max", "net.bridge.bridge-nf-call-iptables"
_LOOSE = "net.ipv4.conf.all.rp_filter"
# The interfaces of pods of a network plugin; others use veth*.
_PODS = {"calico": "cali*", "aws": "eni*", "cilium": "lxc*"}
# Minor versions of Kubernetes whose kube-proxy is known to write its limit at every start.
_WRITING = range(29, 38)


def _needs(evidence):
    return section(evidence, "requirements")


def _sysctl(evidence, key):
    return next((row for row in rows_of(evidence, "node_conntrack", "sysctls") if row["key"] == key), None)


def kube_proxy_limit(evidence):
    """nf_conntrack_max if kube-proxy decides it: `overwrites` if it then changes, or `evidence` why that is not
    known."""
    row, table = _sysctl(evidence, _MAX), section(evidence, "node_conntrack")
    if not row or not row["kube_proxy_decides"]:
        return []
    now, assigned, then = row["now"], row["assigned"], row["after_kube_proxy"]
    known = (table.get("kube_proxy") or {}).get("settings_known")
    below = above(assigned, now)
    exact = (section(evidence, "node_host").get("place") == "bundle" and known
             and _needs(evidence).get("kubernetes_minor") in _WRITING and below and row["late"] is False)
    unclear = None
    if then is None and not exact:
        unclear = ("it is %s and not the %s of %s: some versions of kube-proxy write conntrack.maxPerCore times the "
                   "processors, and at least conntrack.min, at their start" % (now, assigned, row["assigned_by"])
                   if known and below else
                   "the version or the settings of kube-proxy are not known, so the value that it writes is not known")
    return [dict(row, subject=_MAX, seen=bool(known and below), evidence=unclear,
                 overwrites=bool(exact) if then is None else above(now, then) or above(assigned, then),
                 then=now if then is None else then, assigned="no value" if assigned is None else assigned,
                 by=row["assigned_by"] or "sysctl.d",
                 advice=_advice(evidence) or "set conntrack.maxPerCore to 0 in its configuration; kube-proxy then "
                 "keeps the value of sysctl.d")]


def _advice(evidence):
    return ((_needs(evidence).get("conntrack") or {}).get("size") or {}).get("advice")


def growth_doubt(evidence):
    """One row if the losses of the table could not be counted twice."""
    table = section(evidence, "node_conntrack")
    counters = table.get("counters") or {}
    if table.get("growth") is not None:
        return []
    text = "the kernel has no /proc/net/stat/nf_conntrack, and nf_conntrack_netlink is not loaded"
    if section(evidence, "node_host").get("place") == "bundle":
        text = ("since the boot insert_failed is %s and drop is %s: insert_failed counts packets that lost the race of "
                "two packets of one new connection, such as parallel DNS lookups; run conntrack -S again to see "
                "whether it grows" % (counters.get("insert_failed"), counters.get("drop")))
    return [doubt("the table", text, seen=True)]


def bridge_doubts(evidence):
    """Why it is not known whether the network plugin connects pods to a Linux bridge."""
    needs = _needs(evidence)
    if (needs.get("cni_because") or "").startswith("node_policy_"):
        return []
    rows = []
    if (section(evidence, "node_cni").get("collected") or {}).get("net_d") not in ("ok", "absent"):
        rows.append(doubt("the network plugin", "its configuration could not be read, so whether its pods are on a "
                          "Linux bridge is not known"))
    row = _sysctl(evidence, _BRIDGE)
    if needs.get("cni") == "none" and row and (row["missing"] or row["now"] == 0):
        # A person who copies the 0 asks about it.
        rows.append(doubt(_BRIDGE, "%s, and no network plugin is set up yet: one that uses a Linux bridge needs it; "
                          "node_policy_cni names the one to come" % (
                              "it does not exist" if row["missing"] else "it is 0"), seen=not row["missing"]))
    return rows


def pod_filter_at_boot(evidence):
    """The reverse path filter after a boot for the interfaces of pods of this network plugin."""
    found = section(evidence, "node_conntrack").get("rp_filter_at_boot")
    if found is None:
        return None
    own = [row for row in found if row["interfaces"] == _PODS.get(_needs(evidence).get("cni"))]
    return own or [row for row in found if row["interfaces"] == "veth*"]


def not_forwarding(evidence):
    """The sysctls that keep the node from forwarding: of the node, then of single interfaces, with how to mend
    those."""
    table, needs = section(evidence, "node_conntrack"), _needs(evidence)
    settings = (needs.get("conntrack") or {}).get("settings") or []
    rows = [{"subject": row["key"], "because": row["because"], "by": _set_by(row), "without_role": False,
             "manual": None}
            for row in settings if row["module"] is None and row["now"] == 0]
    closed = (table.get("interfaces") or {}).get("not_forwarding") or []
    return rows + [_not_forwarding(name, dotted("net/ipv4/conf/%s/forwarding" % name)) for name in closed]


def _set_by(row):
    if row["assigned"] == 0:
        return "; %s sets 0 at each boot" % row["assigned_by"]
    ignored = row.get("ignored_by")
    return ("; %s sets it, but no program reads that file, because its name does not end in .conf: rename it to %s.conf"
            % (ignored, ignored.rpartition(":")[0]) if ignored else "")


def _not_forwarding(name, key):
    return {
        "subject": key, "by": "", "without_role": True,
        "because": "packets that arrive on %s are not forwarded, although net.ipv4.ip_forward is 1" % name,
        "manual": "Run sysctl -w %s=1, and find what sets 0: IPv4Forwarding= or IPForward= in a file of "
        "systemd-networkd (networkctl status %s), or a line of sysctl.d (grep -r forwarding /etc/sysctl.d)"
        % (key, name)}


def loose_filter(evidence):
    """That all interfaces have the loose reverse path filter, which old versions of Calico refuse: now, or
    `at_boot`."""
    table, needs = section(evidence, "node_conntrack"), _needs(evidence)
    minor = needs.get("kubernetes_minor")
    if needs.get("cni") != "calico" or minor is not None and minor >= 22:
        return []
    boot = (table.get("rp_filter_at_boot") or [{}])[0].get("all")
    times = [("", False)] if (table.get("rp_filter") or {}).get("all") == 2 else []
    if boot == 2 and (_sysctl(evidence, _LOOSE) or {}).get("now") is None:
        times.append((" after a boot", True))
    return [doubt(_LOOSE, "rp_filter of all interfaces is 2 (loose)%s, with which Felix of Calico before 3.12 exits at "
                  "its start unless its IgnoreLooseRPF is true; 0 and 1 fit all versions" % when, seen=True,
                  at_boot=at_boot) for when, at_boot in times]
